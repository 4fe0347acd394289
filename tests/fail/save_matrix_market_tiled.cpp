// expect: tapeless: save_matrix_market(path, a): a is not tiled; csr_untiled(a) has its entries by rows
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/io/matrix_market.hpp>
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using matrix = tl::csr<float, 5, 7, 11, tl::tiled>;
#else
using matrix = tl::csr<float, 5, 7, 11>;
#endif
void save(const matrix& a) { tl::save_matrix_market("a.mtx", a); }
