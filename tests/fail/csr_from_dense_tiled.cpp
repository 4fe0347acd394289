// expect: tapeless: csr_from_dense<A>(x): A is not tiled; csr_tiled(a) makes a tiled matrix of one in rows
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/run/csr_dense.hpp>
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using matrix = tl::csr<float, 5, 7, 11, tl::tiled>;
#else
using matrix = tl::csr<float, 5, 7, 11>;
#endif
void build(const tl::tensor<float, 5, 7>& x) { static_cast<void>(tl::csr_from_dense<matrix>(x)); }
