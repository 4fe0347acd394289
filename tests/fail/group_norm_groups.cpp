// expect: tapeless: group_norm<groups>(x, gamma, beta): x is (N, C, ...), groups divides the static extent C
// extents: {2, 10, 4, 4}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using images = tl::tensor<float, 2, 10, 4, 4>;
#else
using images = tl::tensor<float, 2, 12, 4, 4>;
#endif
constexpr auto f = [](auto x) { return tl::group_norm<4>(x); };
constexpr tl::cost cost = tl::jit(f).cost<images>();
