#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Adam, step t = 1, 2, ...:            m = beta1 m + (1 - beta1) g            mean of g
//                                      v = beta2 v + (1 - beta2) g^2          mean of g^2
//                                      p -= learning_rate m' / (sqrt(v') + epsilon)
//                                      m' = m / (1 - beta1^t)     v' = v / (1 - beta2^t)
// elementwise over the leaves of a parameter tree. m and v start at 0; m' and v' correct this bias.
// Source: Kingma and Ba, "Adam: A method for stochastic optimization", ICLR 2015, algorithm 1.

#include "../core/error.hpp"
#include "../core/extent.hpp"
#include "../cpu/base/simd.hpp"
#include "../run/arguments.hpp"
#include "../run/memory.hpp"
#include "rows.hpp"
#include "state.hpp"

namespace tapeless {

struct adam_options {
  double learning_rate = 1e-3;
  double beta1 = 0.9;    // in [0, 1)
  double beta2 = 0.999;  // in [0, 1)
  double epsilon = 1e-8; // above 0
};

// tl::adam<params> opt(tl::adam_options{.learning_rate = 1e-3});   one block: m and v
// tl::adam<params> opt(1e-3);    tl::adam<params> opt;             the same
// opt.step(*p, gradient);                                          none
template <class Params> class adam {
  static_assert(detail::parameters_named<Params>,
                "tapeless: adam opt(1e-3): name the parameter tree: tl::adam<params> opt(1e-3)");
  static_assert(detail::trainable_tree<Params>,
                "tapeless: adam<params>: params is a tree of tensors of mutable float or double");

public:
  // One dim for each named extent of Params. Throws argument_error where one is missing, or an option is out of its
  // range.
  template <char... Name> explicit adam(dim<Name>... extents) : adam(adam_options{}, extents...) {}
  template <class Rate, char... Name>
    requires std::is_arithmetic_v<Rate>
  explicit adam(Rate learning_rate, dim<Name>... extents)
      : adam(adam_options{.learning_rate = static_cast<double>(learning_rate)}, extents...) {}
  template <char... Name>
  explicit adam(const adam_options& options, dim<Name>... extents) : options_(options), moments_(extents...) {
    set_learning_rate(options.learning_rate);
    if (!(options.beta1 >= 0 && options.beta1 < 1 && options.beta2 >= 0 && options.beta2 < 1))
      throw argument_error("tapeless: adam(options): beta1 and beta2 lie in [0, 1)");
    if (!(options.epsilon > 0 && std::isfinite(options.epsilon)))
      throw argument_error("tapeless: adam(options): epsilon is finite and above 0");
  }

  const adam_options& options() const { return options_; }
  void set_learning_rate(double rate) {
    if (!(rate >= 0 && std::isfinite(rate)))
      throw argument_error("tapeless: adam: the learning rate is finite and not negative");
    options_.learning_rate = rate;
  }

  // One step down the gradient. p and the gradient are trees of the leaves of Params, or owned ones. Cost: 13 flops
  // an element; p, m and v are read and written once, the gradient is read once. No allocation.
  // Throws argument_error, before it writes, where a leaf has no data or other extents.
  template <class P = Params, class Gradient> void step(const P& parameters, const Gradient& slopes) {
    const auto& p = detail::view_of(parameters);
    const auto& gradient = detail::view_of(slopes);
    constexpr bool ours = detail::parameters_like<std::remove_cvref_t<decltype(p)>, Params>;
    constexpr bool match = detail::leaves_match<decltype(gradient), Params>;
    static_assert(ours, "tapeless: adam.step(p, gradient): p has the leaves of params, and none is const");
    static_assert(
        match,
        "tapeless: adam.step(p, gradient): the gradient has the leaves of p; of a value_and_grad it is the second result");
    if constexpr (ours && match) {
      const auto mean = detail::spans_of((*moments_)[0], "adam.step(p, gradient): the state");
      const auto square = detail::spans_of((*moments_)[1], "adam.step(p, gradient): the state");
      const auto weight = detail::spans_of(p, "adam.step(p, gradient): p");
      const auto slope = detail::spans_of(gradient, "adam.step(p, gradient): the gradient");
      detail::require_same_extents(weight, mean, "adam.step(p, gradient): p");
      detail::require_same_extents(slope, mean, "adam.step(p, gradient): the gradient");
      power1_ *= options_.beta1;
      power2_ *= options_.beta2;
      detail::for_each_leaf_type<Params>([&]<class T>(T, std::size_t i) {
        descend(weight[i].size, static_cast<T*>(weight[i].data), static_cast<const T*>(slope[i].data),
                static_cast<T*>(mean[i].data), static_cast<T*>(square[i].data));
      });
    }
  }

  // One step of some rows of a table: Params is one tensor (n, ...), rows (k) says which, gradient (k, ...) is theirs; a row
  // that occurs several times has the sum. Other rows and their moments stay as they are, and are not looked at: this is
  // Adam on the rows that were read, with the powers of beta of all steps.
  //   auto e = tl::gather<0>(table, ids);    value_and_grad by e gives the gradient of those rows
  // Cost: as step, for these rows. No allocation, but where table or list are larger than before.
  // Throws argument_error, before it writes, where a row is none of the table's.
  template <class Table = Params, class Rows, class Gradient>
  void step_rows(const Table& parameters, const Rows& rows, const Gradient& slopes) {
    const auto& p = detail::view_of(parameters);
    const auto& gradient = detail::view_of(slopes);
    const auto& list = detail::view_of(rows);
    constexpr bool ours =
        detail::parameters_like<std::remove_cvref_t<decltype(p)>, Params> && detail::trainable<Params>;
    constexpr bool match = detail::rows_match<Params, decltype(list), decltype(gradient)>();
    static_assert(ours,
                  "tapeless: adam.step_rows(p, rows, gradient): params is one tensor, and p has its extents");
    static_assert(
        match,
        "tapeless: adam.step_rows(p, rows, gradient): rows is int32 with one axis, and gradient has p's "
        "extents with that of rows in the first place");
    if constexpr (ours && match) {
      using T = typename Params::value_type;
      constexpr const char* who = "adam.step_rows(p, rows, gradient)";
      const detail::rows_to_step q = detail::checked_rows(p, list, gradient, who);
      const auto mean = detail::spans_of((*moments_)[0], who), square = detail::spans_of((*moments_)[1], who);
      detail::require_same_extents(std::array{q.table}, mean, who);
      power1_ *= options_.beta1;
      power2_ *= options_.beta2;
      rows_.for_each(q, [&](extent_t row, const T* g) {
        const extent_t at = row * q.width;
        descend(q.width, static_cast<T*>(q.table.data) + at, g, static_cast<T*>(mean[0].data) + at,
                static_cast<T*>(square[0].data) + at);
      });
    }
  }

private:
  template <class T> void descend(cpu::index_t n, T* p, const T* g, T* m, T* v) const {
    using V = cpu::simd<T>;
    const auto all = [](double x) { return V(static_cast<T>(x)); };
    const V beta1 = all(options_.beta1), beta2 = all(options_.beta2), epsilon = all(options_.epsilon);
    const V rest1 = all(1 - options_.beta1), rest2 = all(1 - options_.beta2);
    const V rate = all(-options_.learning_rate / (1 - power1_)), unbias2 = all(1 / (1 - power2_));
    detail::for_each_group<T>(n, [&](auto load, auto store) {
      const V slope = load(g);
      const V mean = cpu::fma(beta1, load(m), rest1 * slope);
      const V square = cpu::fma(beta2, load(v), rest2 * slope * slope);
      store(m, mean);
      store(v, square);
      store(p, load(p) + rate * mean / (sqrt(square * unbias2) + epsilon));
    });
  }

  adam_options options_;
  double power1_ = 1, power2_ = 1; // beta1^t, beta2^t
  owned<std::array<Params, 2>> moments_;
  detail::merged_rows<detail::element_of_first<Params>> rows_; // of step_rows
};

template <class... X> adam(const X&...) -> adam<detail::no_parameters>;

} // namespace tapeless
