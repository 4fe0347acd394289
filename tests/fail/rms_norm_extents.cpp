// expect: tapeless: rms_norm<k>(x, gamma): gamma has the extents of the last k axes
// extents: {1}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using scale = tl::tensor<float, 1>;
#else
using scale = tl::tensor<float, 3>;
#endif
constexpr auto f = [](auto x, auto g) { return tl::rms_norm(x, g); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 8, 3>, scale>();
