// expect: tapeless: csr_from_..<A>(rows, cols, ...): A is not tiled; csr_tiled(a) makes a tiled matrix of one in rows
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
void copy(const std::int32_t* row_ptr, const std::int32_t* columns, const float* values) {
  static_cast<void>(tl::csr_from_csr<matrix>(5, 7, row_ptr, columns, values));
}
