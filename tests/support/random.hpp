#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Random test data that is the same on every machine: splitmix64 from a fixed seed, uniform in [-1, 1].
// well_separated: for max, relu and sort, whose kinks finite differences must not cross.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace support {

class splitmix64 {
public:
  constexpr explicit splitmix64(std::uint64_t seed) : state_(seed) {}

  constexpr std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  // In [-1, 1): the upper 53 bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-52 - 1.0; }

  // In 0 .. n - 1; the bias of the remainder is below n / 2^64.
  constexpr std::uint64_t below(std::uint64_t n) { return next() % n; }

private:
  std::uint64_t state_;
};

template <class T = double>
std::vector<T> random_values(std::size_t n, std::uint64_t seed, double lo = -1, double hi = 1) {
  splitmix64 random(seed);
  std::vector<T> values(n);
  for (T& value : values) value = static_cast<T>(lo + (hi - lo) * (random.uniform() + 1) / 2);
  return values;
}

// Integers in lo .. hi - 1, e.g. labels and row numbers.
inline std::vector<std::int32_t> random_integers(std::size_t n, std::uint64_t seed, std::int32_t lo,
                                                 std::int32_t hi) {
  splitmix64 random(seed);
  std::vector<std::int32_t> values(n);
  for (std::int32_t& value : values)
    value = static_cast<std::int32_t>(
        lo + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(hi - lo))));
  return values;
}

// 0 .. n - 1 in random order (Fisher and Yates).
inline std::vector<std::size_t> random_permutation(std::size_t n, std::uint64_t seed) {
  splitmix64 random(seed);
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = i;
  for (std::size_t i = n; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

// n values in [-1, 1] that differ pairwise, and from 0, by at least 1 / (4 n): the points (2 k + 1.5) / n - 1
// in random order, moved by at most 0.2 / n. The nearest to 0 is 0.5 / n away before and 0.3 / n after.
template <class T = double>
std::vector<T> well_separated(std::size_t n, std::uint64_t seed) {
  const std::vector<std::size_t> order = random_permutation(n, seed);
  splitmix64 random(~seed);
  std::vector<T> values(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double numerator = 2.0 * static_cast<double>(order[i]) + 1.5 + 0.2 * random.uniform();
    values[i] = static_cast<T>(numerator / static_cast<double>(n) - 1.0);
  }
  return values;
}

} // namespace support
