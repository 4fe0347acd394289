// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/cpu/move/argmax.hpp>
#include <tapeless/cpu/base/thread_team.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <vector>

using namespace tapeless::cpu;

namespace {

std::size_t size_of(index_t n) { return static_cast<std::size_t>(n); }

// The first maximum or minimum of x (before, n, after); a NaN counts as either.
template <class T>
std::vector<std::int32_t> naive(index_t before, index_t n, index_t after, bool least, const T* x) {
  std::vector<std::int32_t> y;
  for (index_t o = 0; o < before; ++o)
    for (index_t j = 0; j < after; ++j) {
      const T* const p = x + o * n * after + j;
      index_t best = 0;
      for (index_t i = 1; i < n; ++i) {
        const T v = p[i * after], b = p[best * after];
        if ((least ? v < b : v > b) || (v != v && b == b)) best = i;
      }
      y.push_back(static_cast<std::int32_t>(best));
    }
  return y;
}
template <class T> std::vector<std::int32_t> of_axis(index_t before, index_t n, index_t after, bool least,
                                                     const T* x) {
  tapeless::shape s;
  s.rank = 3;
  s.d[0] = before, s.d[1] = n, s.d[2] = after;
  std::vector<std::int32_t> y(size_of(before * after), -1), z(y);
  argmax_axes(serial_team{}, s, 2, least, x, y.data());
  argmax_axes(thread_team(3), s, 2, least, x, z.data());
  CHECK(y == z);
  return y;
}
template <class T> void compare(index_t before, index_t n, index_t after, const T* x) {
  CAPTURE(before);
  CAPTURE(n);
  CAPTURE(after);
  for (const bool least : {false, true})
    CHECK(of_axis(before, n, after, least, x) == naive(before, n, after, least, x));
}

} // namespace

TEST_CASE_TEMPLATE("argmax: that of the naive loop for any extents, with many equal ones", T, float, double,
                   std::int32_t, bool) {
  std::mt19937 random(5);
  constexpr index_t W = width<float>;
  for (const index_t n :
       {index_t{1}, index_t{2}, W - 1, W, W + 1, 4 * W + 3, 64 * W, 64 * W + 1, 200 * W - 1})
    for (const index_t after : {index_t{1}, index_t{2}, W - 1, W, W + 1, 16 * W, 16 * W + 1, 33 * W - 1}) {
      if (n * after > 20000) continue;
      const index_t before = n * after < 1000 ? 3 : 1, size = before * n * after;
      const auto x = std::make_unique<T[]>(size_of(size)); // no element beyond is there to be read
      for (const unsigned values : {2u, 1000000u}) {
        for (index_t i = 0; i < size; ++i)
          x[size_of(i)] = static_cast<T>(static_cast<int>(random() % values) - static_cast<int>(values / 2));
        compare(before, n, after, x.get());
      }
    }
}
TEST_CASE_TEMPLATE("argmax: the first NaN, the first of two zeros, infinities, in each lane and block", T,
                   float, double) {
  constexpr T nan = std::numeric_limits<T>::quiet_NaN(), inf = std::numeric_limits<T>::infinity();
  constexpr index_t W = width<T>, n = 130 * W + 3;
  std::vector<T> x(size_of(n));
  for (const T all : {T(-0.0), -inf, inf, nan, T(7)})
    for (const T one : {T(0), inf, -inf, nan, -nan})
      for (index_t i = 0; i < n; i += i < 2 * W ? 1 : 1 + i / 7) {
        std::fill(x.begin(), x.end(), all);
        x[size_of(i)] = x[size_of(n - 1)] = one;
        if (i > 0) x[size_of(i - 1)] = -one;
        compare(1, n, 1, x.data());
        compare(1, 2, n / 2, x.data());
        compare(2, n / 10, 5, x.data());
        compare(1, n / (W + 1), W + 1, x.data());
      }
}
TEST_CASE("argmin of int32: the least and the greatest number") {
  constexpr std::int32_t low = std::numeric_limits<std::int32_t>::min(),
                         high = std::numeric_limits<std::int32_t>::max();
  std::vector<std::int32_t> x(77, high);
  x[30] = x[50] = low;
  compare(1, 77, 1, x.data());
  compare(1, 7, 11, x.data());
}
TEST_CASE("argmax of axes that are no neighbours, and of those of extent 1") {
  tapeless::shape s;
  s.rank = 4;
  s.d[0] = 3, s.d[1] = 1, s.d[2] = 5, s.d[3] = 7;
  std::vector<float> x(105, 1);
  x[1 * 35 + 2 * 7 + 4] = 2, x[2 * 35 + 2 * 7 + 4] = 2, x[2 * 35 + 3 * 7 + 1] = 9;
  std::vector<std::int32_t> y(5);
  argmax_axes(serial_team{}, s, 0b1011, false, x.data(), y.data());
  CHECK(y == std::vector<std::int32_t>{0, 0, 7 + 4, 14 + 1, 0});
  argmax_axes(serial_team{}, s, 0b1011, true, x.data(), y.data());
  CHECK(y == std::vector<std::int32_t>{0, 0, 0, 0, 0});
  y.assign(3, -1);
  argmax_axes(serial_team{}, s, 0b1110, false, x.data(), y.data());
  CHECK(y == std::vector<std::int32_t>{
                 0,
                 18,
                 22,
             });
  y.assign(105, -1);
  argmax_axes(serial_team{}, s, 0b0010, false, x.data(), y.data());
  CHECK(y == std::vector<std::int32_t>(105, 0));
}
