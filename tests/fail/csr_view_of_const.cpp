// expect: tapeless: csr_view(rows, cols, row_ptr, columns, values): values has the element type of the matrix; csr<const T, ...> views const ones
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/run/csr.hpp>
#include <vector>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using matrix = tl::csr<float, 2, 3, 4>;
#else
using matrix = tl::csr<const float, 2, 3, 4>;
#endif
matrix view(const std::vector<std::int32_t>& row_ptr, const std::vector<std::int32_t>& columns,
            const std::vector<float>& values) {
  return tl::csr_view<matrix>(2, 3, row_ptr, columns, values);
}
