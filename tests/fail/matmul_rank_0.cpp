// expect: tapeless: matmul(a, b): a and b have at least one axis
// extents: at_least_one_axis
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using weights = tl::scalar<float>;
#else
using weights = tl::tensor<float, 8>;
#endif
constexpr auto f = [](auto x, auto w) { return tl::matmul(x, w); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 8>, weights>();
