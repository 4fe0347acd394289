// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/cpu/transpose.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace tapeless::cpu;

namespace {

template <class T, bool Padded> void check(index_t rows, index_t cols, index_t from_row, index_t to_row) {
  CAPTURE(rows);
  CAPTURE(cols);
  constexpr index_t W = width<T>;
  const index_t written = Padded ? (rows + W - 1) / W * W : rows;
  std::vector<T> from(static_cast<std::size_t>((rows - 1) * from_row + cols));
  std::vector<T> to(static_cast<std::size_t>((cols - 1) * to_row + written), T(-1)), expected = to;
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<T>(i + 1);
  for (index_t j = 0; j < cols; ++j)
    for (index_t i = 0; i < written; ++i)
      expected[static_cast<std::size_t>(j * to_row + i)] =
          i < rows ? from[static_cast<std::size_t>(i * from_row + j)] : T(0);
  transpose<simd<T>, Padded>(rows, cols, from.data(), from_row, to.data(), to_row);
  CHECK(to == expected);
}

} // namespace

TEST_CASE_TEMPLATE("transpose: every remainder of a block, and nothing between the rows is touched", T, float,
                   double) {
  constexpr index_t W = width<T>;
  for (index_t rows : {index_t(1), index_t(2), W - 1, W, W + 1, 2 * W, 2 * W + 3})
    for (index_t cols : {index_t(1), index_t(3), W - 1, W, W + 1, 3 * W - 1}) {
      if (rows < 1 || cols < 1) continue;
      check<T, false>(rows, cols, cols, rows);
      check<T, false>(rows, cols, cols + 5, rows + 3);
      check<T, true>(rows, cols, cols + 1, (rows + W - 1) / W * W);
    }
}

TEST_CASE_TEMPLATE("interleave: every remainder of a block, and nothing behind the last element is touched",
                   T, float, double) {
  constexpr index_t W = width<T>;
  for (index_t rows = 1; rows <= 2 * W + 1; ++rows)
    for (index_t cols : {index_t(1), index_t(2), index_t(3), W - 1, W, W + 1, 3 * W - 1}) {
      if (cols < 1) continue;
      const index_t from_row = cols + 3, size = rows * cols;
      std::vector<T> from(static_cast<std::size_t>(rows * from_row)),
          to(static_cast<std::size_t>(size + 2 * W), T(-1));
      for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<T>(i + 1);
      interleave<simd<T>>(rows, cols, from.data(), from_row, to.data());
      bool right = true;
      for (index_t i = 0; i < rows; ++i)
        for (index_t j = 0; j < cols; ++j)
          right = right && to[static_cast<std::size_t>(j * rows + i)] ==
                               from[static_cast<std::size_t>(i * from_row + j)];
      for (std::size_t k = static_cast<std::size_t>(size); k < to.size(); ++k)
        right = right && to[k] == T(-1);
      CAPTURE(rows);
      CAPTURE(cols);
      CHECK(right);
    }
}

TEST_CASE_TEMPLATE("transpose_blocks: matrices of several tiles, and nothing between the rows is touched", T,
                   float, double) {
  for (index_t rows : {1, 15, 16, 64, 70, 131})
    for (index_t cols : {1, 16, 31, 256, 300}) {
      const index_t from_row = cols + 3, to_row = rows + 5;
      std::vector<T> from(static_cast<std::size_t>(rows * from_row)),
          to(static_cast<std::size_t>(cols * to_row), T(-1));
      for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<T>(i + 1);
      std::vector<T> expected = to;
      for (index_t i = 0; i < rows; ++i)
        for (index_t j = 0; j < cols; ++j)
          expected[static_cast<std::size_t>(j * to_row + i)] =
              from[static_cast<std::size_t>(i * from_row + j)];
      transpose_blocks<simd<T>>(rows, cols, from.data(), from_row, to.data(), to_row);
      CAPTURE(rows);
      CAPTURE(cols);
      CHECK(to == expected);
    }
}
