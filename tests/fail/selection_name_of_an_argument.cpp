// expect: tapeless: selection: its name is no extent of an argument
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::sum(tl::gather(x, tl::where<'n'>(x > 0.0f)));
#else
  return tl::sum(tl::gather(x, tl::where<'k'>(x > 0.0f)));
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, tl::dyn<'n'>>>();
