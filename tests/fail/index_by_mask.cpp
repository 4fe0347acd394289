// expect: tapeless: x[i]: i is a number; the rows of a list are gather(x, list), those of a mask gather(x, where<'k'>(mask))
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto loss) {
#ifdef TAPELESS_BAD
  return tl::sum(loss[loss > 2.0f]);
#else
  return tl::sum(tl::gather(loss, tl::where<'k'>(loss > 2.0f)));
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4>>();
