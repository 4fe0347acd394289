// expect: tapeless: csr_transposed<B>(a): neither is tiled; csr_untiled(a) has its entries by rows
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/run/csr_build.hpp>
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using matrix = tl::csr<float, 5, 7, 11, tl::tiled>;
#else
using matrix = tl::csr<float, 5, 7, 11>;
#endif
void turn(const matrix& a) { static_cast<void>(tl::csr_transposed<tl::csr<float, 7, 5, 11>>(a)); }
