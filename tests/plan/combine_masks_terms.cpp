// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Masks of terms of a loss: products of masks, conditions, terms side by side.
#include "combine_masks.hpp"

using namespace combine_masks;

TEST_CASE("several masks: of a term of what another one weighs, rows are those of both") {
  const auto both = all_of(by_w, by_v);
  check<parameters, true>([](const auto& p, auto x, auto t, auto u, auto w, auto v, auto,
                             auto) { return tl::sum(w * (losses<1>(p, x, t) + v * losses<2>(p, x, u))); },
                          by_w, both);
  check(
      [](const auto& p, auto x, auto t, auto u, auto w, auto v, auto, auto) {
        const auto second = tl::where(v != 0.0, losses<2>(p, x, u), 0.0);
        return tl::mean(tl::where(w != 0.0, losses<1>(p, x, t) + second, 0.0));
      },
      by_w, both);
  check([](const auto& p, auto x, auto t, auto, auto w, auto v, auto,
           auto) { return tl::sum(w * tl::sqrt(v * losses<1>(p, x, t) + 1.0)) / tl::sum(w); },
        both, by_none);
  check( // the term is a result of its own, too
      [](const auto& p, auto x, auto t, auto u, auto w, auto v, auto, auto) {
        const auto second = v * losses<2>(p, x, u);
        return tl::sum(w * (losses<1>(p, x, t) + second)) + tl::sum(second);
      },
      by_w, by_v);
}

TEST_CASE("several masks: a product of two that is read by what is not linear") {
  check(
      [](const auto& p, auto x, auto t, auto, auto w, auto v, auto, auto) {
        const auto l = w * (v * losses<1>(p, x, t));
        return tl::sum(l) + tl::sum(tl::exp(-l));
      },
      all_of(by_w, by_v), by_none);
}

TEST_CASE("several masks: the branch of where that is not taken") {
  check([](const auto& p, auto x, auto t, auto u, auto w, auto, auto,
           auto) { return tl::sum(tl::where(w != 0.0, losses<1>(p, x, t), losses<2>(p, x, u))); },
        by_w, [](int i) { return !by_w(i); });
}

TEST_CASE("several masks: side by side, padded, and a weight beside what is not linear") {
  check([](const auto& p, auto x, auto t, auto u, auto w, auto v, auto,
           auto) { return tl::sum(tl::concat<0>(w * losses<1>(p, x, t), v * losses<2>(p, x, u))); },
        by_w, by_v);
  check([](const auto& p, auto x, auto t, auto, auto w, auto, auto,
           auto) { return tl::sum(tl::pad<0, 1, 0>(w * losses<1>(p, x, t))); },
        by_w, by_none);
  check(
      [](const auto& p, auto x, auto t, auto, auto w, auto v, auto, auto) {
        const auto l = w * losses<1>(p, x, t);
        return tl::sum(v * l) + tl::sum(tl::exp(l));
      },
      by_w, by_none);
}
