// expect: tapeless: slice<axis, begin, end>(a): the extent of the axis is static
// extents: static_extent
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::slice<0, 0, 1>(x) * 2.0f;
#else
  return tl::slice<1, 0, 1>(x) * 2.0f;
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, tl::dyn<'n'>, 8>>();
