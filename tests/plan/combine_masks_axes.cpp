// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Masks of rows, of tokens and of sequences.
#include "combine_masks.hpp"

#include <utility>

using namespace combine_masks;

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
