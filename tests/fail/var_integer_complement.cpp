// expect: tapeless: ~a: the element type is int32; of a mask it is !a; cast<std::int32_t>(a) real numbers first
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
  tl::var h = x;
#ifdef TAPELESS_BAD
  h = ~h;
#else
  h = ~tl::cast<std::int32_t>(h);
#endif
  return h.as<std::int32_t, 3>();
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 3>>();
