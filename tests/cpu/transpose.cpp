// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/cpu/base/transpose.hpp>

#include <doctest/doctest.h>

#include <tapeless/tapeless.hpp>
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
  constexpr index_t page = 4096 / static_cast<index_t>(sizeof(T));
  for (index_t rows : {W, 4 * W + 3, 9 * W}) // several groups of rows, and of lines
    for (index_t cols : {index_t(16), index_t(67), index_t(130)}) {
      check<T, false>(rows, cols, cols, rows);
      check<T, false>(rows, cols, page, rows + 1); // rows that share the sets of a cache
      check<T, true>(rows, cols, page, 10 * W);
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
      // past the caches, where rows are whole lines
      const index_t line = (rows + 15) / 16 * 16;
      tapeless::owned<tapeless::tensor<T, 300 * 144>> lines; // aligned
      std::fill_n((*lines).data(), cols * line, T(-1));
      transpose_blocks<simd<T>, true>(rows, cols, from.data(), from_row, (*lines).data(), line);
      end_stores_past_caches();
      bool equal = true;
      for (index_t j = 0; j < cols; ++j)
        for (index_t i = 0; i < line; ++i)
          equal = equal && (*lines).data()[j * line + i] ==
                               (i < rows ? from[static_cast<std::size_t>(i * from_row + j)] : T(-1));
      CHECK(equal);
    }
}

TEST_CASE("transpose: a program's copies in another order, from a part of the operand, of any element type") {
  namespace tl = tapeless;
  const auto number = [](const auto& view) {
    int i = 0;
    for (auto& x : view) x = static_cast<std::remove_cvref_t<decltype(x)>>(i++);
  };
  constexpr auto part = [](auto x) { return tl::transpose(tl::slice<1, 3, 190>(x)); };
  constexpr auto nhwc = [](auto x) { return tl::transpose<0, 2, 3, 1>(x); };
  constexpr auto exchange = [](auto x) { return tl::transpose(x); };
  for (const int threads : {1, 2}) {
    using matrix = tl::tensor<float, 300, 200>; // several chunks of rows
    tl::owned<matrix> x;
    number(*x);
    auto bound = tl::jit(part).bind<matrix>(tl::threads(threads));
    const auto y = bound(*x);
    bool right = true;
    for (int i = 0; i < 187; ++i)
      for (int j = 0; j < 300; ++j)
        right = right && y.data()[i * 300 + j] == static_cast<float>(j * 200 + i + 3);
    CHECK(right);
  }
  {
    using images = tl::tensor<double, 2, 20, 17, 19>;
    tl::owned<images> x;
    number(*x);
    auto bound = tl::jit(nhwc).bind<images>();
    const auto y = bound(*x);
    bool right = true;
    for (int n = 0; n < 2; ++n)
      for (int c = 0; c < 20; ++c)
        for (int p = 0; p < 323; ++p)
          right = right && y.data()[(n * 323 + p) * 20 + c] == (n * 20 + c) * 323 + p;
    CHECK(right);
  }
  {
    using labels = tl::tensor<std::int32_t, 40, 50>;
    tl::owned<labels> x;
    number(*x);
    auto bound = tl::jit(exchange).bind<labels>();
    const auto y = bound(*x);
    bool right = true;
    for (int i = 0; i < 50; ++i)
      for (int j = 0; j < 40; ++j) right = right && y.data()[i * 40 + j] == j * 50 + i;
    CHECK(right);
  }
}

TEST_CASE_TEMPLATE("load_apart and store_apart: every second or fourth element, and back", T, float, double) {
  constexpr index_t W = width<T>;
  const auto round_trip = []<int N>(std::integral_constant<int, N>) {
    std::vector<T> from(static_cast<std::size_t>(N * W)), to = from;
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<T>(i + 1);
    simd<T> parts[N];
    load_apart(from.data(), parts);
    for (index_t f = 0; f < N; ++f) {
      std::vector<T> part(static_cast<std::size_t>(W));
      store(part.data(), parts[f]);
      for (index_t j = 0; j < W; ++j)
        CHECK(part[static_cast<std::size_t>(j)] == static_cast<T>(j * N + f + 1));
    }
    store_apart(to.data(), parts);
    CHECK(to == from);
  };
  round_trip(std::integral_constant<int, 2>{});
  round_trip(std::integral_constant<int, 4>{});
}
