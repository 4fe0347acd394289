// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Several masks of one loss.
#include "known_masks.hpp"

using namespace known_masks;

TEST_CASE("known masks: several masks of one loss leave out what any of them does") {
  batch b;
  tl::owned<condition> keep;
  tl::owned<numbers> weight, other;
  std::vector<double> of_weights(n), of_all(n);
  for (int i = 0; i < n; ++i) {
    (*keep)[i] = i % 4 != 1;
    (*weight)[i] = i % 3;
    (*other)[i] = i % 5 == 2 ? 0 : 0.5;
    of_weights[static_cast<std::size_t>(i)] = (*weight)[i] * (*other)[i];
    of_all[static_cast<std::size_t>(i)] = (*keep)[i] ? (*weight)[i] * (*other)[i] : 0;
  }
  const auto two = expected(batch{}, of_weights), three = expected(batch{}, of_all);
  const auto check = [&]<bool Alone>(std::bool_constant<Alone>, const auto& f,
                                     const std::vector<double>& reference, const std::vector<double>& kept) {
    using F = std::remove_cvref_t<decltype(f)>;
    batch poisoned;
    for (int i = 0; i < n; ++i)
      if (kept[static_cast<std::size_t>(i)] == 0) poisoned.poison(i);
    const auto of = [&](auto&& run) {
      return run(*poisoned.p, *poisoned.x, *poisoned.t, *keep, *weight, *other);
    };
    const auto bind = [](auto program) {
      return program.template bind<parameters, data, targets, condition, numbers, numbers>();
    };
    auto both = bind(tl::jit(tl::value_and_grad<0>(F{})));
    CHECK(agree(value_and_gradient(both, *poisoned.p, *poisoned.x, *poisoned.t, *keep, *weight, *other),
                reference));
    if constexpr (Alone) {
      CHECK(std::abs(of(bind(tl::jit(F{})))[0] - reference.back()) <= 1e-13);
      auto gradient = bind(tl::jit(tl::grad<0>(F{})));
      std::vector<double> alone = support::elements(of(gradient));
      alone.push_back(reference.back());
      CHECK(agree(alone, reference));
    }
  };
  const auto check_two = [&](const auto& f) { check(std::false_type{}, f, two, of_weights); };
  const auto check_three = [&](const auto& f) { check(std::false_type{}, f, three, of_all); };
  const auto check_two_alone = [&](const auto& f) { check(std::true_type{}, f, two, of_weights); };
  const auto check_three_alone = [&](const auto& f) { check(std::true_type{}, f, three, of_all); };
  check_two_alone(
      [](const auto& p, auto x, auto t, auto, auto w, auto v) { return tl::sum(w * v * losses(p, x, t)); });
  check_two(
      [](const auto& p, auto x, auto t, auto, auto w, auto v) { return tl::sum(losses(p, x, t) * v * w); });
  check_two(
      [](const auto& p, auto x, auto t, auto, auto w, auto v) { return tl::sum(w * (v * losses(p, x, t))); });
  check_two([](const auto& p, auto x, auto t, auto, auto w, auto v) {
    return tl::sum(tl::where(w != 0.0, losses(p, x, t) * v * w, 0.0));
  });
  check_two([](const auto& p, auto x, auto t, auto, auto w, auto v) {
    return tl::sum(v * losses_of_tokens(p, x, t) * w);
  });
  check_three_alone([](const auto& p, auto x, auto t, auto k, auto w, auto v) {
    return tl::sum(tl::where(k, w * (losses(p, x, t) * v), 0.0));
  });
  check_three([](const auto& p, auto x, auto t, auto k, auto w, auto v) {
    return tl::sum(v * tl::where(k, losses(p, x, t), 0.0) * w);
  });
  check_three([](const auto& p, auto x, auto t, auto k, auto w, auto v) {
    return tl::sum(v * (tl::where(k, w, 0.0) * losses(p, x, t)));
  });
  check_three([](const auto& p, auto x, auto t, auto k, auto w, auto v) {
    const auto e = tl::sum(w * v * tl::cast<double>(k) * losses(p, x, t));
    return e + 0.0 * tl::sum(tl::square(std::get<1>(p)));
  });
  check_three([](const auto& p, auto x, auto t, auto k, auto w, auto v) { // (n, outputs) until the last sum
    const auto z = tl::matmul(tl::tanh(tl::matmul(x, std::get<0>(p))), std::get<1>(p));
    const auto e = tl::square(z - t) * tl::reshape<n, 1>(w);
    return tl::sum(tl::where(k, tl::mean<1>(e), 0.0) * v);
  });
}

