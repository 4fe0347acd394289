// expect: tapeless: csr_product_pattern<C>(a, b): none is tiled; csr_untiled(a) has its entries by rows
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/run/csr_product.hpp>
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using matrix = tl::csr<float, 5, 7, 11, tl::tiled>;
#else
using matrix = tl::csr<float, 5, 7, 11>;
#endif
using product = tl::csr<float, 5, 3, tl::dyn<'e'>>;
void meet(const matrix& a, const tl::csr<float, 7, 3, 9>& b) {
  static_cast<void>(tl::csr_product_pattern<product>(a, b));
}
