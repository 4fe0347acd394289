#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Random programs of the ops in the rule table: each op whose sample takes and gives matrices stands in one, without being named
// here. program<Seed> is a function of two matrices and a mask of their rows. For each seed
//   <gradient, v> == the finite difference of the value along a random v,
//   value and gradient are those of the program bound with tl::plain
#include "op_samples.hpp"

#include <doctest/doctest.h>
#include <support/random.hpp>
#include <support/same_results.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

namespace random_samples {

namespace tl = tapeless;
using namespace op_samples;

// ---- what is drawn
struct no_function {};
template <class S> struct function_of {
  using one = no_function;
  using two = no_function;
};
template <class F> struct function_of<sample<F, M>> {
  using one = F;
  using two = no_function;
};
template <class F> struct function_of<sample<F, M, M>> {
  using one = no_function;
  using two = F;
};
// The first of several samples that takes matrices.
template <class S, class... Rest> struct function_of<samples<S, Rest...>>
    : std::conditional_t<!std::is_same_v<typename function_of<S>::one, typename function_of<S>::two>,
                         function_of<S>, function_of<samples<Rest...>>> {};
template <op O, bool Two> constexpr auto function() {
  using f = function_of<std::remove_cvref_t<decltype(samples_of<O>)>>;
  return std::conditional_t<Two, typename f::two, typename f::one>{};
}
// Does the op have a derivative, and give a matrix of the same shape?
template <op O, bool Two> constexpr bool is_drawn = [] {
  using F = decltype(function<O, Two>());
  if constexpr (!rule(O).differentiable || std::is_same_v<F, no_function>) return false;
  else if constexpr (Two) return std::is_same_v<typename traced<F, M, M>::result, M>;
  else return std::is_same_v<typename traced<F, M>::result, M>;
}();
template <bool Two, std::size_t... O> constexpr auto drawn_ops(std::index_sequence<O...>) {
  constexpr std::size_t n = ((is_drawn<static_cast<op>(O), Two> ? 1u : 0u) + ...);
  std::array<op, n> ops{};
  std::size_t k = 0;
  ((is_drawn<static_cast<op>(O), Two> ? static_cast<void>(ops[k++] = static_cast<op>(O)) : void()), ...);
  return ops;
}
using all_ops = std::make_index_sequence<static_cast<std::size_t>(op_count)>;
inline constexpr auto of_one = drawn_ops<false>(all_ops{});
inline constexpr auto of_two = drawn_ops<true>(all_ops{});

class drawer {
  std::uint64_t state_;

public:
  constexpr explicit drawer(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  constexpr std::size_t below(std::size_t n) { // splitmix64
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<std::size_t>((z ^ (z >> 31)) % n);
  }
};
struct choice {
  bool two = false;
  op o = op::copy;
  std::size_t a = 0, b = 0;
};
inline constexpr std::size_t length = 6;
// All that can be drawn. Programs take them in turn, in an order of their own, so that none is left out.
inline constexpr auto all_choices = [] {
  constexpr std::size_t n = of_one.size() + of_two.size();
  std::array<choice, n> r{};
  std::size_t k = 0;
  for (const op o : of_one) r[k++] = {false, o};
  for (const op o : of_two) r[k++] = {true, o};
  return r;
}();
inline constexpr std::size_t stride_of_choices = 31;
static_assert(all_choices.size() % stride_of_choices != 0); // a prime: each is met
inline constexpr std::size_t programs = 2 * ((all_choices.size() + length - 1) / length); // each twice
constexpr std::array<choice, length> choices(std::uint64_t seed) {
  drawer draw(seed);
  std::array<choice, length> r{};
  for (std::size_t k = 0; k < length; ++k) { // values so far: x, y and k results
    r[k] = all_choices[(seed * length + k) * stride_of_choices % all_choices.size()];
    r[k].a = k == 0 ? 0 : k + 1 - draw.below(2);
    r[k].b = draw.below(k + 2);
  }
  return r;
}

// ---- the program
// To numbers in (0.1, 0.7), where every function but acosh is smooth.
constexpr auto squashed(auto x) { return 0.1 + 0.6 * sigmoid(x); }
template <op O> constexpr auto inside(auto x) {
  if constexpr (O == op::acosh) return x + 1.5;
  else return x;
}
template <std::uint64_t Seed, std::size_t K> constexpr auto step(const auto& values) {
  constexpr choice c = choices(Seed)[K];
  const auto a = inside<c.o>(std::get<c.a>(values));
  if constexpr (c.two) return squashed(function<c.o, true>()(a, std::get<c.b>(values)));
  else return squashed(function<c.o, false>()(a));
}
template <std::uint64_t Seed, std::size_t K = 0> constexpr auto steps(const auto& values) {
  if constexpr (K == length) // each of them counts
    return std::apply([](const auto&... v) { return (square(v) + ...); }, values);
  else return steps<Seed, K + 1>(std::tuple_cat(values, std::tuple{step<Seed, K>(values)}));
}
using rows = tl::tensor<bool, 6, 1>;
template <std::uint64_t Seed> inline constexpr auto program = [](auto x, auto y, auto mask) {
  const auto r = steps<Seed>(std::tuple{squashed(x), squashed(y)});
  return tl::sum(where(mask, square(r) * (1.0 + x), 0.0));
};

// ---- the law
template <std::uint64_t Seed> void check() {
  CAPTURE(Seed);
  constexpr auto f = tl::value_and_grad<0, 1>(program<Seed>);
  auto run = tl::jit(f).template bind<M, M, rows>();
  auto plainly = tl::jit(f).template bind<M, M, rows>(tl::plain);
  tl::owned<M> x, y, v, w, moved_x, moved_y;
  tl::owned<rows> mask;
  support::splitmix64 random(Seed);
  const auto number = [&] { return static_cast<double>(random.below(2001)) / 1000 - 1; };
  for (int i = 0; i < 24; ++i) (*x)[i] = number(), (*y)[i] = number(), (*v)[i] = number(), (*w)[i] = number();
  for (int i = 0; i < 6; ++i) (*mask)[i] = i % 3 != 1;
  const auto value_at = [&](double t) {
    for (int i = 0; i < 24; ++i) {
      (*moved_x)[i] = (*x)[i] + t * (*v)[i];
      (*moved_y)[i] = (*y)[i] + t * (*w)[i];
    }
    return std::get<0>(run(*moved_x, *moved_y, *mask))[0];
  };
  constexpr double h = 1e-4;
  const double difference =
      (8 * (value_at(h) - value_at(-h)) - (value_at(2 * h) - value_at(-2 * h))) / (12 * h);
  double slope = 0;
  const auto results = run(*x, *y, *mask);
  const support::leaves got = support::leaves_of(results);
  for (std::size_t i = 0; i < 24; ++i)
    slope += got[1][i] * (*v)[static_cast<int>(i)] + got[2][i] * (*w)[static_cast<int>(i)];
  CHECK(std::abs(slope - difference) <= 1e-7 * (1 + std::abs(difference)));
  CHECK(support::apart(got, support::leaves_of(plainly(*x, *y, *mask))) <= support::order_of_sums);
}
template <std::uint64_t First, std::uint64_t... K> void check_all(
    std::integer_sequence<std::uint64_t, K...>) {
  (check<First + K>(), ...);
}

} // namespace random_samples
