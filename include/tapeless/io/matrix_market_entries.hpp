// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The entries of a Matrix Market file, with those that its symmetry mirrors.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>
#include <vector>
#include "../run/csr_build.hpp"
#include "matrix_market_text.hpp"

namespace tapeless::detail::matrix_market {

template <class T>
concept number_with_sign =
    std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, std::int32_t>;

// The value of an entry or element.   @pre f is not pattern
template <class T> T value_of(const reader& in, field f, std::string_view text) {
  constexpr const char* what = "value";
  if constexpr (std::is_integral_v<T>) {
    if (in.strict || text.find_first_of(".dDeEnN") == std::string_view::npos) return in.number<T>(what, text);
    const double x = in.number<double>(what, text); // 3.0
    if (x != std::trunc(x))
      in.fail(what, " '", reader::shortened(text), "' is not whole, as an std::int32_t is");
    if (!(std::abs(x) <= 0x1p31 && x != 0x1p31))
      in.fail(what, " '", reader::shortened(text), "' is out of range");
    return static_cast<T>(x);
  } else if (f == field::integer && in.strict) {
    return static_cast<T>(in.number<std::int64_t>(what, text));
  } else {
    const T x = in.number<T>(what, text);
    if (f == field::integer && !(std::isfinite(x) && x == std::trunc(x))) in.fail_expected(what, text);
    return x;
  }
}

// The entries of a file as triplets. A mirrored entry follows its own.
template <class T> struct entries_of {
  reader& in;
  banner b;
  std::int64_t rows, cols;
  std::vector<triplet<T>> all;
  bool below = false, above = false; // are there entries below or above the diagonal?

  // i, j: counted from 1   @pre they are in the matrix
  void add(std::int64_t i, std::int64_t j, T value) {
    const auto r = static_cast<std::int32_t>(i - 1), c = static_cast<std::int32_t>(j - 1);
    const bool skew = b.symmetry == symmetry::skew;
    all.push_back({r, c, value});
    if (b.symmetry == symmetry::general) return;
    (j > i ? above : below) |= i != j;
    if (j > i && in.strict)
      in.fail("row ", i, ", column ", j, ": a symmetric file has no entries above the diagonal");
    if (skew && i == j && (in.strict || value != T{}))
      in.fail("row ", i, ": a skew-symmetric file has no entries on the diagonal",
              in.strict ? "" : " but zeros");
    if constexpr (std::is_integral_v<T>)
      if (skew && value == std::numeric_limits<T>::min()) in.fail("value ", value, " has no negative");
    if (i != j) all.push_back({c, r, skew ? static_cast<T>(-value) : value});
  }
  // A symmetric file may not hold an element in both triangles: the sum would double it.
  void require_one_side() const {
    if (!above || !below) return;
    std::vector<std::uint64_t> lower, upper; // column and row; row and column
    for (std::size_t k = 0; k < all.size(); k += all[k].row == all[k].col ? 1 : 2) {
      const auto r = static_cast<std::uint64_t>(all[k].row), c = static_cast<std::uint64_t>(all[k].col);
      if (r > c) lower.push_back(c << 32 | r);
      else if (r < c) upper.push_back(r << 32 | c);
    }
    std::sort(lower.begin(), lower.end());
    for (const std::uint64_t key : upper)
      if (std::binary_search(lower.begin(), lower.end(), key))
        in.fail("a symmetric file holds row ", (key >> 32) + 1, ", column ", (key & 0xffffffffu) + 1,
                " and its mirror image");
  }
};

template <class T> void read_coordinates(entries_of<T>& to, std::int64_t entries) {
  reader& in = to.in;
  for (std::int64_t k = 0; k < entries; ++k) {
    if (!in.next_content()) in.fail_truncated(k, entries, "entries");
    const auto i = in.number<std::int64_t>("row");
    const auto j = in.number<std::int64_t>("column");
    if (i < 1 || i > to.rows) in.fail("row ", i, " is outside [1, ", to.rows, "]");
    if (j < 1 || j > to.cols) in.fail("column ", j, " is outside [1, ", to.cols, "]");
    T value{1};
    if (to.b.field != field::pattern) value = value_of<T>(in, to.b.field, in.next_field());
    else if (!in.strict) // some files have a weight here; it is not used
      if (const std::string_view weight = in.next_field(); !weight.empty())
        in.number<double>("weight", weight);
    in.expect_end_of_line();
    to.add(i, j, value);
  }
  to.require_one_side();
}
// A zero makes no entry.
template <class T> void read_array(entries_of<T>& to, std::int64_t values) {
  reader& in = to.in;
  std::int64_t k = 0;
  for (std::int64_t j = 1; j <= to.cols; ++j) {
    const auto begin = to.b.symmetry == symmetry::general     ? 1
                       : to.b.symmetry == symmetry::symmetric ? j
                                                              : j + 1;
    for (std::int64_t i = begin; i <= to.rows; ++i, ++k) {
      std::string_view text = in.next_field();
      while (text.empty()) {
        if (!in.next_content()) in.fail_truncated(k, values, "values");
        text = in.next_field();
      }
      if (const T value = value_of<T>(in, to.b.field, text); value != T{}) to.add(i, j, value);
    }
  }
  in.expect_end_of_line();
}

} // namespace tapeless::detail::matrix_market
