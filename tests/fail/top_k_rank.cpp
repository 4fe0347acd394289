// expect: tapeless: top_k<k>(values): values has one axis
// extents: is_a_vector
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::bottom_k<3>(x);
#else
  return tl::bottom_k<3>(tl::sum<1>(x));
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 8, 4>>();
