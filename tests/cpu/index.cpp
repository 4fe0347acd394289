// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/cpu/move/index.hpp>
#include <tapeless/cpu/base/thread_team.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

using namespace tapeless::cpu;

namespace {

std::size_t size_of(index_t n) { return static_cast<std::size_t>(n); }

template <class T> bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

// Rows of `inner` numbers each: those with at most 32 hits bit for bit, the others as near as the law of sums allows.
template <class T> bool same_sums(const std::vector<T>& sums, const std::vector<T>& naive,
                                  const std::vector<index_t>& hits, index_t inner) {
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const index_t n = hits[i / size_of(inner)];
    if (!std::is_floating_point_v<T> || n <= 32) {
      if (std::memcmp(&sums[i], &naive[i], sizeof(T)) != 0) return false;
    } else { // the naive loop itself is off by n eps / 2
      const double most = static_cast<double>(n) * 101 * static_cast<double>(n) * 0.6 *
                          static_cast<double>(std::numeric_limits<T>::epsilon());
      if (!(std::fabs(static_cast<double>(sums[i]) - static_cast<double>(naive[i])) <= most)) return false;
    }
  }
  return true;
}

// gather and scatter_add against naive loops; results are filled with something else before
template <class T, class Team> void check_moves(const Team& team) {
  std::mt19937 random(11);
  struct extents {
    index_t outer, n, count, inner;
  };
  for (const extents e :
       {extents{1, 0, 5, 3}, {1, 5, 0, 3},      {2, 5, 4, 0},      {0, 5, 4, 3},       {1, 1, 1, 1},
        {1, 300, 40000, 1},  {3, 70, 9001, 2},  {2, 50, 12000, 3}, {1, 64, 9000, 4},   {5, 40, 3000, 5},
        {1, 100, 1500, 31},  {1, 100, 900, 32}, {3, 20, 200, 48},  {1, 300, 200, 100}, {2, 30, 100, 257},
        {1, 3, 7, 5000},     {2, 6, 5, 1023},   {2, 6, 5, 1024},   {1, 6, 9, 2057},    {40, 8, 6, 200}}) {
    CAPTURE(e.outer);
    CAPTURE(e.n);
    CAPTURE(e.count);
    CAPTURE(e.inner);
    std::vector<std::int32_t> at(size_of(e.count)); // with repetitions
    for (std::int32_t& k : at) k = e.n == 0 ? 0 : static_cast<std::int32_t>(random() % size_of(e.n));
    const auto numbers = [&](index_t n) {
      std::vector<T> v(size_of(n));
      for (T& x : v) x = static_cast<T>(std::uniform_real_distribution<double>(-100, 100)(random));
      return v;
    };
    const index_t few = e.outer * e.n * e.inner, many = e.outer * e.count * e.inner;
    const std::vector<T> x = numbers(few), y = numbers(many);
    std::vector<T> gathered = numbers(many), scattered = numbers(few);
    std::vector<T> lost = numbers(few);
    std::vector<std::uint8_t> hit_bytes(size_of(e.outer * e.n), 77);
    std::vector<index_t> hits(size_of(e.outer * e.n));
    std::vector<T> gathered_naively(size_of(many)), scattered_naively(size_of(few)), added_naively = x;
    if (e.n > 0)
      for (index_t o = 0; o < e.outer; ++o)
        for (index_t j = 0; j < e.count; ++j) {
          ++hits[size_of(o * e.n + at[size_of(j)])];
          for (index_t i = 0; i < e.inner; ++i) {
            const std::size_t taken = size_of((o * e.n + at[size_of(j)]) * e.inner + i);
            const std::size_t of_row = size_of((o * e.count + j) * e.inner + i);
            gathered_naively[of_row] = x[taken];
            scattered_naively[taken] += y[of_row];
            added_naively[taken] += y[of_row];
          }
        }
    gather_axis(team, e.outer, e.n, e.count, e.inner, x.data(), at.data(), gathered.data());
    CHECK(same_bits(gathered, gathered_naively));
    const auto scatter = [&](const T* base) {
      scatter_add_axis(team, e.outer, e.n, e.count, e.inner, y.data(), at.data(), base, scattered.data(),
                       lost.data(), hit_bytes.data());
      return scattered;
    };
    CHECK(same_sums(scatter(nullptr), scattered_naively, hits, e.inner));
    CHECK(same_sums(scatter(x.data()), added_naively, hits, e.inner));
    scattered = x;
    CHECK(same_sums(scatter(scattered.data()), added_naively, hits, e.inner));
  }
}

} // namespace

TEST_CASE_TEMPLATE("gather, scatter_add: the naive loop bit for bit up to 32 terms, whatever the team", T,
                   float, double, std::int32_t) {
  check_moves<T>(serial_team());
  for (const int threads : {1, 2, 3}) check_moves<T>(thread_team(threads));
}
