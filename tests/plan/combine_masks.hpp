#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Of the tests of several masks: of one loss, of several losses, of several axes. A row counts where no mask of its loss is
// zero, whatever it has elsewhere.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>
#include <vector>

#include <support/trees.hpp>
#include <support/two_heads.hpp>
#include <tapeless/tapeless.hpp>

namespace combine_masks {

namespace tl = tapeless;

constexpr int sequences = 3, length = 4, n = sequences * length;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
using support::deep, support::narrow, support::network, support::hidden, support::applied, support::losses;
using parameters = network<double, narrow>;
using data = tl::tensor<double, n, 3>;
using targets = tl::tensor<double, n, 2>;
using of_rows = tl::tensor<double, n>;
using of_tokens = tl::tensor<double, sequences, length>;
using of_sequences = tl::tensor<double, sequences>;

template <int Head> constexpr auto losses_of_tokens(const auto& p, auto x, auto t) { // (sequences, length)
  const auto z = applied(std::get<Head>(p), hidden(p, tl::reshape<sequences, length, 3>(x)));
  return tl::mean<2>(tl::square(z - tl::reshape<sequences, length, 2>(t)));
}

template <class Parameters = parameters> struct batch {
  tl::owned<Parameters> p;
  tl::owned<data> x;
  tl::owned<targets> t, u;
  tl::owned<of_rows> w, v;
  tl::owned<of_tokens> m;
  tl::owned<of_sequences> s;
  batch() {
    std::uint64_t seed = support::draw(*p, 1, std::is_same_v<Parameters, parameters> ? 1 : 0.25);
    seed = support::draw(*x, seed);
    seed = support::draw(*t, seed);
    support::draw(*u, seed);
    for (int i = 0; i < n; ++i) {
      (*w)[i] = i % 3;
      (*v)[i] = i % 4 == 1 || i < 3 ? 0 : 0.5;
      (*m)[i] = i % 5 == 4 ? 0 : 2;
    }
    for (int i = 0; i < sequences; ++i) (*s)[i] = i == 1 ? 0 : 0.25;
  }
  // What counts in neither loss; t and u belong to the first and the second.
  void poison(auto first, auto second) {
    poison_targets(first, second);
    for (int i = 0; i < n; ++i)
      for (int k = 0; k < 3 && !first(i) && !second(i); ++k) (*x)[i * 3 + k] = nan;
  }
  void poison_targets(auto first, auto second) {
    for (int i = 0; i < n; ++i) {
      for (int k = 0; k < 2; ++k) {
        if (!first(i)) (*t)[i * 2 + k] = k == 0 ? nan : std::numeric_limits<double>::infinity();
        if (!second(i)) (*u)[i * 2 + k] = nan;
      }
    }
  }
};

template <class Parameters> std::vector<double> run(auto program, const batch<Parameters>& b) {
  auto bound =
      program.template bind<Parameters, data, targets, targets, of_rows, of_rows, of_tokens, of_sequences>();
  return support::elements(bound(*b.p, *b.x, *b.t, *b.u, *b.w, *b.v, *b.m, *b.s));
}

// f(p, x, t, u, w, v, m, s); the reference is differentiated by all weights, so that it has all rows. Alone: the value and the
// gradient have programs of their own, too.
template <class Parameters = parameters, bool Alone = false>
void check(const auto& f, auto first, auto second) {
  using F = std::remove_cvref_t<decltype(f)>;
  std::vector<double> expected = run(tl::jit(tl::value_and_grad<0, 4, 5, 6, 7>(F{})), batch<Parameters>{});
  batch<Parameters> b;
  b.poison(first, second);
  const std::vector<double> both = run(tl::jit(tl::value_and_grad<0>(F{})), b);
  REQUIRE(expected.size() > both.size());
  expected.resize(both.size());
  CHECK(support::largest_difference(both, expected) <= 1e-13);
  if constexpr (Alone) {
    CHECK(std::abs(run(tl::jit(F{}), b)[0] - expected[0]) <= 1e-13);
    CHECK(support::largest_difference(run(tl::jit(tl::grad<0>(F{})), b),
                                      {expected.begin() + 1, expected.end()}) <= 1e-13);
  }
}

inline constexpr auto by_w = [](int i) { return i % 3 != 0; };
inline constexpr auto by_v = [](int i) { return i % 4 != 1 && i >= 3; };
inline constexpr auto by_m = [](int i) { return i % 5 != 4; };
inline constexpr auto by_s = [](int i) { return i / length != 1; };
inline constexpr auto by_none = [](int) { return false; };
inline constexpr auto all_of = [](auto... by) { return [=](int i) { return (by(i) && ...); }; };

} // namespace combine_masks
