// expect: tapeless: where<'k'>(mask): mask is bool and has one axis, as w != 0
// extents: mask_is_a_vector_of_bool
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::where<'k'>(x > 0.0f);
#else
  return tl::where<'k'>(tl::sum<1>(x) > 0.0f);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 8, 4>>();
