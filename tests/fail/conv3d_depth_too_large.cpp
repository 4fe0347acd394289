// expect: tapeless: convolution(x, w): the kernel fits into the padded image
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using filters = tl::tensor<float, 3, 2, 5, 3, 3>;
#else
using filters = tl::tensor<float, 3, 2, 4, 3, 3>;
#endif
constexpr auto f = [](auto x, auto w) { return tl::conv3d(x, w); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 1, 2, 4, 8, 8>, filters>();
