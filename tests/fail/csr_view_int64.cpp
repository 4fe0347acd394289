// expect: tapeless: csr_view(rows, cols, row_ptr, columns, values): row_ptr has the type of the matrix's row ends, std::int32_t or in csr<T, rows, cols, nnz, std::int64_t> std::int64_t; csr_from_csr<A>(...) converts
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/run/csr.hpp>
#include <vector>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using index = std::int64_t;
#else
using index = std::int32_t;
#endif
tl::csr<float, 2, 3, 4> view(std::vector<index>& row_ptr, std::vector<std::int32_t>& columns,
                             std::vector<float>& values) {
  return tl::csr_view<tl::csr<float, 2, 3, 4>>(2, 3, row_ptr, columns, values);
}
