// expect: tapeless: conv3d<conv3>(x, w): w is (K, C/groups, T, R, S)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using filters = tl::tensor<float, 3, 2, 3, 3>;
#else
using filters = tl::tensor<float, 3, 2, 1, 3, 3>;
#endif
constexpr auto f = [](auto x, auto w) { return tl::conv3d(x, w); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 1, 2, 4, 8, 8>, filters>();
