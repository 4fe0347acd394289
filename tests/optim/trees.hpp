#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// A tree of float and double leaves, below, at and beyond whole groups of lanes, and the laws that SGD and Adam share.

#include <tapeless/optim/state.hpp>
#include <tapeless/run/memory.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
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

inline constexpr std::size_t size = 3 * 7 + 131 + 1 + 2 * 8 * 8; // elements of mixed

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

// The largest |element - expected|, in order, in roundings of its type at 1; infinite for a NaN or another size.
template <class Tree> double roundings_off(const Tree& tree, const std::vector<double>& expected) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> found = flat(tree);
  if (found.size() != expected.size()) return infinity;
  double worst = 0;
  std::size_t at = 0;
  tl::detail::for_each_leaf(tree, [&](const auto& leaf) {
    using T = typename std::remove_cvref_t<decltype(leaf)>::value_type;
    for (std::int64_t i = 0; i < leaf.size(); ++i, ++at) {
      const double off = std::abs(found[at] - expected[at]) / std::numeric_limits<T>::epsilon();
      worst = off >= 0 ? std::max(worst, off) : infinity;
    }
  });
  return worst;
}

// ---- laws of every optimizer ------------------------------------------------------------------------------------

inline constexpr int steps = 40;
// How far, in roundings, that many steps along random gradients, the rate 0.02 and then 0.01, are from those of
// update(t, rate, i, slope, value&) on each element i, at step t = 1, 2, ...: a right optimizer is off by one a step.
template <class Optimizer, class Update> double steps_off(Optimizer&& opt, Update&& update) {
  tl::owned<mixed> p, g;
  fill(*p, 1);
  std::vector<double> expected = flat(*p);
  for (int t = 1; t <= steps; ++t) {
    fill(*g, static_cast<std::uint64_t>(100 * t));
    const double rate = t <= 20 ? 0.02 : 0.01;
    opt.set_learning_rate(rate);
    opt.step(*p, *g);
    const std::vector<double> slope = flat(*g);
    for (std::size_t i = 0; i < expected.size(); ++i) update(t, rate, i, slope[i], expected[i]);
  }
  return roundings_off(*p, expected);
}

// A step of make(dim<'n'>(n)) moves the n elements of its leaf and none behind it, for every number of lanes in the
// last group.
template <class T, class Make> void check_leaves_the_rest(Make&& make) {
  using line = tl::tensor<T, tl::dyn<'n'>>;
  for (std::int64_t n = 0; n <= 40; ++n) {
    std::vector<T> p(64, 1), g(64, 1);
    auto opt = make(tl::dim<'n'>(n));
    opt.step(line(p.data(), n), tl::tensor<const T, tl::dyn<'n'>>(g.data(), n));
    for (std::size_t i = 0; i < p.size(); ++i) CHECK((p[i] == 1) == (i >= static_cast<std::size_t>(n)));
  }
}

// A leaf of another size or without data is refused, before anything is written; `name` is the optimizer's.
struct two_leaves {
  tl::tensor<float, 4> fixed;
  tl::tensor<float, tl::dyn<'n'>> named;
};
template <class Optimizer> void check_refusals(Optimizer& opt, const std::string& name) {
  using leaf = tl::tensor<float, tl::dyn<'n'>>;
  tl::owned<two_leaves> p(tl::dim<'n'>(8)), good(tl::dim<'n'>(8)), shorter(tl::dim<'n'>(7));
  fill(*good, 5);
  fill(*shorter, 6);
  const auto complaint = [&](const two_leaves& at, const two_leaves& gradient) -> std::string {
    try {
      opt.step(at, gradient);
    } catch (const tl::argument_error& e) { return e.what(); }
    return "";
  };
  const std::string start = "tapeless: " + name + ".step(p, gradient): ";
  const two_leaves nothing{good->fixed, leaf(static_cast<float*>(nullptr), 8)};
  CHECK(complaint(*p, *shorter) == start + "the gradient has 7 elements in leaf 1, expected 8");
  CHECK(complaint(*p, nothing) == start + "the gradient has a leaf without data (leaf 1)");
  CHECK(complaint(nothing, *good) == start + "p has a leaf without data (leaf 1)");
  CHECK(flat(*p) == std::vector<double>(12));
}
template <class Optimizer, class Options> void check_refused(const Options& options) {
  CHECK_THROWS_AS(Optimizer{options}, tl::argument_error);
}

} // namespace trees
