// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// csr_product_pattern<C>(a, b): the pattern of A B, for sampled_matmul(c, a, b).
#pragma once
#include <algorithm>
#include <vector>
#include "../core/csr.hpp"
#include "../core/error.hpp"
#include "../core/extent.hpp"
#include "csr.hpp"
#include "csr_build.hpp"
#include "memory.hpp"

namespace tapeless {

// owned<C> c = csr_product_pattern<C>(a, b): an entry of value 0 for each entry of A B.
//   A: (m, k)   B: (k, n)   C: (m, n)
// Errors: argument_error where a or b breaks a rule of core/csr.hpp (a trusted view may), extents disagree with C or
// with one another, or C has int32 row ends and 2^31 entries or more.
// Cost: a step for each pair of entries A[i, k], B[k, j], and sorting the columns of each row.
template <detail::host_sparse_matrix C, detail::host_sparse_matrix A, detail::host_sparse_matrix B>
owned<C> csr_product_pattern(const A& a, const B& b) {
  static_assert(
      detail::are_in_rows<C, A, B>,
      "tapeless: csr_product_pattern<C>(a, b): none is tiled; csr_untiled(a) has its entries by rows");
  constexpr const char* who = "csr_product_pattern(a, b)";
  using value = typename C::value_type;
  detail::check_csr(who, a);
  detail::check_csr(who, b);
  if (a.cols() != b.rows())
    detail::refuse("tapeless: %s: a has %lld columns, b has %lld rows", who, detail::wide(a.cols()),
                   detail::wide(b.rows()));
  std::vector<detail::row_end_of<C>> row_ptr{0};
  std::vector<std::int32_t> columns, row;
  std::vector<extent_t> seen(static_cast<std::size_t>(b.cols()),
                             -1); // column -> the last row that has an entry there
  for (extent_t i = 0; i < a.rows(); ++i) {
    row.clear();
    for (extent_t e = a.row_begin(i); e < a.row_end()[i]; ++e) {
      const extent_t k = a.columns()[e];
      for (extent_t f = b.row_begin(k); f < b.row_end()[k]; ++f) {
        const std::int32_t j = b.columns()[f];
        extent_t& last = seen[static_cast<std::size_t>(j)];
        if (last == i) continue;
        last = i;
        row.push_back(j);
      }
    }
    std::sort(row.begin(), row.end());
    for (const std::int32_t j : row) columns.push_back(j);
    detail::require_entries<C>(who, static_cast<extent_t>(columns.size()));
    row_ptr.push_back(static_cast<detail::row_end_of<C>>(columns.size()));
  }
  const std::vector<value> values(columns.size());
  return csr_from_csr<C>(a.rows(), b.cols(), row_ptr, columns, values);
}

} // namespace tapeless
