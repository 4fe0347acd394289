// expect: tapeless: csr_view(rows, cols, row_ptr, columns, values): columns are std::int32_t; csr_from_csr<A>(...) converts
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
using matrix = tl::csr<float, 2, 3, 4, std::int64_t>;
matrix view(std::vector<std::int64_t>& row_ptr, std::vector<index>& columns, std::vector<float>& values) {
  return tl::csr_view<matrix>(2, 3, row_ptr, columns, values);
}
