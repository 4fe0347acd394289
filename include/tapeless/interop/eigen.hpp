#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Eigen::SparseMatrix and csr. Eigen is not included here: who calls these functions has included it.

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "../core/csr.hpp"
#include "../core/error.hpp"
#include "../core/extent.hpp"
#include "../run/csr.hpp"
#include "../run/csr_build.hpp"
#include "../run/memory.hpp"

namespace tapeless {
namespace detail {

template <class M>
concept eigen_sparse = requires(M& m) {
  typename std::remove_cvref_t<M>::StorageIndex;
  m.outerIndexPtr();
  m.innerIndexPtr();
  m.valuePtr();
  m.isCompressed();
  { std::remove_cvref_t<M>::IsRowMajor + 0 } -> std::convertible_to<int>;
};
template <class M>
concept eigen_by_rows = eigen_sparse<M> && std::remove_cvref_t<M>::IsRowMajor != 0;
template <class M>
concept eigen_with_int32 = std::is_same_v<typename std::remove_cvref_t<M>::StorageIndex, std::int32_t>;
// In Eigen's matrices the columns have the type of the row ends. Here they are int32.
template <class A>
concept row_ends_as_columns = std::is_same_v<row_end_of<A>, std::int32_t>;

} // namespace detail

// eigen_view<csr<T, ...>>(m): a view of an Eigen::SparseMatrix<T, Eigen::RowMajor, int> or of a Map of one. A const m
// needs csr<const T, ...>. Nothing is copied: m must outlive the view.
// Errors: argument_error where m is not compressed, and as csr_view. Cost: one pass over the pattern.
template <detail::host_sparse_matrix A, detail::eigen_sparse M> A eigen_view(M& m) {
  constexpr bool by_rows = detail::eigen_by_rows<M>;
  static_assert(by_rows,
                "tapeless: eigen_view(m): m is row-major; csr_from_eigen<A>(m) copies the other kind");
  constexpr bool int32 = detail::eigen_with_int32<M>;
  static_assert(int32, "tapeless: eigen_view(m): the indices of m are int; csr_from_eigen<A>(m) converts");
  constexpr bool one_type = detail::row_ends_as_columns<A>;
  static_assert(one_type,
                "tapeless: eigen_view<A>(m): the row ends of A are std::int32_t, as those of m; "
                "csr_from_eigen<A>(m) converts");
  static_assert(
      detail::are_in_rows<A>,
      "tapeless: eigen_view<A>(m): A is not tiled; csr_tiled(a) makes a tiled matrix of one in rows");
  if constexpr (by_rows && int32 && one_type && detail::are_in_rows<A>) {
    if (!m.isCompressed()) detail::refuse("tapeless: eigen_view(m): m is not compressed: m.makeCompressed()");
    const std::int32_t* const row_ptr = m.outerIndexPtr();
    const std::int32_t* const columns = m.innerIndexPtr();
    if (m.rows() == 0) { // Eigen may have no array then
      static constexpr std::int32_t zero[1] = {};
      return csr_view<A>(0, m.cols(), &zero[0], columns, m.valuePtr());
    }
    return csr_view<A>(m.rows(), m.cols(), row_ptr, columns, m.valuePtr());
  } else return A{};
}

// csr_from_eigen<A>(m): a copy of a sparse matrix by rows or by columns, compressed or not.
// Errors: argument_error as csr_from_csr and csr_from_csc. Memory: an uncompressed m is copied meanwhile.
template <detail::host_sparse_matrix A, detail::eigen_sparse M> owned<A> csr_from_eigen(const M& m) {
  static_assert(
      detail::are_in_rows<A>,
      "tapeless: csr_from_eigen<A>(m): A is not tiled; csr_tiled(a) makes a tiled matrix of one in rows");
  if (!m.isCompressed()) {
    M compressed = m;
    compressed.makeCompressed();
    return csr_from_eigen<A>(compressed);
  }
  using index = typename M::StorageIndex;
  static constexpr index zero[1] = {};
  const bool none = m.outerSize() == 0; // Eigen may have no array then
  const index* const ptr = none ? &zero[0] : m.outerIndexPtr();
  if constexpr (detail::eigen_by_rows<M>)
    return csr_from_csr<A>(m.rows(), m.cols(), ptr, m.innerIndexPtr(), m.valuePtr());
  else return csr_from_csc<A>(m.rows(), m.cols(), ptr, m.innerIndexPtr(), m.valuePtr());
}

// to_eigen<Eigen::SparseMatrix<T, Eigen::RowMajor>>(a): a copy of a, which is checked.
template <detail::eigen_sparse M, detail::host_sparse_matrix A> M to_eigen(const A& a) {
  constexpr bool by_rows = detail::eigen_by_rows<M>;
  static_assert(by_rows, "tapeless: to_eigen<M>(a): M is row-major");
  static_assert(detail::are_in_rows<A>,
                "tapeless: to_eigen<M>(a): a is not tiled; csr_untiled(a) has its entries by rows");
  detail::check_csr("to_eigen(a)", a);
  using index = typename M::StorageIndex;
  for (const extent_t n : {a.rows(), a.cols(), a.nnz()})
    if (n > std::numeric_limits<index>::max())
      detail::refuse("tapeless: to_eigen(a): %lld exceeds the StorageIndex of the matrix", detail::wide(n));
  M m(static_cast<index>(a.rows()), static_cast<index>(a.cols()));
  m.resizeNonZeros(static_cast<index>(a.nnz()));
  for (extent_t i = 0; i < a.rows(); ++i) m.outerIndexPtr()[i + 1] = static_cast<index>(a.row_end()[i]);
  std::copy(a.columns().begin(), a.columns().end(), m.innerIndexPtr());
  for (extent_t k = 0; k < a.nnz(); ++k) m.valuePtr()[k] = detail::read_element(a.values().data(), k);
  return m;
}

} // namespace tapeless
