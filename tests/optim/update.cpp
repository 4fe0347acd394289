// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Updates within a program are the steps of tl::sgd and tl::adam.
#include <support/random.hpp>

#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>

namespace tl = tapeless;

namespace {

template <class T> struct params {
  tl::tensor<T, 6, 6> w;
  std::array<tl::tensor<T, 6>, 2> b;
  tl::tensor<T, 0> nothing;
};
template <class T> using x_type = tl::tensor<T, tl::dyn<'n'>, 6>;

constexpr auto loss = [](auto p, auto x) {
  const auto y = tl::tanh(tl::matmul(x, p.w) + p.b[0]);
  return tl::mean(tl::square(tl::matmul(y, p.w) + p.b[1])) + tl::sum(p.nothing);
};

template <class T> void fill(const params<T>& p) {
  std::uint64_t seed = 1;
  tl::for_each_leaf(p, [&](const auto& leaf) {
    const auto values = support::random_values<T>(static_cast<std::size_t>(leaf.size()), seed++);
    std::copy(values.begin(), values.end(), leaf.data());
  });
}
template <class T> void check_close(const params<T>& a, const params<T>& b) {
  std::vector<T> all;
  tl::for_each_leaf(b, [&](const auto& leaf) { all.insert(all.end(), leaf.begin(), leaf.end()); });
  std::size_t at = 0;
  tl::for_each_leaf(a, [&](const auto& leaf) {
    for (const T v : leaf) CHECK(v == doctest::Approx(all[at++]).epsilon(sizeof(T) == 4 ? 1e-5 : 1e-13));
  });
}
const tl::dim<'n'> n{5};

// One program, in place, against the gradient and the optimizer one after another.
template <class T, class State, class Update, class Optimizer>
void compare(Update update, Optimizer optimizer) {
  tl::owned<params<T>> p, q;
  tl::owned<State> state;
  tl::owned<x_type<T>> x(n);
  const auto values = support::random_values<T>(30, 9);
  std::copy(values.begin(), values.end(), x->data());
  fill(*p);
  fill(*q);
  constexpr auto train = [](auto w, auto kept, auto rows, auto rate) {
    const auto [value, gradient] = tl::value_and_grad(loss)(w, rows);
    const auto [next, next_kept] = Update{}(w, gradient, kept, rate);
    return std::tuple{value, next, next_kept};
  };
  static_cast<void>(update);
  auto run = tl::jit(train).template bind<params<T>, State, x_type<T>, T>(n);
  auto both = tl::jit(tl::value_and_grad(loss)).template bind<params<T>, x_type<T>>(n);
  tl::owned<tl::scalar<T>> value;
  for (int k = 0; k < 4; ++k) {
    const T rate = T(0.1) / static_cast<T>(k + 1);
    run.into(std::tuple{*value, *p, *state})(*p, *state, *x, rate);
    const auto [expected, gradient] = both(*q, *x);
    CHECK((*value)() == doctest::Approx(expected()).epsilon(1e-5));
    optimizer.set_learning_rate(static_cast<double>(rate));
    optimizer.step(q, gradient);
    check_close(*p, *q);
  }
}

} // namespace

TEST_CASE("adam_update is adam.step") {
  constexpr auto update = [](auto p, auto g, auto state, auto rate) {
    return tl::adam_update(p, g, state, rate, tl::adam_options{.beta1 = 0.8, .epsilon = 1e-6});
  };
  const tl::adam_options options{.beta1 = 0.8, .epsilon = 1e-6};
  compare<float, tl::adam_state<params<float>>>(update, tl::adam<params<float>>(options));
  compare<double, tl::adam_state<params<double>>>(update, tl::adam<params<double>>(options));
}
TEST_CASE("sgd_update is sgd.step, with momentum and decay") {
  constexpr auto update = [](auto p, auto g, auto state, auto rate) {
    return tl::sgd_update(p, g, state, rate, tl::sgd_options{.momentum = 0.9, .weight_decay = 0.01});
  };
  const tl::sgd_options options{.momentum = 0.9, .weight_decay = 0.01};
  compare<float, tl::sgd_state<params<float>>>(update, tl::sgd<params<float>>(options));
  compare<double, tl::sgd_state<params<double>>>(update, tl::sgd<params<double>>(options));
}
TEST_CASE("sgd_update without a state, and a rate that is a constant") {
  tl::owned<params<float>> p, q;
  tl::owned<x_type<float>> x(n);
  fill(*p);
  fill(*q);
  constexpr auto train = [](auto w, auto rows) { return tl::sgd_update(w, tl::grad(loss)(w, rows), 0.25); };
  auto run = tl::jit(train).bind<params<float>, x_type<float>>(n);
  run.into (*p)(*p, *x);
  auto slope = tl::jit(tl::grad(loss)).bind<params<float>, x_type<float>>(n);
  tl::sgd<params<float>>(0.25).step(q, slope(*q, *x));
  check_close(*p, *q);
}
