// expect: tapeless: matmul(a, b), a sparse: b is (n) or (n, k), n the columns of a
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using matrix = tl::csr<float, tl::dyn<'r'>, tl::dyn<'c'>, tl::dyn<'e'>>;
#ifdef TAPELESS_BAD
using vector = tl::tensor<float, tl::dyn<'r'>>;
#else
using vector = tl::tensor<float, tl::dyn<'c'>>;
#endif
constexpr auto loss = [](auto x, auto a) { return tl::sum(tl::square(tl::matmul(a, x))); };
constexpr tl::cost cost = tl::jit(tl::grad(loss)).cost<vector, matrix>();
