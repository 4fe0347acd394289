// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Sparse matrices that own their arrays, made of triplets, COO, CSC or CSR.
//   owned<A> a = csr_from_triplets<A>(rows, cols, triplets);   *a is an A
// Entries come in any order. Those of equal row and column are summed in the order given; zeros that are stored stay.
// nnz is what comes out: a static extent must equal it, a name stands for it.
// (tl::owned<A>(dims...) alone is a matrix whose rows are all empty: its pattern is the caller's to fill.)
//
// Errors, of all of them: argument_error where extents disagree with the type or with one another, are negative or
// exceed 2^31 - 1 (with int64 row ends rows and cols only, else so do the entries given), an array is null or has
// another size, or an index is outside of the matrix; the message names the entry and its row. Nothing has been made
// then.
// Cost: O(entries + rows) by a counting sort; k log k for a row whose k columns do not ascend.
#pragma once
#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>
#include "../core/csr.hpp"
#include "../core/error.hpp"
#include "../core/extent.hpp"
#include "csr.hpp"
#include "memory.hpp"

namespace tapeless {

template <element T> struct triplet {
  std::int32_t row, col;
  T value;
};

namespace detail {

// owned<A> with these values of its names.
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

// The values of an owned matrix, to be filled: of csr<const T, ...> too.
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
// a + b; true or; argument_error where an int32 overflows
template <class T> T summed(const char* who, extent_t row, T a, T b) {
  if constexpr (std::is_same_v<T, bool>) return a || b;
  else if constexpr (std::is_integral_v<T>) {
    T r = 0;
    if (__builtin_add_overflow(a, b, &r))
      refuse("tapeless: %s: row %lld: the sum of equal entries exceeds an std::int32_t", who, wide(row));
    return r;
  } else return a + b;
}

// Entry numbers by row: those of row i are entry[k], k in [row_end[i-1], row_end[i]), in the order given.
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
  for (extent_t k = 0; k < n; ++k) {                           // and, by steps, ends
    End& at = r.row_end[static_cast<std::size_t>(row(k))];
    r.entry[static_cast<std::size_t>(at++)] = static_cast<End>(k);
  }
  return r;
}
// A column and the number of an entry, ordered by the column first.
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
template <> class column_and_entry<std::int32_t> { // one number is compared faster than two
  std::uint64_t both_;

public:
  column_and_entry(extent_t col, std::int32_t entry)
      : both_(static_cast<std::uint64_t>(col) << 32 | static_cast<std::uint32_t>(entry)) {}
  extent_t col() const { return static_cast<extent_t>(both_ >> 32); }
  std::int32_t entry() const { return static_cast<std::int32_t>(both_ & 0xffffffffu); }
  bool operator<(const column_and_entry& o) const { return both_ < o.both_; }
};
// The entries [first, last) of one row by column, in the order given where columns are equal.
// @return how many columns
template <class End, class Col>
extent_t sort_by_column(End* first, End* last, Col col, std::vector<column_and_entry<End>>& scratch) {
  extent_t distinct = first == last ? 0 : 1;
  bool sorted = true;
  for (End* p = first; sorted && last - p > 1; ++p) {
    sorted = col(p[0]) <= col(p[1]);
    distinct += col(p[0]) != col(p[1]);
  }
  if (sorted) return distinct;
  scratch.clear(); // a row's entry numbers ascend
  for (End* p = first; p < last; ++p) scratch.emplace_back(col(*p), *p);
  std::sort(scratch.begin(), scratch.end());
  distinct = 0;
  for (std::size_t i = 0; i < scratch.size(); ++i) {
    first[i] = scratch[i].entry();
    distinct += i == 0 || scratch[i].col() != scratch[i - 1].col();
  }
  return distinct;
}

// @pre names hold rows and cols; col(k) in [0, cols)
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

// Entries of (row(k), col(k), value(k)), k in [0, n).   entry: "triplet" or "entry"
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

// end: of each row; index: columns
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
// end: of each column; index: rows
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

template <class A, class X, class Y, class Values> constexpr bool arrays_can_be_read() {
  static_assert(are_in_rows<A>,
                "tapeless: csr_from_..<A>(rows, cols, ...): A is not tiled; csr_tiled(a) makes a tiled "
                "matrix of one in rows");
  constexpr bool arrays = array_or_pointer<X> && array_or_pointer<Y> && array_or_pointer<Values>;
  static_assert(arrays, "tapeless: csr_from_..(rows, cols, ...): pointers, arrays, spans or vectors");
  if constexpr (!arrays || !are_in_rows<A>) return false;
  else {
    constexpr bool positions = index_array<X> && index_array<Y>;
    constexpr bool elements = array_of_type<Values, typename A::value_type>;
    static_assert(positions,
                  "tapeless: csr_from_..(rows, cols, ...): positions and indices are std::int32_t "
                  "or std::int64_t");
    static_assert(elements,
                  "tapeless: csr_from_..(rows, cols, ...): values has the element type of the "
                  "matrix");
    return positions && elements;
  }
}
template <class X>
concept array_that_knows_its_size = !std::is_pointer_v<std::remove_cvref_t<X>>;
template <class X, class T>
concept are_triplets_of = std::is_convertible_v<const X&, std::span<const triplet<T>>>;
} // namespace detail

