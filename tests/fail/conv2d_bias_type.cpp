// expect: tapeless: convolution(x, w, b): b has the element type of the result
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using bias = tl::tensor<double, 6>;
#else
using bias = tl::tensor<float, 6>;
#endif
constexpr auto f = [](auto x, auto w, auto b) { return tl::conv2d(x, w, b); };
constexpr tl::cost cost =
    tl::jit(f).cost<tl::tensor<float, 1, 4, 12, 12>, tl::tensor<float, 6, 4, 3, 3>, bias>();
