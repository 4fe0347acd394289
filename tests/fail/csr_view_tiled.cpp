// expect: tapeless: csr_view<A>(rows, cols, row_ptr, columns, values): A is not tiled; csr_tiled(a) makes a tiled matrix of one in rows
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/run/csr.hpp>
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using matrix = tl::csr<float, 5, 7, 11, tl::tiled>;
#else
using matrix = tl::csr<float, 5, 7, 11>;
#endif
matrix view(const std::int32_t* row_ptr, const std::int32_t* columns, float* values) {
  return tl::csr_view<matrix>(5, 7, row_ptr, columns, values);
}
