// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// csr_view: a sparse matrix on the caller's arrays.   csr_check: checks the invariants of core/csr.hpp.
//   row_ptr: (rows + 1), row_ptr[0] == 0       columns, values: (row_ptr[rows])
//   the entries of row i are [row_ptr[i], row_ptr[i + 1]); the columns of a row ascend strictly
// Columns are std::int32_t. row_ptr has the type of the matrix type's row ends, std::int32_t or std::int64_t.
// Every mistake in a matrix from outside is found here, and the message names the row.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include "../core/csr.hpp"
#include "../core/error.hpp"
#include "../core/extent.hpp"
#include "memory.hpp"

namespace tapeless {
namespace detail {

inline constexpr extent_t largest_index = 2147483647;

// The type of the row ends of a matrix type.
template <class A> using row_end_of = typename A::row_end_type::value_type;
template <class A> inline constexpr extent_t largest_nnz = std::numeric_limits<row_end_of<A>>::max();

template <class A>
concept host_sparse_matrix = is_csr_v<A> && std::is_same_v<typename A::values_type::space, host>;
template <extent_t E>
concept number_or_name = is_static(E) || (degree(E) == 1 && coefficient(E) == 1);

// The values of the names of a matrix type.
class csr_names {
  const char* who_;
  name_values values_;
  std::array<const char*, max_program_names> from_{};

public:
  explicit csr_names(const char* who) : who_(who) {}

  // The extent of this axis is e in the type and n in the data.
  void take(const char* axis, extent_t e, extent_t n) {
    if (n < 0) refuse("tapeless: %s: %s = %lld: an extent is not negative", who_, axis, wide(n));
    if (is_static(e)) {
      if (n != e)
        refuse("tapeless: %s: %s = %lld, but the matrix type has %lld", who_, axis, wide(n), wide(e));
      return;
    }
    const char name = name_of(names(e));
    const bool known = values_.find(name) >= 0;
    const auto k = static_cast<std::size_t>(values_.add(name));
    if (known && values_.value[k] != n)
      refuse("tapeless: %s: %s says %c = %lld, but %s says %c = %lld", who_, axis, name, wide(n), from_[k],
             name, wide(values_.value[k]));
    values_.value[k] = n;
    from_[k] = axis;
  }
  template <class A> void take_rows_and_cols(extent_t rows, extent_t cols) {
    static_assert(number_or_name<A::extents.d[0]> && number_or_name<A::extents.d[1]> &&
                      number_or_name<A::values_type::extents.d[0]>,
                  "tapeless: csr<T, rows, cols, nnz>: an extent is a number or one name");
    take_position("rows", A::extents.d[0], rows);
    take_position("cols", A::extents.d[1], cols);
  }
  template <class A> void take_nnz(extent_t nnz) {
    if (nnz > largest_nnz<A>)
      refuse(
          "tapeless: %s: nnz = %lld: at most 2147483647, row ends are std::int32_t; csr<T, rows, cols, nnz, "
          "std::int64_t> has more",
          who_, wide(nnz));
    take("nnz", A::values_type::extents.d[0], nnz);
  }
  const name_values& values() const { return values_; }

private:
  void take_position(const char* axis, extent_t e, extent_t n) {
    if (n > largest_index)
      refuse("tapeless: %s: %s = %lld: at most 2147483647, positions are std::int32_t", who_, axis, wide(n));
    take(axis, e, n);
  }
};

// The data of a pointer, array, span or vector, and its size, -1 for a pointer.
template <class T> struct array_argument {
  T* data;
  extent_t size;

  void require(const char* who, const char* name, extent_t n) const {
    if (size >= 0 && size != n)
      refuse("tapeless: %s: %s has %lld elements, expected %lld", who, name, wide(size), wide(n));
    if (data == nullptr && n > 0) refuse("tapeless: %s: %s is null", who, name);
  }
};
template <class X>
concept has_data_and_size = requires(X& x) {
  *x.data();
  x.size();
};
template <class X> inline constexpr bool is_span_v = false;
template <class T, std::size_t N> inline constexpr bool is_span_v<std::span<T, N>> = true;
template <class X>
concept array_or_pointer =
    std::is_pointer_v<std::remove_cvref_t<X>> || std::is_array_v<std::remove_reference_t<X>> ||
    has_data_and_size<std::remove_reference_t<X>>;
// Do the elements stay alive when x is gone?
template <class X>
concept outlives_the_call =
    std::is_lvalue_reference_v<X> || std::is_pointer_v<X> || is_span_v<std::remove_cv_t<X>>;

template <class X> auto array_of(X&& x) {
  using U = std::remove_reference_t<X>;
  if constexpr (std::is_pointer_v<U>) return array_argument<std::remove_pointer_t<U>>{x, -1};
  else if constexpr (std::is_array_v<U>)
    return array_argument<std::remove_extent_t<U>>{x, static_cast<extent_t>(std::extent_v<U>)};
  else
    return array_argument<std::remove_pointer_t<decltype(x.data())>>{x.data(),
                                                                     static_cast<extent_t>(x.size())};
}
template <class X> using element_of_array = std::remove_pointer_t<decltype(array_of(std::declval<X>()).data)>;
template <class X>
concept int32_array = std::is_same_v<std::remove_const_t<element_of_array<X>>, std::int32_t>;
template <class X>
concept index_array = std::is_same_v<std::remove_const_t<element_of_array<X>>, std::int32_t> ||
                      std::is_same_v<std::remove_const_t<element_of_array<X>>, std::int64_t>;
template <class X, class T>
concept array_of_type = std::is_same_v<std::remove_const_t<element_of_array<X>>, std::remove_const_t<T>>;
template <class X, class T>
concept viewable_as = std::is_convertible_v<element_of_array<X> (*)[], T (*)[]>;

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
// outside
// [0, cols) or do not ascend strictly. The message names the row. From pointers, rows + 1 and row_ptr[rows] elements
// are read. Cost: one pass over row_ptr and columns.
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
