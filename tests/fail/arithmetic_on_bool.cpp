// expect: tapeless: arithmetic op(a, b): the element type is float, double or int32; cast a mask first
// extents: basic_tensor<bool
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto hits = [](auto x) {
  auto mask = x > 0.0f;
#ifdef TAPELESS_BAD
  return mask + mask;
#else
  return tl::cast<float>(mask) + tl::cast<float>(mask);
#endif
};
constexpr tl::cost cost = tl::jit(hits).cost<tl::tensor<float, 8>>();
