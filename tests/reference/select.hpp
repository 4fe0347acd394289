#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Rows by a mask, or the k most extreme by a sort; the results are positions in ascending order.
// -0 == +0; a NaN is greater than everything else, and all of them are equal.

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ref {

using positions = std::vector<std::int32_t>;

template <class T> positions nonzero(const std::vector<T>& mask) {
  positions rows;
  for (std::size_t i = 0; i < mask.size(); ++i)
    if (mask[i] != T(0)) rows.push_back(static_cast<std::int32_t>(i));
  return rows;
}

template <class T> bool less(T a, T b) {
  if (a != a || b != b) return a == a; // only b is a NaN
  return a < b;
}

// The first k of those among rows, ordered by value; of equal ones the first.
template <class T>
positions extreme_of(bool least, std::int64_t k, const std::vector<T>& v, positions rows) {
  const auto value = [&](std::int32_t i) { return v[static_cast<std::size_t>(i)]; };
  std::sort(rows.begin(), rows.end(), [&](std::int32_t i, std::int32_t j) {
    const T a = value(least ? i : j), b = value(least ? j : i);
    return less(a, b) || (!less(b, a) && i < j);
  });
  rows.resize(std::min(rows.size(), static_cast<std::size_t>(std::max<std::int64_t>(k, 0))));
  std::sort(rows.begin(), rows.end());
  return rows;
}

template <class T> positions extreme(bool least, std::int64_t k, const std::vector<T>& v) {
  return extreme_of(least, k, v, nonzero(std::vector<int>(v.size(), 1)));
}

template <class T> positions extreme_of_each(bool least, std::int64_t k, std::int64_t segments,
                                             const std::vector<T>& v,
                                             const std::vector<std::int32_t>& segment) {
  positions result;
  for (std::int64_t s = 0; s < segments; ++s) {
    std::vector<int> in_segment;
    for (const std::int32_t of : segment) in_segment.push_back(of == s);
    const positions rows = extreme_of(least, k, v, nonzero(in_segment));
    result.insert(result.end(), rows.begin(), rows.end());
  }
  std::sort(result.begin(), result.end());
  return result;
}

} // namespace ref
