#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Trees of tensors as test data: random ones, their elements one after the other, and how far two of them are apart.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include <support/random.hpp>
#include <tapeless/core/tree.hpp>

namespace support {

// Elements in scale * [-1, 1], each leaf from a seed of its own; the seed for the next leaf is returned.
template <class Tree> std::uint64_t draw(const Tree& tree, std::uint64_t seed, double scale = 1) {
  tapeless::for_each_leaf(tree, [&](const auto& leaf) {
    const auto v = random_values<double>(static_cast<std::size_t>(leaf.size()), seed++);
    std::size_t i = 0;
    for (auto& e : leaf) e = static_cast<std::remove_reference_t<decltype(e)>>(scale * v[i++]);
  });
  return seed;
}

template <class Tree> std::vector<double> elements(const Tree& tree) {
  std::vector<double> r;
  tapeless::for_each_leaf(tree, [&](const auto& leaf) {
    for (const auto e : leaf) r.push_back(static_cast<double>(e));
  });
  return r;
}

// Not finite where one of them is not, or where their sizes differ.
inline double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double d = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double e = std::abs(a[i] - b[i]);
    if (std::isnan(e)) return e;
    d = std::max(d, e);
  }
  return d;
}

} // namespace support
