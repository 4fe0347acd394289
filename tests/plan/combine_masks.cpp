// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Several masks: of one loss, of several losses, of several axes. A row counts where no mask of its loss is zero, whatever
// it has elsewhere.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <support/allocations.hpp>
#include <support/trees.hpp>
#include <support/two_heads.hpp>
#include <tapeless/tapeless.hpp>

namespace tl = tapeless;

namespace {

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

const auto by_w = [](int i) { return i % 3 != 0; };
const auto by_v = [](int i) { return i % 4 != 1 && i >= 3; };
const auto by_m = [](int i) { return i % 5 != 4; };
const auto by_s = [](int i) { return i / length != 1; };
const auto by_none = [](int) { return false; };
const auto all_of = [](auto... by) { return [=](int i) { return (by(i) && ...); }; };

} // namespace

TEST_CASE_TEMPLATE("several masks: each loss has its own, behind one network", P, parameters,
                   network<double, deep>) {
  check<P, true>([](const auto& p, auto x, auto t, auto u, auto w, auto v, auto,
                    auto) { return tl::sum(w * losses<1>(p, x, t)) + tl::sum(v * losses<2>(p, x, u)); },
                 by_w, by_v);
  check<parameters, true>(
      [](const auto& p, auto x, auto t, auto u, auto w, auto v, auto, auto) {
        return tl::mean(tl::where(w != 0.0, losses<1>(p, x, t), 0.0)) +
               tl::sum(v * losses<2>(p, x, u)) / tl::sum(v);
      },
      by_w, by_v);
}

TEST_CASE("several masks: of a loss whose cotangent has a term that is the weight alone") {
  check(
      [](const auto& p, auto x, auto t, auto u, auto w, auto v, auto, auto) {
        const auto first = tl::sum<1>(tl::matmul(hidden(p, x), std::get<1>(p)) - t);
        return tl::sum(w * (tl::square(first) + first)) + tl::sum(v * losses<2>(p, x, u));
      },
      by_w, by_v);
  check(
      [](const auto& p, auto x, auto t, auto, auto w, auto v, auto, auto) {
        const auto first = tl::sum<1>(tl::matmul(hidden(p, x), std::get<1>(p)) - t);
        return tl::sum(w * (v * (tl::square(first) + first)));
      },
      all_of(by_w, by_v), by_none);
}

TEST_CASE("several masks: one of them is of both losses") {
  check([](const auto& p, auto x, auto t, auto u, auto w, auto v, auto,
           auto) { return tl::sum(w * losses<1>(p, x, t)) + tl::sum(w * (v * losses<2>(p, x, u))); },
        by_w, all_of(by_w, by_v));
  check(
      [](const auto& p, auto x, auto t, auto, auto w, auto v, auto, auto) { // of one loss, weighed twice
        const auto l = w * losses<1>(p, x, t);
        return tl::sum(l) + tl::sum(v * l);
      },
      by_w, by_none);
}

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

TEST_CASE("several masks: of rows, of tokens and of sequences") {
  using P = network<double, deep>;
  check<P>([](const auto& p, auto x, auto t, auto, auto w, auto, auto m,
              auto) { return tl::sum(w * tl::reshape<n>(m * losses_of_tokens<1>(p, x, t))); },
           all_of(by_w, by_m), by_none);
  check<P>(
      [](const auto& p, auto x, auto t, auto, auto w, auto, auto, auto s) {
        return tl::sum(w * tl::reshape<n>(tl::reshape<sequences, 1>(s) * losses_of_tokens<1>(p, x, t)));
      },
      all_of(by_w, by_s), by_none);
  check<P>([](const auto& p, auto x, auto t, auto, auto, auto, auto m,
              auto s) { return tl::sum(tl::reshape<sequences, 1>(s) * (m * losses_of_tokens<1>(p, x, t))); },
           all_of(by_m, by_s), by_none);
  check<P>([](const auto& p, auto x, auto t, auto, auto, auto, auto m,
              auto s) { return tl::sum(s * tl::sum<1>(m * losses_of_tokens<1>(p, x, t))); },
           all_of(by_m, by_s), by_none);
  check<P>([](const auto& p, auto x, auto t, auto u, auto, auto v, auto m,
              auto) { return tl::sum(m * losses_of_tokens<1>(p, x, t)) + tl::sum(v * losses<2>(p, x, u)); },
           by_m, by_v);
}

