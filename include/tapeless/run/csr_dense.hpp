// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Dense matrices to sparse ones, and back.   to_dense(csr_from_dense<A>(x)) == x, but for the signs of zeros
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include "../core/csr.hpp"
#include "../core/error.hpp"
#include "../core/extent.hpp"
#include "csr.hpp"
#include "csr_build.hpp"
#include "memory.hpp"

namespace tapeless {
namespace detail {

template <class X>
concept host_matrix_view = is_tensor_v<X> && X::extents.rank == 2 && std::is_same_v<typename X::space, host>;
template <class X, class T>
concept matrix_of_type = host_matrix_view<X> && std::is_same_v<typename X::value_type, T>;

} // namespace detail

// csr_from_dense<A>(x): the elements of a matrix view that are not zero. NaN is an entry, -0 is none.
// Errors: argument_error where extents disagree with the type or exceed 2^31 - 1 (nnz: with int32 row ends), or x is
// null. Cost: two passes over x.
template <detail::host_sparse_matrix A, class X> owned<A> csr_from_dense(const X& x) {
  constexpr bool matrix = detail::matrix_of_type<X, typename A::value_type>;
  static_assert(matrix,
                "tapeless: csr_from_dense(x): x is a matrix view in host memory of the element type "
                "of the sparse one");
  static_assert(detail::are_in_rows<A>,
                "tapeless: csr_from_dense<A>(x): A is not tiled; csr_tiled(a) makes a tiled matrix of one "
                "in rows");
  if constexpr (matrix && detail::are_in_rows<A>) {
    constexpr const char* who = "csr_from_dense(x)";
    const extent_t rows = x.extent(0), cols = x.extent(1);
    detail::csr_names names(who);
    names.take_rows_and_cols<A>(rows, cols);
    if (x.data() == nullptr && x.size() > 0) detail::refuse("tapeless: %s: x is null", who);
    extent_t nnz = 0;
    for (extent_t k = 0; k < rows * cols; ++k) nnz += detail::read_element(x.data(), k) != 0 ? 1 : 0;
    names.take_nnz<A>(nnz);
    owned<A> result = detail::make_owned_csr<A>(names.values());
    auto* const values = detail::mutable_values(result);
    extent_t at = 0;
    for (extent_t i = 0; i < rows; ++i) {
      for (extent_t j = 0; j < cols; ++j)
        if (const auto value = detail::read_element(x.data(), i * cols + j); value != 0) {
          result->columns()[at] = static_cast<std::int32_t>(j);
          values[at++] = value;
        }
      result->row_end()[i] = static_cast<detail::row_end_of<A>>(at);
    }
    return result;
  } else return owned<A>();
}

// to_dense(a): an owned<tensor<T, rows, cols>>, zero where a has no entry. a is checked.
template <detail::host_sparse_matrix A> auto to_dense(const A& a) {
  static_assert(detail::are_in_rows<A>,
                "tapeless: to_dense(a): a is not tiled; csr_untiled(a) has its entries by rows");
  detail::check_csr("to_dense(a)", a);
  using dense = tensor<typename A::value_type, A::extents.d[0], A::extents.d[1]>;
  detail::csr_names names("to_dense(a)");
  names.take_rows_and_cols<A>(a.rows(), a.cols());
  owned<dense> result = [&]<std::size_t... I>(std::index_sequence<I...>) {
    return owned<dense>(dim<dense::names.name[I]>(names.values().of(dense::names.name[I]))...);
  }(std::make_index_sequence<static_cast<std::size_t>(dense::names.count)>{});
  for (extent_t i = 0; i < a.rows(); ++i)
    for (extent_t k = a.row_begin(i); k < a.row_end()[i]; ++k)
      (*result)[i * a.cols() + a.columns()[k]] = detail::read_element(a.values().data(), k);
  return result;
}

} // namespace tapeless
