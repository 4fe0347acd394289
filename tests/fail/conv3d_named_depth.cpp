// expect: tapeless: convolution(x, w): the depths of x and w are static and at least 1
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using volumes = tl::tensor<float, 1, 2, tl::dyn<'d'>, 8, 8>;
#else
using volumes = tl::tensor<float, 1, 2, 4, 8, 8>;
#endif
constexpr auto f = [](auto x, auto w) { return tl::conv3d(x, w); };
constexpr tl::cost cost = tl::jit(f).cost<volumes, tl::tensor<float, 3, 2, 3, 3, 3>>();
