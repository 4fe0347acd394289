// expect: tapeless: pad<axis, before, after>(a, tl::fill_value(v)): a is float or double, or int32 and v an integer; cast a first
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
  tl::var h = x;
#ifdef TAPELESS_BAD
  h = tl::pad<0, 1, 1>(h, tl::fill_value(2.5));
#else
  h = tl::pad<0, 1, 1>(h, tl::fill_value(2));
#endif
  return h.as<std::int32_t, 5>();
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<std::int32_t, 3>>();
