// expect: tapeless: normalisation(x, gamma, beta): all are float, or all are double
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using features = tl::tensor<std::int32_t, 2, 16>;
#else
using features = tl::tensor<float, 2, 16>;
#endif
constexpr auto f = [](auto x) {
  tl::var h = x;
  h = tl::batch_norm(h);
  return (h > 0).template as<bool, 2, 16>();
};
constexpr tl::cost cost = tl::jit(f).cost<features>();
