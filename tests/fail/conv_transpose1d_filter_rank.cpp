// expect: tapeless: conv_transpose1d<conv_transpose1>(x, w): w is (K, C/groups, R)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using filters = tl::tensor<float, 4, 3>;
#else
using filters = tl::tensor<float, 4, 3, 1>;
#endif
constexpr auto f = [](auto x, auto w) { return tl::conv_transpose1d(x, w); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 2, 4, 16>, filters>();
