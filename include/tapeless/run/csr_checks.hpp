// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The checks of a sparse matrix from outside. The message names the row.
#pragma once
#include <cstdint>
#include "../core/csr.hpp"
#include "../core/error.hpp"
#include "../core/extent.hpp"
#include "csr_arrays.hpp"
#include "csr_names.hpp"

namespace tapeless::detail {

// Checks that the line ends never fall and that the last one is nnz.   line: "row" for row_ptr, "column" for col_ptr
template <class Index>
void check_line_ends(const char* who, const char* line, extent_t lines, const Index* end, extent_t nnz) {
  extent_t before = 0;
  for (extent_t i = 0; i < lines; ++i) {
    const extent_t e = static_cast<extent_t>(end[i]);
    if (e < before)
      refuse("tapeless: %s: %s %lld ends at entry %lld, before it begins at %lld", who, line, wide(i),
             wide(e), wide(before));
    if (e > nnz)
      refuse("tapeless: %s: %s %lld ends at entry %lld, but nnz = %lld", who, line, wide(i), wide(e),
             wide(nnz));
    before = e;
  }
  if (before != nnz)
    refuse("tapeless: %s: the last %s ends at entry %lld, but nnz = %lld", who, line, wide(before),
           wide(nnz));
}
// Checks that ptr has lines + 1 elements and begins at 0.   @return nnz = ptr[lines]
template <class Index>
extent_t check_line_ptr(const char* who, const char* name, const array_argument<Index>& ptr, extent_t lines) {
  ptr.require(who, name, lines + 1);
  if (ptr.data[0] != 0)
    refuse("tapeless: %s: %s[0] = %lld, expected 0", who, name, wide(static_cast<extent_t>(ptr.data[0])));
  const extent_t nnz = static_cast<extent_t>(ptr.data[lines]);
  if (nnz < 0) refuse("tapeless: %s: %s[%lld] = %lld: it never falls", who, name, wide(lines), wide(nnz));
  return nnz;
}

[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_columns(const char* who, extent_t row,
                                                                  const std::int32_t* columns, extent_t count,
                                                                  extent_t cols) {
  for (extent_t k = 0; k < count; ++k) {
    const int c = columns[k];
    if (c < 0 || c >= cols)
      refuse("tapeless: %s: row %lld: column %d is outside [0, %lld)", who, wide(row), c, wide(cols));
    if (k > 0 && c == columns[k - 1])
      refuse("tapeless: %s: row %lld: column %d stands twice", who, wide(row), c);
    if (k > 0 && c < columns[k - 1])
      refuse("tapeless: %s: row %lld: column %d stands behind column %d: they ascend strictly", who,
             wide(row), c, static_cast<int>(columns[k - 1]));
  }
  refuse("tapeless: %s: row %lld: the columns do not ascend strictly", who,
         wide(row)); // another thread writes them
}
// Checks the invariants of core/csr.hpp. Each array is read once.
template <class RowEnd> void check_pattern(const char* who, extent_t rows, extent_t cols, extent_t nnz,
                                           const RowEnd* row_end, const std::int32_t* columns) {
  check_line_ends(who, "row", rows, row_end, nnz);
  extent_t begin = 0;
  for (extent_t i = 0; i < rows; ++i) {
    const std::int32_t* const at = columns + begin;
    const extent_t count = row_end[i] - begin;
    begin = row_end[i];
    if (count == 0) continue;
    int falls = at[0] < 0;
    for (extent_t k = 1; k < count; ++k) falls |= at[k] <= at[k - 1];
    if (falls != 0 || at[count - 1] >= cols) refuse_columns(who, i, at, count, cols);
  }
}

template <class A> void check_csr(const char* who, const A& a) {
  csr_names names(who);
  names.take_rows_and_cols<A>(a.rows(), a.cols());
  names.take_nnz<A>(a.nnz());
  names.take("columns()", A::values_type::extents.d[0], a.columns().extent(0));
  const auto require = [&](const auto& leaf, const char* name) {
    if (leaf.data() == nullptr && leaf.size() > 0) refuse("tapeless: %s: %s is null", who, name);
  };
  require(a.row_end(), "row_end");
  require(a.columns(), "columns");
  require(a.values(), "values");
  check_pattern(who, a.rows(), a.cols(), a.nnz(), a.row_end().data(), a.columns().data());
}

} // namespace tapeless::detail
