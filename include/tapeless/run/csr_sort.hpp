// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// How csr_from_..() make a sparse matrix of entries in any order: a counting sort by rows, then each row by columns.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>
#include "../core/csr.hpp"
#include "../core/error.hpp"
#include "../core/extent.hpp"
#include "csr.hpp"
#include "memory.hpp"

namespace tapeless::detail {

// An owned<A> whose names have these values.
template <host_sparse_matrix A> owned<A> make_owned_csr(const name_values& values) {
  constexpr name_values names = [] {
    name_values v = names_of(A::extents);
    if constexpr (constexpr extent_t nnz = A::values_type::extents.d[0]; !is_static(nnz))
      v.add(name_of(detail::names(nnz)));
    return v;
  }();
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return owned<A>(dim<names.name[I]>(values.of(names.name[I]))...);
  }(std::make_index_sequence<static_cast<std::size_t>(names.count)>{});
}

// The values of an owned matrix for writing, also where A is csr<const T, ...>.
template <host_sparse_matrix A> typename A::value_type* mutable_values(const owned<A>& a) {
  return const_cast<typename A::value_type*>(a->values().data());
}

template <class A> void require_entries(const char* who, extent_t n) {
  if (n > largest_nnz<A>)
    refuse(
        "tapeless: %s: %lld entries: at most 2147483647, row ends are std::int32_t; csr<T, rows, cols, nnz, "
        "std::int64_t> has more",
        who, wide(n));
}
// a + b; a || b for bool. Throws argument_error where an int32 overflows.
template <class T> T summed(const char* who, extent_t row, T a, T b) {
  if constexpr (std::is_same_v<T, bool>) return a || b;
  else if constexpr (std::is_integral_v<T>) {
    T r = 0;
    if (__builtin_add_overflow(a, b, &r))
      refuse("tapeless: %s: row %lld: the sum of equal entries exceeds an std::int32_t", who, wide(row));
    return r;
  } else return a + b;
}

// The numbers of the entries, ordered by row: entry[k], k in [row_end[i-1], row_end[i]), are those of row i.
template <class End> struct entries_by_row {
  std::vector<End> row_end, entry;
};
// A stable counting sort.   @pre row(k) in [0, rows), n <= the largest End
template <class End, class Row> entries_by_row<End> sort_by_row(extent_t rows, extent_t n, Row row) {
  entries_by_row<End> r;
  r.row_end.resize(static_cast<std::size_t>(rows));
  r.entry.resize(static_cast<std::size_t>(n));
  for (extent_t k = 0; k < n; ++k) ++r.row_end[static_cast<std::size_t>(row(k))];
  End before = 0;
  for (End& x : r.row_end) before += std::exchange(x, before); // counts become begins
  for (extent_t k = 0; k < n; ++k) {                           // and, entry by entry, ends
    End& at = r.row_end[static_cast<std::size_t>(row(k))];
    r.entry[static_cast<std::size_t>(at++)] = static_cast<End>(k);
  }
  return r;
}
// A column and the number of an entry. The order is by column, then by number.
template <class End> class column_and_entry {
  extent_t col_;
  End entry_;

public:
  column_and_entry(extent_t col, End entry) : col_(col), entry_(entry) {}
  extent_t col() const { return col_; }
  End entry() const { return entry_; }
  bool operator<(const column_and_entry& o) const {
    return col_ != o.col_ ? col_ < o.col_ : entry_ < o.entry_;
  }
};
template <> class column_and_entry<std::int32_t> { // comparing one number is faster than two
  std::uint64_t both_;

public:
  column_and_entry(extent_t col, std::int32_t entry)
      : both_(static_cast<std::uint64_t>(col) << 32 | static_cast<std::uint32_t>(entry)) {}
  extent_t col() const { return static_cast<extent_t>(both_ >> 32); }
  std::int32_t entry() const { return static_cast<std::int32_t>(both_ & 0xffffffffu); }
  bool operator<(const column_and_entry& o) const { return both_ < o.both_; }
};
// Sorts the entries [first, last) of one row by column. Entries of one column keep their order.
// @return the number of different columns
template <class End, class Col>
extent_t sort_by_column(End* first, End* last, Col col, std::vector<column_and_entry<End>>& scratch) {
  extent_t distinct = first == last ? 0 : 1;
  bool sorted = true;
  for (End* p = first; sorted && last - p > 1; ++p) {
    sorted = col(p[0]) <= col(p[1]);
    distinct += col(p[0]) != col(p[1]);
  }
  if (sorted) return distinct;
  scratch.clear(); // the numbers of a row's entries ascend
  for (End* p = first; p < last; ++p) scratch.emplace_back(col(*p), *p);
  std::sort(scratch.begin(), scratch.end());
  distinct = 0;
  for (std::size_t i = 0; i < scratch.size(); ++i) {
    first[i] = scratch[i].entry();
    distinct += i == 0 || scratch[i].col() != scratch[i - 1].col();
  }
  return distinct;
}

