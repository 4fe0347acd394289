// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include "sparse.hpp"

#include <doctest/doctest.h>

namespace tl = tapeless;
using namespace laws;
using namespace laws::sparse;

namespace {

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
const rows_of full_row{{{0, 1, 2, 3, 4, 5, 6}, {}, {3}, {1, 5, 6}, {}}},
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
static_assert(covers(sparse_rules, products, tiles) && counts(sparse_rules, products, tiles));
static_assert(covers(sparse_rules, dense, tiles_by_dense) && counts(sparse_rules, dense, tiles_by_dense));

static_assert(covers(tl::detail::sparse_dense_rules, by_entries)); // they have no flops to compare

const std::vector<domain> anywhere{{-1, 1}}, divisors{{-1, 1}, {-1, 1}, {-1, 1}, {-1, 1}, {0.5, 1.5}},
    quotients{{-1, 1}, {0.5, 1.5}};

} // namespace

TEST_CASE("sparse: the laws of products with vectors hold") {
  check_laws(products, no_names, anywhere, full_row);
  check_laws(products, no_names, anywhere, empty_column);
}
TEST_CASE("sparse: the laws of products with matrices hold") {
  check_laws(dense, no_names, anywhere, full_row);
  check_laws(dense, no_names, anywhere, empty_column);
}
TEST_CASE("sparse: the laws of tiled matrices hold") {
  check_laws(tiles, no_names, anywhere, in_a_tile{full_row});
  check_laws(tiles, no_names, anywhere, in_a_tile{empty_column});
  check_laws(tiles_by_dense, no_names, anywhere, in_a_tile{full_row});
}
TEST_CASE("sparse: the laws of ops entry by entry hold") {
  check_laws(entries, no_names, divisors, full_row);
  check_laws(entries, no_names, divisors, empty_column);
}
TEST_CASE("sparse: the laws of ops with a dense matrix of its extents hold") {
  check_laws(by_entries, no_names, quotients, full_row);
  check_laws(by_entries, no_names, quotients, empty_column);
  check_laws(by_entries_in_tiles, no_names, quotients, in_a_tile{full_row});
}
TEST_CASE("sparse: the laws of products with scaled matrices hold") {
  check_laws(scalings, no_names, anywhere, full_row);
  check_laws(scalings, no_names, anywhere, empty_column);
}
TEST_CASE("sparse: the laws hold for one entry and for none") {
  check_laws(with<vector_arguments<double, 1, 1, 1>, pattern_constant<double, 1, 1, 1>>(products), no_names,
             anywhere, rows_of{{{0}}});
  check_laws(with<vector_arguments<double, 3, 4, 0>, pattern_constant<double, 3, 4, 0>>(products), no_names,
             anywhere, rows_of{{{}, {}, {}}});
  check_laws(with<dense_arguments<double, 1, 1, 1>, pattern_constant<double, 1, 1, 1>>(by_entries), no_names,
             quotients, rows_of{{{0}}});
  check_laws(with<dense_arguments<double, 3, 4, 0>, pattern_constant<double, 3, 4, 0>>(by_entries), no_names,
             quotients, rows_of{{{}, {}, {}}});
}
TEST_CASE("sparse: float equals the reference") {
  check_values(with<vector_arguments<float, 5, 7, 11>, pattern_constant<float, 5, 7, 11>>(products), no_names,
               anywhere, full_row);
  check_values(with<vector_arguments<float, 5, 7, 11>, pattern_constant<float, 5, 7, 11>>(entries), no_names,
               divisors, full_row);
  check_values(with<dense_arguments<float, 5, 7, 11>, pattern_constant<float, 5, 7, 11>>(by_entries),
               no_names, quotients, full_row);
  check_values(with<matrix_arguments<float, 5, 7, 11>, pattern_constant<float, 5, 7, 11>>(dense), no_names,
               anywhere, full_row);
}
