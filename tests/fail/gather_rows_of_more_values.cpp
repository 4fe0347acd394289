// expect: tapeless: a selection as an index: it is of at most as many values as the axis has
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto losses, auto mask) {
#ifdef TAPELESS_BAD
  return tl::sum(tl::gather(losses, tl::where<'k'>(mask)));
#else
  return tl::sum(tl::gather(losses, tl::where<'k'>(tl::slice<0, 0, 16>(mask))));
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 16>, tl::tensor<bool, 64>>();