// Sequences of any number and length, whose blocks of rows have a name.
TEST_CASE("several masks: of sequences and tokens of any number") {
  constexpr tl::extent_t many = tl::dyn<'b'>, any = tl::dyn<'t'>;
  using inputs = tl::tensor<double, many, any, 3>;
  using of_tokens_of_any = tl::tensor<double, many, any>;
  using of_any = tl::tensor<double, many>;
  const auto check_any = [](const auto& f) {
    using F = std::remove_cvref_t<decltype(f)>;
    for (const auto& [count, steps] : {std::pair{1, 1}, std::pair{3, 1}, std::pair{4, 4}, std::pair{3, 5}}) {
      const auto of = [&](auto program, const auto&... more) {
        auto run = program.template bind<parameters, inputs, of_tokens_of_any, of_any>(tl::dim<'b'>(4),
                                                                                       tl::dim<'t'>(6));
        return support::elements(run(more...));
      };
      const tl::dim<'b'> b(count);
      const tl::dim<'t'> t(steps);
      tl::owned<parameters> p;
      tl::owned<inputs> x(b, t);
      tl::owned<of_tokens_of_any> m(b, t);
      tl::owned<of_any> s(b);
      support::draw(*x, support::draw(*p, 1));
      for (int i = 0; i < count * steps; ++i) (*m)[i] = i % 3;
      for (int i = 0; i < count; ++i) (*s)[i] = i % 2 == 0 ? 0.5 : 0;
      auto expected = of(tl::jit(tl::value_and_grad<0, 2, 3>(F{})), *p, *x, *m, *s);
      const auto clean = of(tl::jit(tl::value_and_grad<0>(F{})), *p, *x, *m, *s);
      expected.resize(clean.size());
      CHECK(support::largest_difference(clean, expected) <= 1e-13);
      for (int i = 0; i < count * steps; ++i)
        for (int k = 0; k < 3 && (*s)[i / steps] == 0; ++k)
          (*x)[i * 3 + k] = std::numeric_limits<double>::infinity() * (k - 1);
      CHECK(support::largest_difference(of(tl::jit(tl::value_and_grad<0>(F{})), *p, *x, *m, *s), expected) <=
            1e-13);
    }
  };
  check_any([](const auto& p, auto x, auto, auto s) {
    return tl::sum(s * tl::sum<1, 2>(tl::square(tl::matmul(hidden(p, x), std::get<1>(p)) - 0.5)));
  });
  check_any([](const auto& p, auto x, auto m, auto s) {
    const auto l = tl::sum<2>(tl::square(tl::matmul(hidden(p, x), std::get<1>(p)) - 0.5));
    return tl::sum(s * tl::sum<1>(m * l));
  });
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

// With one row in each list a step of two losses has less than a fourth of the flops of all 12, and the heads have lists
// where that pays.
template <class F, class Parameters = parameters> constexpr auto cost_of =
    tl::jit(F{}).template cost<Parameters, data, targets, targets, of_rows, of_rows>();
constexpr auto two_losses = [](const auto& p, auto x, auto t, auto u, auto w, auto v) {
  return tl::sum(w * losses<1>(p, x, t)) + tl::sum(v * losses<2>(p, x, u));
};
constexpr auto masked_cost = cost_of<decltype(tl::value_and_grad<0>(two_losses))>,
               cost_of_all = cost_of<decltype(tl::value_and_grad<0, 4, 5>(two_losses))>;
static_assert(4 * masked_cost.primal.flops.at() < cost_of_all.primal.flops.at());
static_assert(4 * masked_cost.adjoint.flops.at() < cost_of_all.adjoint.flops.at());
static_assert(masked_cost.densified == 0);
template <class Parameters> constexpr bool has_own_rows =
    cost_of<decltype(tl::value_and_grad<0>(two_losses)), Parameters>.flops().at(tl::dim<'$'>(2)) >
    cost_of<decltype(tl::value_and_grad<0>(two_losses)), Parameters>.flops().at();
static_assert(has_own_rows<network<double, deep>> && !has_own_rows<parameters>);
