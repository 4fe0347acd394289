// expect: tapeless: conv1d<conv1>(x, w): w is (K, C/groups, R)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using filters = tl::tensor<float, 3, 5>;
#else
using filters = tl::tensor<float, 3, 1, 5>;
#endif
constexpr auto f = [](auto x, auto w) { return tl::conv1d(x, w); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 2, 1, 16>, filters>();
