// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Sets of rows by masks, against what they stand for: 2^masks kinds of rows, each kept by some of the masks.
#include <doctest/doctest.h>

#include <vector>

#include <tapeless/tapeless.hpp>

namespace {

using tapeless::detail::mask_sets;

// Bit r: rows of kind r are among them. Rows of kind r are kept by the masks that are bits of r.
template <int Masks> unsigned rows_of(const mask_sets& s) {
  unsigned rows = 0;
  for (unsigned r = 0; r < 1u << Masks; ++r) {
    bool among = !s.found();
    for (int k = 0; k < s.size(); ++k) among = among || (s[k] & ~r) == 0;
    if (among) rows |= 1u << r;
  }
  return rows;
}
// Those that up to `terms` sets of masks make.
template <int Masks> void append_supports(std::vector<mask_sets>& all, const mask_sets& s, unsigned first,
                                          int terms) {
  all.push_back(s);
  for (unsigned set = first; terms > 0 && set < 1u << Masks; ++set)
    if (mask_sets more = s; more.add(set)) append_supports<Masks>(all, more, set + 1, terms - 1);
}
template <int Masks> std::vector<mask_sets> all_supports(int terms) {
  std::vector<mask_sets> all;
  append_supports<Masks>(all, {}, 1, terms);
  return all;
}
bool holds(unsigned rows, unsigned others) { return (others & ~rows) == 0; }

} // namespace

TEST_CASE("mask_sets: the rows of one or the other, of both, and whether some are among others") {
  constexpr int masks = 3;
  const std::vector<mask_sets> all = all_supports<masks>(2);
  REQUIRE(all.size() > 25);
  for (const mask_sets& a : all)
    for (const mask_sets& b : all) {
      const unsigned x = rows_of<masks>(a), y = rows_of<masks>(b);
      // there is room: of three masks at most three sets are no subsets of each other
      CHECK(rows_of<masks>(a.united(b)) == (x | y));
      CHECK(rows_of<masks>(a.common(b)) == (x & y));
      if (a.found() && b.found()) {
        CHECK(a.includes(b) == holds(x, y));
        CHECK(a.same(b) == (x == y));
      } else CHECK_FALSE(a.includes(b));
    }
}

TEST_CASE("mask_sets: of more sets than it has room for, more rows") {
  constexpr int masks = 4; // six pairs, none of which is among another
  const std::vector<mask_sets> all = all_supports<masks>(3);
  int full = 0;
  for (const mask_sets& a : all)
    for (const mask_sets& b : all) {
      const unsigned x = rows_of<masks>(a), y = rows_of<masks>(b);
      const mask_sets either = a.united(b), both = a.common(b);
      CHECK(holds(rows_of<masks>(either), x | y));
      CHECK(holds(rows_of<masks>(both), x & y));
      if (rows_of<masks>(either) != (x | y) || rows_of<masks>(both) != (x & y)) ++full;
    }
  CHECK(full > 0);
}
