// expect: tapeless: top_k<k, 'k'>(values): the name is a letter
// extents: selection_is_named_by_a_letter
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::top_k<3, '?'>(x);
#else
  return tl::top_k<3, 'k'>(x);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 8>>();
