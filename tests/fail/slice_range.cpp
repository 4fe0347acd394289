// expect: tapeless: slice<axis, begin, end>(a): 0 <= begin <= end <= extent
// extents: {2, 8}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::slice<1, 4, 12>(x) * 2.0f;
#else
  return tl::slice<1, 4, 8>(x) * 2.0f;
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 2, 8>>();
