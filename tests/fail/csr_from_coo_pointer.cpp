// expect: tapeless: csr_from_coo(rows, cols, row_indices, col_indices, values): a pointer has no size; pass std::span(p, n)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/run/csr_build.hpp>
namespace tl = tapeless;

using matrix = tl::csr<float, 2, 3, 4>;
tl::owned<matrix> copy(const int* rows, const int* cols, const float* values) {
#ifdef TAPELESS_BAD
  return tl::csr_from_coo<matrix>(2, 3, rows, cols, values);
#else
  return tl::csr_from_coo<matrix>(2, 3, std::span(rows, 4), std::span(cols, 4), std::span(values, 4));
#endif
}
