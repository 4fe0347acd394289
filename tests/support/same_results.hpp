#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Results of two ways to run a program: apart(a, b) is the largest |a - b| of a leaf over its largest |a|, of all leaves.

#include <tapeless/core/tree.hpp>

#include <cmath>
#include <cstddef>
#include <vector>

namespace support {

using leaves = std::vector<std::vector<double>>;

template <class Tree> leaves leaves_of(const Tree& tree) {
  leaves all;
  tapeless::for_each_leaf(tree, [&](const auto& leaf) { all.emplace_back(leaf.begin(), leaf.end()); });
  return all;
}

// Infinite where a number of elements differs, or an element is not finite in both.
inline double apart(const leaves& a, const leaves& b) {
  if (a.size() != b.size()) return HUGE_VAL;
  double worst = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k].size() != b[k].size()) return HUGE_VAL;
    double difference = 0, largest = 0;
    for (std::size_t i = 0; i < a[k].size(); ++i) {
      const double d = std::abs(a[k][i] - b[k][i]);
      if (!std::isfinite(d)) return HUGE_VAL;
      difference = std::fmax(difference, d);
      largest = std::fmax(largest, std::abs(a[k][i]));
    }
    if (difference > 0) worst = std::fmax(worst, difference / largest);
  }
  return worst;
}

// Is there an element other than zero? Two runs that compute nothing agree.
inline bool says_something(const leaves& a) {
  for (const auto& leaf : a)
    for (const double x : leaf)
      if (x != 0) return true;
  return false;
}

// The programs are in double: each sum of up to some ten thousand terms may be off by some of its last bits.
inline constexpr double order_of_sums = 1e-12;

} // namespace support
