// expect: tapeless: top_k_of_each<k, segments, 'k'>(values, segment): the selection has a name, behind k and how many segments there are
// extents: selection_has_a_name
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x, auto segment) {
#ifdef TAPELESS_BAD
  return tl::bottom_k_of_each<2, 3>(x, segment);
#else
  return tl::bottom_k_of_each<2, 3, 'k'>(x, segment);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 8>, tl::tensor<std::int32_t, 8>>();
