// expect: tapeless: conv_transpose3d<conv_transpose3>(x, w): w is (K, C/groups, T, R, S)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using filters = tl::tensor<float, 4, 2, 3, 3>;
#else
using filters = tl::tensor<float, 4, 1, 2, 3, 3>;
#endif
constexpr auto f = [](auto x, auto w) { return tl::conv_transpose3d(x, w); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 1, 4, 3, 5, 5>, filters>();
