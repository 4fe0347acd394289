// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Masks of losses beside terms that have all rows, or rows that the program selects: what a mask weighs with zero counts zero.
#include "combine_masks.hpp"

using namespace combine_masks;

TEST_CASE("several masks: where another term has all rows, what they weigh is zero") {
  const auto check_targets = [](const auto& f, auto first) { // of weight zero may be anything, x is finite
    using F = std::remove_cvref_t<decltype(f)>;
    batch clean, b;
    b.poison_targets(first, [](int) { return true; });
    const auto expected = run(tl::jit(tl::value_and_grad<0, 4, 6>(F{})), clean);
    const auto result = run(tl::jit(tl::value_and_grad<0>(F{})), b);
    CHECK(support::largest_difference(
              result, {expected.begin(), expected.begin() + static_cast<int>(result.size())}) <= 1e-13);
  };
  check_targets([](const auto& p, auto x, auto t, auto, auto w, auto, auto,
                   auto) { return tl::sum(w * losses<1>(p, x, t)) + tl::mean(tl::square(hidden(p, x))); },
                by_w);
  check_targets(
      [](const auto& p, auto x, auto t, auto u, auto w, auto, auto, auto) { // of one head
        return tl::sum(tl::where(w != 0.0, losses<1>(p, x, t), 0.0)) + tl::mean(losses<1>(p, x, u));
      },
      by_w);
  check_targets(
      [](const auto& p, auto x, auto t, auto, auto w, auto, auto, auto) { // of rows that are mixed
        const auto z = applied(std::get<1>(p), hidden(p, x));
        return tl::sum(w * tl::mean<1>(tl::square(z - tl::mean<0>(z) - t)));
      },
      by_w);
  check_targets(
      [](const auto& p, auto x, auto t, auto u, auto, auto, auto m, auto) { // of tokens
        return tl::sum(m * losses_of_tokens<1>(p, x, t)) + tl::mean(losses<1>(p, x, u));
      },
      by_m);
}

// The rows are those of the program without NaN: what weighs nothing is zero before it is selected.
TEST_CASE("several masks: beside rows that the program chooses, a target of weight zero may be anything") {
  const auto check_targets = [](const auto& f) {
    using F = std::remove_cvref_t<decltype(f)>;
    const auto results = [](const batch<>& b) {
      const auto of = [&](auto program) {
        auto bound = program.template bind<parameters, data, targets, targets, of_rows, of_rows>();
        return support::elements(bound(*b.p, *b.x, *b.t, *b.u, *b.w, *b.v));
      };
      std::vector<double> r = of(tl::jit(F{}));
      for (const auto& more : {of(tl::jit(tl::value_and_grad<0>(F{}))), of(tl::jit(tl::grad<0>(F{})))})
        r.insert(r.end(), more.begin(), more.end());
      return r;
    };
    batch clean, b;
    b.poison_targets(by_w, by_v);
    CHECK(support::largest_difference(results(b), results(clean)) <= 1e-13);
  };
  check_targets([](const auto& p, auto x, auto t, auto u, auto w, auto v) {
    const auto l = v * losses<2>(p, x, u);
    return tl::sum(w * losses<1>(p, x, t)) / tl::sum(w) + tl::mean(tl::gather(l, tl::top_k<4, 'k'>(l)));
  });
  check_targets([](const auto& p, auto x, auto t, auto u, auto w, auto v) {
    const auto l = v * losses<2>(p, x, u) + w * losses<1>(p, x, t);
    return tl::mean(tl::gather(l, tl::top_k<5>(l)));
  });
  check_targets([](const auto& p, auto x, auto t, auto, auto w, auto) { // more than weigh something
    const auto l = w * losses<1>(p, x, t);
    return tl::mean(tl::gather(l, tl::top_k<10, 'k'>(l)));
  });
  check_targets([](const auto& p, auto x, auto t, auto, auto w, auto) {
    const auto l = tl::where(w != 0.0, losses<1>(p, x, t), 0.0);
    return tl::sum(tl::gather(l, tl::where<'k'>(l >= 0.0)));
  });
}
TEST_CASE("several masks: beside rows that the program chooses, weights of several axes") {
  constexpr auto f = [](const auto& p, auto x, auto t, auto m) {
    const auto l = tl::reshape<n>(m * losses_of_tokens<1>(p, x, t));
    return tl::mean(tl::gather(l, tl::top_k<5>(l)));
  };
  auto run = tl::jit(tl::value_and_grad<0>(f)).bind<parameters, data, targets, of_tokens>();
  batch clean, b;
  b.poison_targets(by_m, by_m);
  CHECK(support::largest_difference(support::elements(run(*b.p, *b.x, *b.t, *b.m)),
                                    support::elements(run(*clean.p, *clean.x, *clean.t, *clean.m))) <= 1e-13);
}
