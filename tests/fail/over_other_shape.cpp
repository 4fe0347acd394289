// expect: tapeless: op(a, over(mask)): the mask's shape broadcasts to a's
// extents: {4, 9}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using mask = tl::tensor<bool, 4>; // of the rows: it has no axis for the columns
#else
using mask = tl::tensor<bool, 4, 1>;
#endif
constexpr auto f = [](auto x, auto m) { return tl::mean<1>(x, tl::over(m)); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>, mask>();
