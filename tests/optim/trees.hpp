#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// A tree of float and double leaves, below, at and beyond whole groups of lanes, and a reference that walks it.

#include <tapeless/run/memory.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "support/random.hpp"

namespace trees {

namespace tl = tapeless;

struct mixed {
  tl::tensor<float, 3, 7> a;
  tl::tensor<double, 131> b;
  struct {
    tl::scalar<float> c;
    std::array<tl::tensor<double, 8, 8>, 2> d;
  } inner;
};

template <class Tree> void fill(const Tree& tree, std::uint64_t seed) {
  tl::detail::for_each_leaf(tree, [&](const auto& leaf) {
    const std::vector<double> values = support::random_values(static_cast<std::size_t>(leaf.size()), ++seed);
    for (std::size_t i = 0; i < values.size(); ++i)
      leaf.data()[i] = static_cast<typename std::remove_cvref_t<decltype(leaf)>::value_type>(values[i]);
  });
}

template <class Tree> std::vector<double> flat(const Tree& tree) {
  std::vector<double> values;
  tl::detail::for_each_leaf(tree, [&](const auto& leaf) {
    for (const auto x : leaf) values.push_back(x);
  });
  return values;
}

// Every element of the tree, in order, is the expected one up to `roundings` roundings of its type at 1.
template <class Tree> void check_near(const Tree& tree, const std::vector<double>& expected,
                                      double roundings) {
  std::size_t at = 0;
  tl::detail::for_each_leaf(tree, [&](const auto& leaf) {
    using T = typename std::remove_cvref_t<decltype(leaf)>::value_type;
    const double tolerance = roundings * std::numeric_limits<T>::epsilon();
    for (const T x : leaf) {
      INFO("element ", at, " is ", x, ", expected ", expected[at]);
      CHECK(std::abs(static_cast<double>(x) - expected[at]) <= tolerance);
      ++at;
    }
  });
  CHECK(at == expected.size());
}

} // namespace trees
