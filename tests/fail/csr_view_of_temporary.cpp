// expect: tapeless: csr_view(rows, cols, row_ptr, columns, values): a view of a temporary
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/run/csr.hpp>
#include <vector>
namespace tl = tapeless;

tl::csr<float, 2, 3, 4> view(std::vector<std::int32_t>& row_ptr, std::vector<std::int32_t>& columns,
                             std::vector<float>& values) {
#ifdef TAPELESS_BAD
  return tl::csr_view<tl::csr<float, 2, 3, 4>>(2, 3, row_ptr, columns, std::vector<float>(values));
#else
  return tl::csr_view<tl::csr<float, 2, 3, 4>>(2, 3, row_ptr, columns, std::span<float>(values));
#endif
}