// csr_from_triplets<A>(rows, cols, triplets): a vector, array or span of triplet<T>{row, col, value}.
template <detail::host_sparse_matrix A>
owned<A> csr_from_triplets(extent_t rows, extent_t cols,
                           std::span<const triplet<typename A::value_type>> triplets) {
  static_assert(detail::are_in_rows<A>,
                "tapeless: csr_from_..<A>(rows, cols, ...): A is not tiled; csr_tiled(a) makes a tiled "
                "matrix of one in rows");
  return detail::csr_from_entries<A>(
      "csr_from_triplets(rows, cols, triplets)", "triplet", rows, cols,
      static_cast<extent_t>(triplets.size()),
      [t = triplets.data()](extent_t k) { return static_cast<extent_t>(t[k].row); },
      [t = triplets.data()](extent_t k) { return static_cast<extent_t>(t[k].col); },
      [t = triplets.data()](extent_t k) { return detail::read_element(&t[k].value, 0); });
}

template <detail::host_sparse_matrix A>
owned<A> csr_from_triplets(extent_t rows, extent_t cols,
                           std::initializer_list<triplet<typename A::value_type>> triplets) {
  return csr_from_triplets<A>(
      rows, cols, std::span<const triplet<typename A::value_type>>(triplets.begin(), triplets.size()));
}
template <detail::host_sparse_matrix A, class X>
  requires(!detail::are_triplets_of<X, typename A::value_type>)
owned<A> csr_from_triplets(extent_t, extent_t, const X&) {
  static_assert(detail::are_triplets_of<X, typename A::value_type>,
                "tapeless: csr_from_triplets<A>(rows, cols, triplets): a vector, array or span of "
                "tl::triplet<T>, T the element type of A");
  return owned<A>();
}

// csr_from_coo<A>(rows, cols, row_indices, col_indices, values): three arrays, spans or vectors of equal size.
template <detail::host_sparse_matrix A, class Rows, class Cols, class Values>
owned<A> csr_from_coo(extent_t rows, extent_t cols, const Rows& row_indices, const Cols& col_indices,
                      const Values& values) {
  constexpr const char* who = "csr_from_coo(rows, cols, row_indices, col_indices, values)";
  constexpr bool sized = detail::array_that_knows_its_size<Rows> && detail::array_that_knows_its_size<Cols> &&
                         detail::array_that_knows_its_size<Values>;
  static_assert(sized,
                "tapeless: csr_from_coo(rows, cols, row_indices, col_indices, values): a pointer has "
                "no size; pass std::span(p, n)");
  if constexpr (sized && detail::arrays_can_be_read<A, const Rows&, const Cols&, const Values&>()) {
    const auto r = detail::array_of(row_indices);
    const auto c = detail::array_of(col_indices);
    const auto v = detail::array_of(values);
    r.require(who, "row_indices", v.size);
    c.require(who, "col_indices", v.size);
    v.require(who, "values", v.size);
    return detail::csr_from_entries<A>(
        who, "entry", rows, cols, v.size, [p = r.data](extent_t k) { return static_cast<extent_t>(p[k]); },
        [p = c.data](extent_t k) { return static_cast<extent_t>(p[k]); },
        [p = v.data](extent_t k) { return detail::read_element(p, k); });
  } else return owned<A>();
}

