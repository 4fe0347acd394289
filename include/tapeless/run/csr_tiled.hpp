// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// csr_tiled(a): the same matrix in tiles (core/csr_tiles.hpp), for programs that read it many times.
// csr_untiled(t): the matrix in rows again.   csr_untiled(*csr_tiled(a)) == a
#pragma once
#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>
#include "../core/csr.hpp"
#include "../core/csr_tiles.hpp"
#include "../core/extent.hpp"
#include "csr.hpp"
#include "csr_build.hpp"
#include "memory.hpp"

namespace tapeless {
namespace detail {

// An entry of a tile; a segment of a tile: `length` entries of one row, the first of which is entry `first`.
template <class T> struct tile_entry {
  std::uint16_t row, col;
  T value;
};
struct tile_segment {
  extent_t row, length, first;
};
// Cuts n entries, sorted by rows, into segments, and sorts these by length, longest first. `by_rows` is scratch.
template <class T> void cut_tile(const tile_entry<T>* entries, extent_t n, std::vector<tile_segment>& by_rows,
                                 std::vector<tile_segment>& segments) {
  extent_t begin[longest_segment + 2] =
      {}; // where the segments of length l begin: begin[longest_segment - l]
  by_rows.clear();
  for (extent_t e = 0; e < n;) {
    const extent_t first = e;
    while (e < n && e - first < longest_segment && entries[e].row == entries[first].row) ++e;
    by_rows.push_back({entries[first].row, e - first, first});
    ++begin[longest_segment - (e - first) + 1];
  }
  for (extent_t l = 1; l <= longest_segment; ++l) begin[l] += begin[l - 1];
  segments.resize(by_rows.size());
  for (const tile_segment& s : by_rows)
    segments[static_cast<std::size_t>(begin[longest_segment - s.length]++)] = s;
}
template <class T, class A, class RowEnd> using csr_with_ends =
    basic_csr<T, A::extents.d[0], A::extents.d[1], A::values_type::extents.d[0], host, RowEnd>;
template <class A>
concept is_a_tiled_matrix = is_tiled_v<A>;
template <class A>
concept of_float_or_double =
    std::is_same_v<typename A::value_type, float> || std::is_same_v<typename A::value_type, double>;

// The names of A with their values, where A has the extents of b.
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

// owned<csr<T, rows, cols, nnz, tiled>> t = csr_tiled(a): a copy of a with its entries in tiles. a is checked.
// A program takes *t wherever it takes a, with the exceptions that the documentation names. values() are in tile order.
// Errors: argument_error as by csr_check(a), and where there are 2^31 entries or more or too many columns: more than
// 65536 for each row, from 2^26 columns on perhaps fewer.
// Cost: three passes over the entries, and a second copy of the entries of one block of rows.
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
    refuse("tapeless: %s: %lld columns are too many for %lld rows: at most 65536 for each", who,
           wide(a.cols()), wide(a.rows()));
  owned<B> result = make_owned_csr<B>(names_of_matrix<B>(who, a));
  T* const values = mutable_values(result);
  std::int32_t *const numbers = result->columns().data(), *const end = result->row_end().data();
  std::vector<extent_t> at(
      static_cast<std::size_t>(t.col_blocks)); // for each tile: where its next entry goes
  std::vector<extent_t> begin(at.size() + 1);
  std::vector<tile_entry<T>> sorted; // the entries of a block, by tiles and rows
  std::vector<tile_segment> by_rows, segments;
  std::fill_n(numbers, a.nnz(), 0);
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
    sorted.resize(std::max(sorted.size(), static_cast<std::size_t>(last - first)));
    for (extent_t i = lo; i < hi; ++i)
      for (extent_t e = a.row_begin(i); e < a.row_end()[i]; ++e) {
        const extent_t j = a.columns()[e], k = j >> t.col_bits;
        sorted[static_cast<std::size_t>(at[static_cast<std::size_t>(k)]++)] = {
            static_cast<std::uint16_t>(i - lo), static_cast<std::uint16_t>(j - t.first_col(k)),
            read_element(a.values().data(), e)};
      }
    for (std::size_t k = 0; k < at.size(); ++k) {
      const extent_t n = begin[k + 1] - begin[k];
      const tile_entry<T>* const entries = sorted.data() + begin[k];
      std::int32_t* const tile = numbers + first + begin[k];
      T* const tile_values = values + first + begin[k];
      cut_tile(entries, n, by_rows, segments);
      extent_t at_number = n;
      for (const tile_segment& s : segments)
        set_number_in_tile(tile, at_number++, segment_number(s.row, s.length));
      each_segment(tile, n, [&, s = segments.data()](extent_t, extent_t length, auto place) mutable {
        for (extent_t p = 0; p < length; ++p) {
          const tile_entry<T>& from = entries[s->first + p];
          set_number_in_tile(tile, place(p), from.col);
          tile_values[place(p)] = from.value;
        }
        ++s;
      });
    }
  }
  return result;
}

// owned<csr<T, rows, cols, nnz>> a = csr_untiled(t): the entries by rows again.
// It also takes what a program returns: a gradient with respect to a tiled matrix has the same tiles.
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
        const std::int32_t* const tile = b.columns().data() + begin;
        each_segment(tile, n, [&](extent_t row, extent_t length, auto place) {
          for (extent_t p = 0; p < length; ++p)
            act(lo + row, t.first_col(k) + number_in_tile(tile, place(p)), begin + place(p));
        });
      }
  };
  std::int32_t* const end = result->row_end().data();
  each_entry([&](extent_t i, extent_t, extent_t) { ++end[i]; });
  std::int32_t before = 0;
  for (extent_t i = 0; i < t.rows; ++i) before += std::exchange(end[i], before); // counts become begins
  each_entry([&](extent_t i, extent_t j, extent_t e) {                           // and, entry by entry, ends
    const extent_t to = end[i]++;
    result->columns()[to] = static_cast<std::int32_t>(j);
    mutable_values(result)[to] = read_element(b.values().data(), e);
  });
  return result;
}

} // namespace tapeless
