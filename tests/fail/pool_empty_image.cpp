// expect: tapeless: pool2d<pool>(x): the image extents are static and at least 1
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using images = tl::tensor<float, 2, 3, 0, 0>; // with its padding the kernel would fit
#else
using images = tl::tensor<float, 2, 3, 1, 1>;
#endif
constexpr auto f = [](auto x) { return tl::max_pool2d<tl::pool{.kernel = 2, .padding = 1}>(x); };
constexpr tl::cost cost = tl::jit(f).cost<images>();
