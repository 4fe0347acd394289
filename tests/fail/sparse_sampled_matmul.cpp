// expect: tapeless: sampled_matmul(a, l, r): a is (m, n), l is (m) or (m, k), r is (n) or (n, k)
// extents: {7, 4}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using matrix = tl::csr<float, 5, 7, 11>;
#ifdef TAPELESS_BAD
using right = tl::tensor<float, 7, 4>;
#else
using right = tl::tensor<float, 7, 3>;
#endif
constexpr auto loss = [](auto l, auto r, auto a) { return tl::sum(tl::sampled_matmul(a, l, r)); };
constexpr tl::cost cost = tl::jit(tl::grad(loss)).cost<tl::tensor<float, 5, 3>, right, matrix>();
