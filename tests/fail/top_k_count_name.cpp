// expect: tapeless: top_k<k, 'k'>(values, count): the selection has a name
// extents: selection_has_a_name
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x, auto count) {
#ifdef TAPELESS_BAD
  return tl::top_k<3>(x, count);
#else
  return tl::top_k<3, 'k'>(x, count);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 8>, tl::tensor<std::int32_t>>();
