// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// csr_view: a sparse matrix on the caller's arrays.   csr_check: checks the invariants of core/csr.hpp.
//   row_ptr: (rows + 1), row_ptr[0] == 0       columns, values: (row_ptr[rows])
//   the entries of row i are [row_ptr[i], row_ptr[i + 1]); the columns of a row ascend strictly
// Columns are std::int32_t. row_ptr has the type of the matrix type's row ends, std::int32_t or std::int64_t.
// Every mistake in a matrix from outside is found (csr_checks.hpp).
#pragma once
#include <cstdint>
#include "../core/csr.hpp"
#include "../core/extent.hpp"
#include "csr_arrays.hpp" // IWYU pragma: export
#include "csr_checks.hpp" // IWYU pragma: export
#include "csr_names.hpp"  // IWYU pragma: export
#include "memory.hpp"

namespace tapeless {
namespace detail {

template <class A>
A csr_on(const name_values& names, typename A::values_type::element_type* values, const std::int32_t* columns,
         const row_end_of<A>* row_end) {
  // const_cast: no program writes a pattern
  return A(trusted, make_view<typename A::values_type>(values, names),
           make_view<typename A::columns_type>(const_cast<std::int32_t*>(columns), names),
           make_view<typename A::row_end_type>(const_cast<row_end_of<A>*>(row_end), names),
           make_view<typename A::width_type>(static_cast<bool*>(nullptr), names));
}

template <class A, class RowPtr, class Columns, class Values>
A view_of_arrays(const char* who, bool check, extent_t rows, extent_t cols, const RowPtr& row_ptr,
                 const Columns& columns, const Values& values) {
  csr_names names(who);
  names.take_rows_and_cols<A>(rows, cols);
  const extent_t nnz = check_line_ptr(who, "row_ptr", row_ptr, rows);
  names.take_nnz<A>(nnz);
  columns.require(who, "columns", nnz);
  values.require(who, "values", nnz);
  if (check) check_pattern(who, rows, cols, nnz, row_ptr.data + 1, columns.data);
  return csr_on<A>(names.values(), values.data, columns.data, row_ptr.data + 1);
}

template <class A, class RowPtr, class Columns, class Values> constexpr bool can_be_viewed() {
  static_assert(are_in_rows<A>,
                "tapeless: csr_view<A>(rows, cols, row_ptr, columns, values): A is not tiled; csr_tiled(a) "
                "makes a tiled matrix of one in rows");
  constexpr bool arrays = array_or_pointer<RowPtr> && array_or_pointer<Columns> && array_or_pointer<Values>;
  static_assert(arrays,
                "tapeless: csr_view(rows, cols, row_ptr, columns, values): row_ptr, columns and "
                "values are pointers, arrays, spans or vectors");
  if constexpr (!arrays || !are_in_rows<A>) return false;
  else {
    constexpr bool living =
        outlives_the_call<RowPtr> && outlives_the_call<Columns> && outlives_the_call<Values>;
    constexpr bool ends = array_of_type<RowPtr, row_end_of<A>>, columns = int32_array<Columns>;
    constexpr bool elements = viewable_as<Values, typename A::values_type::element_type>;
    static_assert(living, "tapeless: csr_view(rows, cols, row_ptr, columns, values): a view of a temporary");
    static_assert(ends,
                  "tapeless: csr_view(rows, cols, row_ptr, columns, values): row_ptr has the type of the "
                  "matrix's row ends, std::int32_t or in csr<T, rows, cols, nnz, std::int64_t> std::int64_t; "
                  "csr_from_csr<A>(...) converts");
    static_assert(columns,
                  "tapeless: csr_view(rows, cols, row_ptr, columns, values): columns are std::int32_t; "
                  "csr_from_csr<A>(...) converts");
    static_assert(elements,
                  "tapeless: csr_view(rows, cols, row_ptr, columns, values): values has the "
                  "element type of the matrix; csr<const T, ...> views const ones");
    return living && ends && columns && elements;
  }
}

} // namespace detail

// csr_view<csr<float, dyn<'r'>, dyn<'c'>, dyn<'e'>>>(rows, cols, row_ptr, columns, values): a view; nothing is copied.
// The arrays are pointers, arrays, spans or vectors of the caller, which must outlive the view.
//   row_ptr: (rows + 1) std::int32_t     columns: (nnz) std::int32_t     values: (nnz)     nnz = row_ptr[rows]
//   for csr<T, rows, cols, nnz, std::int64_t>: row_ptr std::int64_t
// Static extents must equal these numbers. A name that occurs twice must have one value.
// Errors: argument_error where extents disagree, are negative or exceed 2^31 - 1 (nnz: with int32 row ends), an array
// is null or has another size, row_ptr does not begin at 0, falls or does not end at nnz, or the columns of a row are
// outside [0, cols) or do not ascend strictly. The message names the row. From pointers, rows + 1 and row_ptr[rows]
// elements are read.
// Cost: one pass over row_ptr and columns.
template <detail::host_sparse_matrix A, class RowPtr, class Columns, class Values>
A csr_view(extent_t rows, extent_t cols, RowPtr&& row_ptr, Columns&& columns, Values&& values) {
  if constexpr (detail::can_be_viewed<A, RowPtr, Columns, Values>())
    return detail::view_of_arrays<A>("csr_view(rows, cols, row_ptr, columns, values)", true, rows, cols,
                                     detail::array_of(row_ptr), detail::array_of(columns),
                                     detail::array_of(values));
  else return A{};
}

// csr_view<A>(trusted, ...): the same without the pass. Only extents, sizes, null pointers and row_ptr[0] are checked.
// @pre the invariants of core/csr.hpp. Where they do not hold, kernels read and write out of bounds.
template <detail::host_sparse_matrix A, class RowPtr, class Columns, class Values>
A csr_view(trusted_t, extent_t rows, extent_t cols, RowPtr&& row_ptr, Columns&& columns, Values&& values) {
  if constexpr (detail::can_be_viewed<A, RowPtr, Columns, Values>())
    return detail::view_of_arrays<A>("csr_view(trusted, rows, cols, row_ptr, columns, values)", false, rows,
                                     cols, detail::array_of(row_ptr), detail::array_of(columns),
                                     detail::array_of(values));
  else return A{};
}

// csr_check(a): throws argument_error where csr_view would have refused a. Cost: one pass over the pattern.
template <detail::host_sparse_matrix A> void csr_check(const A& a) {
  static_assert(detail::are_in_rows<A>,
                "tapeless: csr_check(a): a is not tiled; csr_untiled(a) has its entries by rows");
  detail::check_csr("csr_check(a)", a);
}

} // namespace tapeless
