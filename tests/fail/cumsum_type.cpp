// expect: tapeless: cumsum<axis>(a): the element type is float, double or int32
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::cumsum<1>(x > 0.0f);
#else
  return tl::cumsum<1>(tl::cast<std::int32_t>(x > 0.0f));
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>>();