// The matrix of these entries; equal ones are summed.   @pre names hold rows and cols; col(k) in [0, cols)
template <class A, class Col, class Value>
owned<A> csr_from_rows(const char* who, csr_names& names, entries_by_row<row_end_of<A>> rows, Col col,
                       Value value) {
  using row_end = row_end_of<A>;
  std::vector<column_and_entry<row_end>> scratch;
  extent_t nnz = 0;
  row_end begin = 0;
  for (const row_end end : rows.row_end) {
    nnz += sort_by_column(rows.entry.data() + begin, rows.entry.data() + end, col, scratch);
    begin = end;
  }
  names.take_nnz<A>(nnz);
  owned<A> result = make_owned_csr<A>(names.values());
  auto* const out_values = mutable_values(result);
  const auto out_columns = result->columns();
  const auto out_row_end = result->row_end();
  extent_t at = 0;
  begin = 0;
  for (std::size_t i = 0; i < rows.row_end.size(); ++i) {
    const extent_t row_begin = at;
    for (; begin < rows.row_end[i]; ++begin) {
      const row_end entry = rows.entry[static_cast<std::size_t>(begin)];
      const std::int32_t c = static_cast<std::int32_t>(col(entry));
      if (at > row_begin && out_columns[at - 1] == c)
        out_values[at - 1] =
            summed<typename A::value_type>(who, static_cast<extent_t>(i), out_values[at - 1], value(entry));
      else {
        out_columns[at] = c;
        out_values[at++] = value(entry);
      }
    }
    out_row_end[static_cast<extent_t>(i)] = static_cast<row_end>(at);
  }
  return result;
}

// The matrix of the entries (row(k), col(k), value(k)), k in [0, n).   entry: "triplet" or "entry", for messages
template <class A, class Row, class Col, class Value>
owned<A> csr_from_entries(const char* who, const char* entry, extent_t rows, extent_t cols, extent_t n,
                          Row row, Col col, Value value) {
  csr_names names(who);
  names.take_rows_and_cols<A>(rows, cols);
  require_entries<A>(who, n);
  for (extent_t k = 0; k < n; ++k) {
    const extent_t i = row(k), j = col(k);
    if (i < 0 || i >= rows)
      refuse("tapeless: %s: %s %lld: row %lld is outside [0, %lld)", who, entry, wide(k), wide(i),
             wide(rows));
    if (j < 0 || j >= cols)
      refuse("tapeless: %s: %s %lld in row %lld: column %lld is outside [0, %lld)", who, entry, wide(k),
             wide(i), wide(j), wide(cols));
  }
  return csr_from_rows<A>(who, names, sort_by_row<row_end_of<A>>(rows, n, row), col, value);
}

// end: of each row; index: the columns
template <class A, class End, class Index, class T>
owned<A> csr_from_row_lines(const char* who, csr_names& names, extent_t rows, extent_t cols, extent_t nnz,
                            const End* end, const Index* index, const T* values) {
  require_entries<A>(who, nnz);
  check_line_ends(who, "row", rows, end, nnz);
  entries_by_row<row_end_of<A>> r;
  r.row_end.resize(static_cast<std::size_t>(rows));
  r.entry.resize(static_cast<std::size_t>(nnz));
  extent_t k = 0;
  for (extent_t i = 0; i < rows; ++i) {
    for (; k < end[i]; ++k) {
      if (index[k] < 0 || index[k] >= cols)
        refuse("tapeless: %s: row %lld: column %lld is outside [0, %lld)", who, wide(i),
               wide(static_cast<extent_t>(index[k])), wide(cols));
      r.entry[static_cast<std::size_t>(k)] = static_cast<row_end_of<A>>(k);
    }
    r.row_end[static_cast<std::size_t>(i)] = static_cast<row_end_of<A>>(end[i]);
  }
  return csr_from_rows<A>(
      who, names, std::move(r), [index](extent_t e) { return static_cast<extent_t>(index[e]); },
      [values](extent_t e) { return read_element(values, e); });
}
// end: of each column; index: the rows
template <class A, class End, class Index, class T>
owned<A> csr_from_column_lines(const char* who, csr_names& names, extent_t rows, extent_t cols, extent_t nnz,
                               const End* end, const Index* index, const T* values) {
  require_entries<A>(who, nnz);
  check_line_ends(who, "column", cols, end, nnz);
  std::vector<std::int32_t> column(static_cast<std::size_t>(nnz)); // of each entry
  extent_t k = 0;
  for (extent_t j = 0; j < cols; ++j)
    for (; k < end[j]; ++k) {
      if (index[k] < 0 || index[k] >= rows)
        refuse("tapeless: %s: column %lld: row %lld is outside [0, %lld)", who, wide(j),
               wide(static_cast<extent_t>(index[k])), wide(rows));
      column[static_cast<std::size_t>(k)] = static_cast<std::int32_t>(j);
    }
  return csr_from_rows<A>(
      who, names,
      sort_by_row<row_end_of<A>>(rows, nnz, [index](extent_t e) { return static_cast<extent_t>(index[e]); }),
      [&column](extent_t e) { return static_cast<extent_t>(column[static_cast<std::size_t>(e)]); },
      [values](extent_t e) { return read_element(values, e); });
}

} // namespace tapeless::detail
