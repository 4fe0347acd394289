// expect: tapeless: where<'k'>(mask): the selection has a name, for the run counts it
// extents: selection_has_a_name
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::where(x > 0.0f);
#else
  return tl::where<'k'>(x > 0.0f);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 8>>();
