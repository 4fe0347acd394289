// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// csr_tiled(a): the same matrix in tiles (core/csr_tiles.hpp), for programs that pass over it many times.
// csr_untiled(t): back.   csr_untiled(*csr_tiled(a)) == a
// A tile's entries, taken by rows, are dealt to 16 runs of equal lengths, which alternate: neighbours are of different
// rows, and of columns far apart, so that no sum waits for the one before it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>
#include "../core/csr_tiles.hpp"
#include "csr_build.hpp"

namespace tapeless {
namespace detail {

inline constexpr extent_t runs_of_tile = 16;

// f(k, p) for the entries of a tile of n: the k-th by rows stands at place p
template <class F> void each_place_in_tile(extent_t n, F f) {
  const extent_t length = n / runs_of_tile;
  extent_t k = 0;
  for (extent_t run = 0; run < runs_of_tile; ++run)
    for (extent_t p = 0; p < length; ++p) f(k++, p * runs_of_tile + run);
  for (; k < n; ++k) f(k, k);
}
template <class T, class A, class RowEnd> using csr_with_ends =
    basic_csr<T, A::extents.d[0], A::extents.d[1], A::values_type::extents.d[0], host, RowEnd>;
template <class A>
concept is_a_tiled_matrix = is_tiled_v<A>;
template <class A>
concept of_float_or_double =
    std::is_same_v<typename A::value_type, float> || std::is_same_v<typename A::value_type, double>;

// What the names of A stand for: its extents are those of b.
template <class A, class B> name_values names_of_matrix(const char* who, const B& b) {
  csr_names names(who);
  names.take_rows_and_cols<A>(b.rows(), b.cols());
  names.take_nnz<A>(b.nnz());
  return names.values();
}
template <class A> tiling tiling_of_matrix(const A& a) {
  return tiling_of(a.rows(), a.cols(), a.nnz(), static_cast<extent_t>(sizeof(typename A::value_type)));
}

} // namespace detail

// owned<csr<T, rows, cols, nnz, tiled>> t = csr_tiled(a): a copy of a, its entries in tiles; a is checked.
// A program takes *t wherever it takes a, but for what its documentation names; its values() stand in this order.
// Errors: argument_error as of csr_check(a), where there are 2^31 entries or more, or too many columns: more than 65536
// for each row; from 2^26 columns on perhaps fewer.
// Cost: three passes over the entries, a second copy of them for a block of rows.
template <detail::host_sparse_matrix A> auto csr_tiled(const A& a) {
  using namespace detail;
  static_assert(are_in_rows<A>, "tapeless: csr_tiled(a): a is in rows; this one is tiled already");
  static_assert(of_float_or_double<A>, "tapeless: csr_tiled(a): the entries of a are float or double");
  constexpr const char* who = "csr_tiled(a)";
  using T = typename A::value_type;
  using B = csr_with_ends<T, A, tiled>;
  check_csr(who, a);
  const tiling t = tiling_of_matrix(a);
  if (!t.fits())
    refuse("tapeless: %s: %lld columns are too many for %lld rows", who, wide(a.cols()), wide(a.rows()));
  owned<B> result = make_owned_csr<B>(names_of_matrix<B>(who, a));
  T* const values = mutable_values(result);
  std::int32_t *const place = result->columns().data(), *const end = result->row_end().data();
  std::vector<extent_t> at(static_cast<std::size_t>(t.col_blocks)); // of each tile: where its next entry goes
  std::vector<extent_t> begin(at.size() + 1);
  std::vector<std::int32_t> places;
  std::vector<T> sorted;
  for (extent_t q = 0; q < t.row_blocks; ++q) {
    const extent_t lo = t.first_row(q), hi = t.first_row(q + 1), first = a.row_begin(lo);
    const extent_t last = a.row_end()[hi - 1];
    std::fill(at.begin(), at.end(), extent_t{0});
    for (extent_t e = first; e < last; ++e) ++at[static_cast<std::size_t>(a.columns()[e] >> t.col_bits)];
    begin[0] = 0;
    for (std::size_t k = 0; k < at.size(); ++k) {
      begin[k + 1] = begin[k] + at[k];
      at[k] = begin[k];
      end[lo + static_cast<extent_t>(k)] = static_cast<std::int32_t>(first + begin[k + 1]);
    }
    std::fill(end + lo + t.col_blocks, end + hi, static_cast<std::int32_t>(last));
    places.resize(std::max(places.size(), static_cast<std::size_t>(last - first)));
    sorted.resize(places.size());
    for (extent_t i = lo; i < hi; ++i)
      for (extent_t e = a.row_begin(i); e < a.row_end()[i]; ++e) {
        const extent_t j = a.columns()[e], k = j >> t.col_bits;
        const std::size_t to = static_cast<std::size_t>(at[static_cast<std::size_t>(k)]++);
        places[to] = place_in_tile(i - lo, j - t.first_col(k));
        sorted[to] = a.values()[e];
      }
    for (std::size_t k = 0; k < at.size(); ++k)
      each_place_in_tile(begin[k + 1] - begin[k], [&](extent_t from, extent_t p) {
        const std::size_t s = static_cast<std::size_t>(begin[k] + from);
        place[first + begin[k] + p] = places[s];
        values[first + begin[k] + p] = sorted[s];
      });
  }
  return result;
}

// owned<csr<T, rows, cols, nnz>> a = csr_untiled(t): the entries by rows again.
// Also of what a program returns: a gradient with respect to the entries of a tiled matrix is tiled as they are.
// @pre the pattern of t is that of a csr_tiled(a)
// Cost: three passes over the entries.
template <detail::host_sparse_matrix B> auto csr_untiled(const B& b) {
  using namespace detail;
  static_assert(is_a_tiled_matrix<B>, "tapeless: csr_untiled(t): t is tiled; this one is in rows already");
  using A = csr_with_ends<typename B::value_type, B, std::int32_t>;
  owned<A> result = make_owned_csr<A>(names_of_matrix<A>("csr_untiled(t)", b));
  const tiling t = tiling_of_matrix(b);
  const auto each_entry = [&](auto act) { // act(row, column, entry), the columns of each row ascending
    for (extent_t q = 0; q < t.row_blocks; ++q)
      for (extent_t k = 0; k < t.col_blocks; ++k) {
        const extent_t lo = t.first_row(q), begin = b.row_begin(lo + k), n = b.row_end()[lo + k] - begin;
        each_place_in_tile(n, [&](extent_t, extent_t p) {
          const std::int32_t w = b.columns()[begin + p];
          act(lo + row_in_tile(w), t.first_col(k) + col_in_tile(w), begin + p);
        });
      }
  };
  std::int32_t* const end = result->row_end().data();
  each_entry([&](extent_t i, extent_t, extent_t) { ++end[i]; });
  std::int32_t before = 0;
  for (extent_t i = 0; i < t.rows; ++i) before += std::exchange(end[i], before); // counts become begins
  each_entry([&](extent_t i, extent_t j, extent_t e) {                           // and, by steps, ends
    const extent_t to = end[i]++;
    result->columns()[to] = static_cast<std::int32_t>(j);
    mutable_values(result)[to] = b.values()[e];
  });
  return result;
}

} // namespace tapeless
