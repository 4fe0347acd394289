#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Sums of products, in double, and the result of a kernel that claims to compute them.
//   |result - exact| <= terms * eps * sum |a b| for every element; one without terms is exactly zero
// or, of a kernel whose element takes part in the roundings of its neighbours, in_norm * sqrt(terms) * eps * the largest sum |a b|.

#include <tapeless/core/bf16.hpp>
#include <tapeless/core/geometry.hpp>
#include <tapeless/cpu/base/thread_team.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace products {

using tapeless::cpu::index_t;

template <class T> std::vector<T> values(index_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<T> draw(-1, 1);
  std::vector<T> v(static_cast<std::size_t>(n));
  for (T& x : v) x = draw(random);
  return v;
}

inline std::vector<tapeless::bf16> rounded_values(index_t n, unsigned seed) {
  std::vector<tapeless::bf16> v;
  for (const float x : values<float>(n, seed)) v.push_back(tapeless::bf16(x));
  return v;
}

// The rows of v, n of them, as rows `list` of a larger tensor, whose other rows are NaN: first its last one, then every
// other one backwards.
template <class T> struct rows_in_a_list {
  std::vector<std::int32_t> list;
  std::vector<T> all;
  rows_in_a_list(index_t n, const std::vector<T>& v)
      : all(2 * v.size(), std::numeric_limits<T>::quiet_NaN()) {
    const auto size = n > 0 ? static_cast<std::ptrdiff_t>(v.size()) / n : 0;
    for (index_t i = 0; i < n; ++i) {
      list.push_back(static_cast<std::int32_t>(2 * (n - i) - 1));
      std::copy_n(v.begin() + i * size, size, all.begin() + list.back() * size);
    }
  }
};

struct exact_sums {
  std::vector<double> sum, size, terms;
  explicit exact_sums(index_t n) : sum(static_cast<std::size_t>(n)), size(sum), terms(sum) {}
  void add(index_t at, double a, double b) {
    sum[at] += a * b;
    size[at] += std::abs(a * b);
    terms[at] += 1;
  }
  template <class T> bool agree(const std::vector<T>& result, double in_norm = 0) const {
    if (result.size() != sum.size()) return false;
    const auto bound = [&](std::size_t i) { return terms[i] * std::numeric_limits<T>::epsilon() * size[i]; };
    double most = 0, largest = 0;
    for (std::size_t i = 0; i < sum.size(); ++i)
      most = std::max(most, terms[i]), largest = std::max(largest, size[i]);
    const double of_all = in_norm * std::sqrt(most) * std::numeric_limits<T>::epsilon() * largest;
    for (std::size_t i = 0; i < sum.size(); ++i)
      if (!(std::abs(result[i] - sum[i]) <= (in_norm > 0 ? of_all : bound(i)))) return false;
    return true;
  }
};

// op(a) op(b) over the batch.
template <class T>
exact_sums sums_of_matmul(const tapeless::matmul_extents& e, const std::vector<T>& a,
                          const std::vector<T>& b) {
  exact_sums c(e.batch * e.m * e.n);
  for (index_t z = 0; z < e.batch; ++z) {
    const T* const az = a.data() + (e.a_batched ? z * e.m * e.k : 0);
    const T* const bz = b.data() + (e.b_batched ? z * e.k * e.n : 0);
    for (index_t i = 0; i < e.m; ++i)
      for (index_t j = 0; j < e.n; ++j)
        for (index_t p = 0; p < e.k; ++p)
          c.add((z * e.m + i) * e.n + j, az[e.ta ? p * e.m + i : i * e.k + p],
                bz[e.tb ? j * e.k + p : p * e.n + j]);
  }
  return c;
}

// What kernel(team, result, scratch, shared) writes, the same on every team. The buffers have exactly the promised
// sizes, `scratch` for each member of the team, and are full of NaN before.
template <class T, class F> std::vector<T> result_of(index_t out, index_t scratch, index_t shared,
                                                     F&& kernel) {
  const auto buffer = [](index_t n) {
    return std::vector<T>(static_cast<std::size_t>(n), std::numeric_limits<T>::quiet_NaN());
  };
  const auto run = [&](const auto& team) {
    std::vector<T> y = buffer(out), each = buffer(team.size() * scratch), all = buffer(shared);
    kernel(team, y.data(), each.data(), all.data());
    return y;
  };
  const std::vector<T> y = run(tapeless::cpu::thread_team(1)), again = run(tapeless::cpu::thread_team(2));
  CHECK(std::equal(y.begin(), y.end(), again.begin(), [](T a, T b) { return a == b || (a != a && b != b); }));
  return y;
}

} // namespace products
