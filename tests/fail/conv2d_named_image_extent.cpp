// expect: tapeless: convolution(x, w): the image extents are static
// extents: image_extents_static
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using images = tl::tensor<float, 1, 1, tl::dyn<'h'>, 8>;
#else
using images = tl::tensor<float, tl::dyn<'n'>, 1, 8, 8>;
#endif
constexpr auto f = [](auto x, auto w) { return tl::conv2d(x, w); };
constexpr tl::cost cost = tl::jit(f).cost<images, tl::tensor<float, 4, 1, 3, 3>>();
