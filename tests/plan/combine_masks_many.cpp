// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// More masks than two: combinations of them, each with rows of its own, and more than have such rows.
#include "combine_masks.hpp"

using namespace combine_masks;

TEST_CASE("several masks: two of three, of each loss") {
  check(
      [](const auto& p, auto x, auto t, auto u, auto w, auto v, auto m, auto) {
        const auto e = losses<2>(p, x, u), k = tl::reshape<n>(m);
        return tl::sum(w * (v * losses<1>(p, x, t))) + tl::sum(v * (k * e));
      },
      all_of(by_w, by_v), all_of(by_v, by_m));
}

TEST_CASE("several masks: four combinations, of a condition, too") {
  check<network<double, deep>>(
      [](const auto& p, auto x, auto t, auto u, auto w, auto v, auto m, auto) {
        const auto l = losses<1>(p, x, t), e = losses<2>(p, x, u), k = tl::reshape<n>(m);
        return tl::sum(w * (v * l)) + tl::sum(w * (k * tl::square(l))) + tl::sum(v * (k * e)) +
               tl::sum(tl::where(w > 1.5, v * tl::square(e), 0.0));
      },
      [](int i) { return by_w(i) && (by_v(i) || by_m(i)); },
      [](int i) { return by_v(i) && (by_m(i) || i % 3 == 2); });
}

TEST_CASE_TEMPLATE("several masks: more combinations than have rows of their own", P, parameters,
                   network<double, deep>) {
  check<P>(
      [](const auto& p, auto x, auto t, auto u, auto w, auto v, auto m, auto) {
        const auto l = losses<1>(p, x, t), e = losses<2>(p, x, u), k = tl::reshape<n>(m);
        return tl::sum(w * l) + tl::sum(v * e) + tl::sum(w * (v * l)) + tl::sum(k * e) + tl::sum(k * (v * l));
      },
      [](int i) { return by_w(i) || (by_m(i) && by_v(i)); }, [](int i) { return by_v(i) || by_m(i); });
  check<P>( // the last one has rows that no other has
      [](const auto& p, auto x, auto t, auto u, auto w, auto v, auto m, auto) {
        const auto l = losses<1>(p, x, t), e = losses<2>(p, x, u), k = tl::reshape<n>(m);
        return tl::sum(w * (v * l)) + tl::sum(w * (k * tl::square(l))) + tl::sum(v * (k * e)) +
               tl::sum(w * tl::square(l)) + tl::sum(k * tl::square(e));
      },
      by_w, by_m);
}
