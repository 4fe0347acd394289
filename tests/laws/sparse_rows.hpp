#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Patterns for the cases of sparse matrices, and the values of their arguments.
#include "sparse.hpp"

#include <doctest/doctest.h>

namespace sparse_laws {

namespace tl = tapeless;
using namespace laws;
using namespace laws::sparse;

// The rows of a pattern, each the columns of its entries. Values are the cases' own; those of the constant are not read.
struct rows_of {
  std::vector<std::vector<std::int32_t>> rows;
  void operator()(const auto& c, std::int64_t) const {
    const auto& a = std::get<0>(c);
    std::int64_t e = 0, i = 0;
    for (const auto& row : rows) {
      for (const std::int32_t j : row) a.columns()[e++] = j;
      a.row_end()[i++] = static_cast<std::int32_t>(e);
    }
    for (auto& v : a.values()) v = 0;
  }
};
inline const rows_of full_row{{{0, 1, 2, 3, 4, 5, 6}, {}, {3}, {1, 5, 6}, {}}},
    empty_column{{{}, {0, 2, 3, 6}, {0, 2}, {6}, {0, 2, 3, 5}}};

// The same in a tile, each entry a segment.
struct in_a_tile {
  rows_of of;
  void operator()(const auto& c, std::int64_t n) const {
    of(c, n);
    const auto& a = std::get<0>(c);
    std::int32_t* const tile = a.columns().data();
    const std::vector<std::int32_t> columns(tile, tile + a.nnz());
    std::int64_t e = 0, i = 0;
    for (auto& end : a.row_end()) {
      for (; e < end; ++e) {
        tl::detail::set_number_in_tile(tile, e, columns[static_cast<std::size_t>(e)]);
        tl::detail::set_number_in_tile(tile, a.nnz() + e, tl::detail::segment_number(i, 1));
      }
      ++i;
    }
    for (auto& end : a.row_end()) end = static_cast<std::int32_t>(e);
  }
};

using tl::detail::sparse_rules;

inline const std::vector<domain> anywhere{{-1, 1}}, divisors{{-1, 1}, {-1, 1}, {-1, 1}, {-1, 1}, {0.5, 1.5}},
    quotients{{-1, 1}, {0.5, 1.5}};

} // namespace sparse_laws
