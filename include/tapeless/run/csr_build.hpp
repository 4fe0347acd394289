// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// csr_from_..(): sparse matrices that own their arrays, made from triplets, COO, CSC or CSR.
//   owned<A> a = csr_from_triplets<A>(rows, cols, triplets);   *a is an A
// Entries come in any order. Entries of equal row and column are summed in the order given. Explicit zeros stay.
// nnz is the number of entries of the result: a static extent must equal it, a name gets this value.
// (tl::owned<A>(dims...) alone is a matrix with empty rows, whose pattern the caller fills.)
//
// Errors of all of them: argument_error where extents disagree with the type or with one another, are negative or
// exceed 2^31 - 1 (rows and cols always, the number of entries with int32 row ends), an array is null or has another
// size, or an index is outside the matrix. The message names the entry and its row. Nothing has been made then.
// Cost: O(entries + rows) for a counting sort; k log k for a row whose k columns do not ascend.
#pragma once
#include <cstddef>
#include <initializer_list>
#include <cstdint>
#include <span>
#include <type_traits>
#include "../core/csr.hpp"
#include "../core/extent.hpp"
#include "csr.hpp"
#include "csr_sort.hpp" // IWYU pragma: export
#include "memory.hpp"

namespace tapeless {

template <element T> struct triplet {
  std::int32_t row, col;
  T value;
};

namespace detail {

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

// csr_from_csr<A>(rows, cols, row_ptr, columns, values): a copy of a matrix in CSR form.
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

// csr_from_csc<A>(rows, cols, col_ptr, row_indices, values): compressed columns; the rows of a column may have any
// order.
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

// csr_transposed<B>(a): a new matrix, b[j,i] = a[i,j], with the same entries and explicit zeros. a is checked.
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
