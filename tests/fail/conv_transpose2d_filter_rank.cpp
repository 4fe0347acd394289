// expect: tapeless: conv_transpose2d<conv_transpose>(x, w): w is (K, C/groups, R, S)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using filters = tl::tensor<float, 4, 3, 3>;
#else
using filters = tl::tensor<float, 4, 1, 3, 3>;
#endif
constexpr auto f = [](auto x, auto w) { return tl::conv_transpose2d(x, w); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 1, 4, 8, 8>, filters>();