TEST_CASE("known masks: masks along different axes of one extent are not combined") {
  constexpr int m = 6; // rows and outputs
  using square_data = tl::tensor<double, m, 3>;
  using square_weights = tl::tensor<double, 3, m>;
  using square_targets = tl::tensor<double, m, m>;
  using vector = tl::tensor<double, m>;
  tl::owned<square_weights> p;
  tl::owned<square_data> x;
  tl::owned<square_targets> t;
  tl::owned<vector> a, b;
  std::uint64_t seed = support::draw(*p, 5);
  seed = support::draw(*x, seed);
  support::draw(*t, seed);
  for (int i = 0; i < m; ++i) {
    (*a)[i] = i % 3;
    (*b)[i] = i % 2 == 0 ? 0 : 0.5;
  }
  const auto check = [&](const auto& f) {
    using F = std::remove_cvref_t<decltype(f)>;
    auto run = tl::jit(tl::value_and_grad<0>(F{}))
                   .template bind<square_weights, square_data, square_targets, vector, vector>();
    auto all = tl::jit(tl::value_and_grad<0, 3, 4>(F{}))
                   .template bind<square_weights, square_data, square_targets, vector, vector>();
    auto alone = tl::jit(F{}).template bind<square_weights, square_data, square_targets, vector, vector>();
    const auto [value, gradient] = run(*p, *x, *t, *a, *b);
    const auto [expected, of_p, of_a, of_b] = all(*p, *x, *t, *a, *b);
    CHECK(std::abs(value[0] - expected[0]) <= 1e-12);
    CHECK(std::abs(alone(*p, *x, *t, *a, *b)[0] - expected[0]) <= 1e-12);
    CHECK(support::largest_difference(support::elements(gradient), support::elements(of_p)) <= 1e-12);
  };
  check([](auto w, auto in, auto out, auto rows, auto columns) {
    const auto l = tl::square(tl::tanh(tl::matmul(in, w)) - out);
    return tl::sum(tl::reshape<m, 1>(rows) * (tl::reshape<1, m>(columns) * l));
  });
  check([](auto w, auto in, auto out, auto rows, auto columns) {
    const auto l = tl::square(tl::tanh(tl::matmul(in, w)) - out);
    return tl::sum(columns * (tl::reshape<m, 1>(rows) * l));
  });
  check([](auto w, auto in, auto out, auto rows, auto columns) {
    return tl::sum(tl::square(tl::reshape<m, 1>(rows) * (tl::matmul(in, w) - out) * columns));
  });
  check([](auto w, auto in, auto out, auto rows, auto columns) {
    const auto e = tl::reshape<m, 1>(rows) * tl::square(tl::matmul(in, w) - out);
    return tl::sum(tl::transpose<1, 0>(e) * tl::reshape<m, 1>(columns));
  });
  check([](auto w, auto in, auto out, auto rows, auto columns) {
    return tl::sum(
        tl::where(columns != 0.0, tl::reshape<m, 1>(rows) * tl::square(tl::matmul(in, w) - out), 0.0));
  });
  check([](auto w, auto in, auto out, auto rows, auto columns) { // of one axis
    const auto l = tl::square(tl::matmul(in, w) - out);
    return tl::sum(tl::reshape<m, 1>(columns) * (tl::reshape<m, 1>(rows) * l));
  });
}
