// expect: tapeless: to_dense(a): a is not tiled; csr_untiled(a) has its entries by rows
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
void spread(const matrix& a) { static_cast<void>(tl::to_dense(a)); }
