// expect: tapeless: sampled_matmul(c, a, b), all sparse: none is tiled; csr_untiled(a) has its entries by rows
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using matrix = tl::csr<float, 5, 7, 11, tl::tiled>;
#else
using matrix = tl::csr<float, 5, 7, 11>;
#endif
constexpr auto loss = [](auto a, auto b, auto c) { return tl::sum(tl::sampled_matmul(c, a, b)); };
constexpr tl::cost cost =
    tl::jit(tl::grad(loss)).cost<matrix, tl::csr<float, 7, 3, 9>, tl::csr<float, 5, 3, 12>>();