// csr_from_csr<A>(rows, cols, row_ptr, columns, values): a copy.
//   row_ptr: (rows + 1)     columns, values: (row_ptr[rows])     in std::int32_t or std::int64_t
template <detail::host_sparse_matrix A, class RowPtr, class Columns, class Values>
owned<A> csr_from_csr(extent_t rows, extent_t cols, const RowPtr& row_ptr, const Columns& columns,
                      const Values& values) {
  constexpr const char* who = "csr_from_csr(rows, cols, row_ptr, columns, values)";
  if constexpr (detail::arrays_can_be_read<A, const RowPtr&, const Columns&, const Values&>()) {
    detail::csr_names names(who);
    names.take_rows_and_cols<A>(rows, cols);
    const auto ptr = detail::array_of(row_ptr);
    const extent_t nnz = detail::check_line_ptr(who, "row_ptr", ptr, rows);
    detail::array_of(columns).require(who, "columns", nnz);
    detail::array_of(values).require(who, "values", nnz);
    return detail::csr_from_row_lines<A>(who, names, rows, cols, nnz, ptr.data + 1,
                                         detail::array_of(columns).data, detail::array_of(values).data);
  } else return owned<A>();
}

// csr_from_csc<A>(rows, cols, col_ptr, row_indices, values): compressed columns; in a column rows in any order.
//   col_ptr: (cols + 1)     row_indices, values: (col_ptr[cols])     in std::int32_t or std::int64_t
template <detail::host_sparse_matrix A, class ColPtr, class Rows, class Values>
owned<A> csr_from_csc(extent_t rows, extent_t cols, const ColPtr& col_ptr, const Rows& row_indices,
                      const Values& values) {
  constexpr const char* who = "csr_from_csc(rows, cols, col_ptr, row_indices, values)";
  if constexpr (detail::arrays_can_be_read<A, const ColPtr&, const Rows&, const Values&>()) {
    detail::csr_names names(who);
    names.take_rows_and_cols<A>(rows, cols);
    const auto ptr = detail::array_of(col_ptr);
    const extent_t nnz = detail::check_line_ptr(who, "col_ptr", ptr, cols);
    detail::array_of(row_indices).require(who, "row_indices", nnz);
    detail::array_of(values).require(who, "values", nnz);
    return detail::csr_from_column_lines<A>(who, names, rows, cols, nnz, ptr.data + 1,
                                            detail::array_of(row_indices).data,
                                            detail::array_of(values).data);
  } else return owned<A>();
}

// csr_transposed<B>(a): b[j,i] = a[i,j] as a new matrix of the same entries, explicit zeros too. a is checked.
template <detail::host_sparse_matrix B, detail::host_sparse_matrix A> owned<B> csr_transposed(const A& a) {
  constexpr const char* who = "csr_transposed(a)";
  constexpr bool one_type = std::is_same_v<typename A::value_type, typename B::value_type>;
  static_assert(one_type, "tapeless: csr_transposed<B>(a): both have one element type");
  static_assert(detail::are_in_rows<B, A>,
                "tapeless: csr_transposed<B>(a): neither is tiled; csr_untiled(a) has its entries by rows");
  if constexpr (one_type && detail::are_in_rows<B, A>) {
    detail::check_csr(who, a);
    detail::csr_names names(who);
    names.take_rows_and_cols<B>(a.cols(), a.rows());
    return detail::csr_from_column_lines<B>(who, names, a.cols(), a.rows(), a.nnz(), a.row_end().data(),
                                            a.columns().data(), a.values().data());
  } else return owned<B>();
}

} // namespace tapeless
