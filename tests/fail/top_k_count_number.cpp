// expect: tapeless: top_k<k, 'k'>(values, count): a number that the program knows is k, as in top_k<5, 'k'>(values)
// extents: count_is_known_at_run_only
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::top_k<8, 'k'>(x, 5);
#else
  return tl::top_k<5, 'k'>(x);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 8>>();
