// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// basic_csr<T, rows, cols, nnz, space, row_end>: a sparse matrix in compressed rows (CSR). Like basic_tensor it has two
// uses: handles in a trace, a view at run time. tl::owned<csr<...>> owns.
//   the entries of row i are [row_end[i-1], row_end[i]) of values and columns; row 0 begins at 0
// row_end is int32, or int64 for 2^31 entries and more; columns are int32.
// Invariants: row_end never decreases and ends at nnz; the columns of a row ascend strictly and lie in [0, cols). They
// are checked where a view is made of raw arrays (run/csr.hpp), and every kernel relies on them.
//
// Its leaves are tensors: values, columns, row_end, and one without elements that carries cols. The last three are the
// pattern: it comes from an argument, is never computed and has no tangent. So the cotangent of a matrix is a matrix of
// the same pattern.
//
// With tl::tiled in place of row_end the entries are stored tile by tile (csr_tiles.hpp), in leaves of the same shapes.
// columns then holds 16-bit numbers: columns within a tile, and segments of rows. row_end holds the ends of tiles.
#pragma once
#include <limits>
#include <type_traits>
#include "shape.hpp"
#include "tensor.hpp" // IWYU pragma: export

namespace tapeless {

// Tag: makes a matrix view without checking its arrays.
struct trusted_t {};
inline constexpr trusted_t trusted{};

// csr<T, rows, cols, nnz, tiled>: run/csr_tiled.hpp makes one.
struct tiled {};

namespace detail {

template <class X> inline constexpr bool is_pattern_v = false;
template <class T, shape S, class P, class O>
inline constexpr bool is_pattern_v<basic_tensor<T, S, pattern<P, O>>> = true;
// The columns of a tiled matrix: its only leaf whose type differs from that of a matrix in rows.
template <class X> inline constexpr bool is_tiled_pattern_v = false;
template <class T, shape S, class P>
inline constexpr bool is_tiled_pattern_v<basic_tensor<T, S, pattern<P, tiled>>> = true;

template <class I>
concept int32_or_int64_or_tiled =
    std::is_same_v<I, std::int32_t> || std::is_same_v<I, std::int64_t> || std::is_same_v<I, tiled>;
template <class RowEnd> using row_end_element =
    std::conditional_t<std::is_same_v<RowEnd, std::int64_t>, std::int64_t, std::int32_t>;
template <extent_t Nnz, class RowEnd>
concept counts_up_to = !is_static(Nnz) || Nnz <= std::numeric_limits<row_end_element<RowEnd>>::max();

} // namespace detail

template <element T, extent_t Rows, extent_t Cols, extent_t Nnz, class Space = host,
          class RowEnd = std::int32_t>
class basic_csr {
  static_assert(
      detail::int32_or_int64_or_tiled<RowEnd>,
      "tapeless: csr<T, rows, cols, nnz, row_end>: row_end is std::int32_t, std::int64_t or tl::tiled");
  static_assert(detail::counts_up_to<Rows, std::int32_t> && detail::counts_up_to<Cols, std::int32_t>,
                "tapeless: csr<T, rows, cols, nnz>: at most 2147483647 rows and columns");
  static_assert(detail::counts_up_to<Nnz, RowEnd>,
                "tapeless: csr<T, rows, cols, nnz>: at most 2147483647 entries; csr<T, rows, cols, nnz, "
                "std::int64_t> has more");

public:
  using value_type = std::remove_const_t<T>;
  using values_type = basic_tensor<T, shape_of<Nnz>, Space>;
  using columns_type =
      basic_tensor<std::int32_t, shape_of<Nnz>,
                   detail::pattern<Space, std::conditional_t<std::is_same_v<RowEnd, tiled>, tiled, void>>>;
  using row_end_type = basic_tensor<detail::row_end_element<RowEnd>, shape_of<Rows>, detail::pattern<Space>>;
  using width_type = basic_tensor<bool, shape_of<0, Cols>, detail::pattern<Space>>;
  static constexpr shape extents = shape_of<Rows, Cols>;

  constexpr basic_csr() = default;
  // @pre the invariants above
  constexpr basic_csr(trusted_t, const values_type& values, const columns_type& columns,
                      const row_end_type& row_end, const width_type& width)
      : values_(values), columns_(columns), row_end_(row_end), width_(width) {}
  // A view of mutable values is a view of const ones.
  template <class U>
    requires(std::is_const_v<T> && std::is_same_v<U, value_type>)
  constexpr basic_csr(const basic_csr<U, Rows, Cols, Nnz, Space, RowEnd>& o)
      : values_(o.values()), columns_(o.columns()), row_end_(o.row_end()), width_(o.width()) {}

  // In a trace these are handles: exp(a.values()) is computed entry by entry. At run time they are views.
  constexpr const values_type& values() const { return values_; }
  constexpr const columns_type& columns() const { return columns_; }
  constexpr const row_end_type& row_end() const { return row_end_; }
  constexpr const width_type& width() const { return width_; }

  // Of a view: the numbers of rows, columns and stored entries.
  constexpr extent_t rows() const { return row_end_.extent(0); }
  constexpr extent_t cols() const { return width_.extent(1); }
  constexpr extent_t nnz() const { return values_.extent(0); }
  // Of a view in rows: the entries of row i are [row_begin(i), row_end()[i]).
  constexpr extent_t row_begin(extent_t i) const { return i == 0 ? 0 : row_end_[i - 1]; }

  // The same pattern with other values: a.with(tl::exp(a.values())).
  template <class U>
  constexpr basic_csr<U, Rows, Cols, Nnz, Space, RowEnd> with(
      const basic_tensor<U, shape_of<Nnz>, Space>& values) const {
    static_assert(
        !std::is_same_v<RowEnd, tiled> || sizeof(U) == sizeof(T),
        "tapeless: a.with(values): a tiled matrix keeps its element type; csr_untiled(a) takes any");
    return {trusted, values, columns_, row_end_, width_};
  }

  // f(leaf) for each of the four leaves; for parameter trees
  template <class Csr, class F> static constexpr void visit_leaves(Csr& a, F&& f) {
    f(a.values_);
    f(a.columns_);
    f(a.row_end_);
    f(a.width_);
  }

private:
  values_type values_;
  columns_type columns_;
  row_end_type row_end_;
  width_type width_;
};

// csr<float, rows, cols, nnz>: static extents or named ones, in host memory.
//   using table = tl::csr<float, tl::dyn<'r'>, tl::dyn<'c'>, tl::dyn<'e'>>;
// csr<float, rows, cols, nnz, std::int64_t>: for 2^31 entries and more. csr<float, rows, cols, nnz, tiled>: in tiles.
template <element T, extent_t Rows, extent_t Cols, extent_t Nnz, class RowEnd = std::int32_t> using csr =
    basic_csr<T, Rows, Cols, Nnz, host, RowEnd>;

namespace detail {
template <class X> inline constexpr bool is_csr_v = false;
template <class T, extent_t R, extent_t C, extent_t E, class P, class I>
inline constexpr bool is_csr_v<basic_csr<T, R, C, E, P, I>> = true;
template <class X>
concept csr_matrix = is_csr_v<std::remove_cvref_t<X>>;
template <class X> inline constexpr bool is_tiled_v = false;
template <class T, extent_t R, extent_t C, extent_t E, class P>
inline constexpr bool is_tiled_v<basic_csr<T, R, C, E, P, tiled>> = true;
template <class... A>
concept are_in_rows = (!is_tiled_v<A> && ...);
} // namespace detail

} // namespace tapeless
