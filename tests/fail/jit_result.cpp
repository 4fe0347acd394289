// expect: tapeless: jit(f): f returns tensors, or a tuple or aggregate of tensors, so there is a return; a var is converted with as<T, extents...>()
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
  tl::var h = x;
  for (int i = 0; i < 3; ++i) h = tl::tanh(h);
#ifdef TAPELESS_BAD
  return h;
#else
  return h.as<float, 8>();
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 8>>();
