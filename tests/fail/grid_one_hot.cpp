// expect: tapeless: one_hot<T, n>(label): label is int32, as cast<std::int32_t>(label) is
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = tl::jit([](auto x) {
#ifdef TAPELESS_BAD
  return tl::sum(tl::one_hot<float, 3>(x));
#else
  return tl::sum(tl::one_hot<float, 3>(tl::cast<std::int32_t>(x)));
#endif
});
constexpr tl::cost cost = f.cost<tl::tensor<float, 2, 3>>();
