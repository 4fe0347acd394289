#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Adam, step t = 1, 2, ...:            m = beta1 m + (1 - beta1) g            mean of g
//                                      v = beta2 v + (1 - beta2) g^2          mean of g^2
//                                      p -= learning_rate m' / (sqrt(v') + epsilon)
//                                      m' = m / (1 - beta1^t)     v' = v / (1 - beta2^t)
// elementwise over the leaves of a parameter tree. m and v start at 0; m' and v' correct that bias.
// Source: Kingma and Ba, "Adam: A method for stochastic optimization", ICLR 2015, algorithm 1.

#include <cmath>
#include <cstddef>

#include "../core/error.hpp"
#include "../core/placed.hpp"
#include "optimizer.hpp" // IWYU pragma: export
#include "state.hpp"

namespace tapeless {

struct adam_options {
  double learning_rate = 1e-3;
  double beta1 = 0.9;    // in [0, 1)
  double beta2 = 0.999;  // in [0, 1)
  double epsilon = 1e-8; // above 0
};

namespace detail {

struct adam_rule {
  adam_options options;
  double power1 = 1, power2 = 1;           // beta1^t, beta2^t
  static constexpr std::size_t states = 2; // mean and square
  static constexpr names_in_messages names{
      "adam", "adam.step(p, gradient): p", "adam.step(p, gradient): the gradient",
      "adam.step(p, gradient): the state", "adam.step_rows(p, rows, gradient)"};

  void check() const {
    if (!(options.beta1 >= 0 && options.beta1 < 1 && options.beta2 >= 0 && options.beta2 < 1))
      throw argument_error("tapeless: adam(options): beta1 and beta2 lie in [0, 1)");
    if (!(options.epsilon > 0 && std::isfinite(options.epsilon)))
      throw argument_error("tapeless: adam(options): epsilon is finite and above 0");
  }
  static bool keeps_state() { return true; }

  void count_step() {
    power1 *= options.beta1;
    power2 *= options.beta2;
  }
  template <class B, class T> void descend(const elements_to_step<T, states>& e) const {
    using V = typename B::template lanes<T>;
    const auto all = [](double x) { return V(static_cast<T>(x)); };
    const V beta1 = all(options.beta1), beta2 = all(options.beta2), epsilon = all(options.epsilon);
    const V rest1 = all(1 - options.beta1), rest2 = all(1 - options.beta2);
    const V rate = all(-options.learning_rate / (1 - power1)), unbias2 = all(1 / (1 - power2));
    T *const p = e.p, *const m = e.state[0], *const v = e.state[1];
    const T* const g = e.gradient;
    B::template each_group<T>(e.n, [&](auto load, auto store) {
      const V slope = load(g);
      const V mean = fma(beta1, load(m), rest1 * slope);
      const V square = fma(beta2, load(v), rest2 * slope * slope);
      store(m, mean);
      store(v, square);
      store(p, load(p) + rate * mean / (sqrt(square * unbias2) + epsilon));
    });
  }
};

} // namespace detail

// tl::adam<params> opt(tl::adam_options{.learning_rate = 1e-3});   one block: m and v
// tl::adam<params> opt(1e-3);    tl::adam<params> opt;             the same
// opt.step(*p, gradient);                                          none
template <class Params> class adam : public detail::optimizer<Params, detail::adam_rule> {
  using base = detail::optimizer<Params, detail::adam_rule>;
  static_assert(detail::parameters_named<Params>,
                "tapeless: adam opt(1e-3): name the parameter tree: tl::adam<params> opt(1e-3)");
  static_assert(
      detail::on_the_host<Params>,
      "tapeless: adam<params>: params lives on the host: on a device a step is a part of the program, "
      "adam_update");
  static_assert(detail::trainable_tree<Params>,
                "tapeless: adam<params>: params is a tree of tensors of mutable float or double");

public:
  using base::base; // constructors

  // One step down the gradient. p and the gradient are trees, or owned trees, with the leaves of Params.
  // Cost: 13 flops an element. p, m and v are read and written once, the gradient is read once. No allocation.
  // Throws argument_error before it writes where a leaf has no data or other extents.
  template <class P = Params, class Gradient> void step(const P& parameters, const Gradient& slopes) {
    static_assert(
        detail::on_the_host<P, Gradient>,
        "tapeless: adam.step(p, gradient): p lives on the host: on a device a step is a part of the program, "
        "adam_update");
    static_assert(base::template steps<P>,
                  "tapeless: adam.step(p, gradient): p has the leaves of params, and none is const");
    static_assert(
        base::template steps_by<Gradient>,
        "tapeless: adam.step(p, gradient): the gradient has the leaves of p; of a value_and_grad it is the second result");
    if constexpr (detail::on_the_host<P, Gradient>) this->step_leaves(parameters, slopes);
  }

  // One step of some rows of a table. Params is one tensor (n, ...); rows (k) lists the rows, gradient (k, ...) is
  // theirs. Gradients of a row that occurs several times are summed. Other rows and their moments are neither read nor
  // written. The powers of beta count all steps.
  //   auto e = tl::gather<0>(table, ids);    value_and_grad by e gives the gradient of those rows
  // Cost: that of step for these rows. Allocates only where the table or the list is larger than any before.
  // Throws argument_error before it writes where a row is outside the table.
  template <class Table = Params, class Rows, class Gradient>
  void step_rows(const Table& parameters, const Rows& rows, const Gradient& slopes) {
    static_assert(base::template steps_rows<Table>,
                  "tapeless: adam.step_rows(p, rows, gradient): params is one tensor, and p has its extents");
    static_assert(
        base::template steps_rows_by<Rows, Gradient>,
        "tapeless: adam.step_rows(p, rows, gradient): rows is int32 with one axis, and gradient has p's "
        "extents with that of rows in the first place");
    this->step_some_rows(parameters, rows, slopes);
  }
};

template <class... X> adam(const X&...) -> adam<detail::no_parameters>;

} // namespace tapeless
