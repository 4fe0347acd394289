#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Gradient descent with momentum:      d = g + weight_decay p
//                                      velocity = momentum velocity + d
//                                      p -= learning_rate velocity
// elementwise over the leaves of a parameter tree. Without momentum the velocity is d and is not stored.
// Source: Polyak, "Some methods of speeding up the convergence of iteration methods", 1964, in the form of
// Sutskever et al., "On the importance of initialization and momentum in deep learning", ICML 2013, with the
// learning rate outside the velocity, so that it may change between steps.

#include <cmath>
#include <cstddef>

#include "../core/error.hpp"
#include "../core/placed.hpp"
#include "optimizer.hpp" // IWYU pragma: export
#include "state.hpp"

namespace tapeless {

struct sgd_options {
  double learning_rate = 1e-2;
  double momentum = 0;     // in [0, 1)
  double weight_decay = 0; // adds weight_decay / 2 |p|^2 to the loss
};

namespace detail {

struct sgd_rule {
  sgd_options options;
  static constexpr std::size_t states = 1; // the velocity
  static constexpr names_in_messages names{
      "sgd", "sgd.step(p, gradient): p", "sgd.step(p, gradient): the gradient",
      "sgd.step(p, gradient): the velocity", "sgd.step_rows(p, rows, gradient)"};

  void check() const {
    if (!(options.momentum >= 0 && options.momentum < 1))
      throw argument_error("tapeless: sgd(options): momentum lies in [0, 1)");
    if (!(options.weight_decay >= 0 && std::isfinite(options.weight_decay)))
      throw argument_error("tapeless: sgd(options): weight_decay is finite and not negative");
  }
  bool keeps_state() const { return options.momentum > 0; }

  static void count_step() {}
  template <class B, class T> void descend(const elements_to_step<T, states>& e) const {
    const bool momentum = e.state[0] != nullptr, decay = options.weight_decay > 0;
    if (momentum && decay) descend<B, true, true>(e);
    else if (momentum) descend<B, true, false>(e);
    else if (decay) descend<B, false, true>(e);
    else descend<B, false, false>(e);
  }
  // A decay of 0 is left out: 0 times an infinite weight is no number.
  template <class B, bool Momentum, bool Decay, class T>
  void descend(const elements_to_step<T, states>& e) const {
    using V = typename B::template lanes<T>;
    const V rate(static_cast<T>(-options.learning_rate)), decay(static_cast<T>(options.weight_decay)),
        momentum(static_cast<T>(options.momentum));
    const auto [n, p, g, velocity] = e;
    B::template each_group<T>(n, [&](auto load, auto store) {
      const V w = load(p);
      V d = load(g);
      if constexpr (Decay) d = fma(decay, w, d);
      if constexpr (Momentum) {
        d = fma(momentum, load(velocity[0]), d);
        store(velocity[0], d);
      }
      store(p, fma(rate, d, w));
    });
  }
};

} // namespace detail

// tl::sgd<params> opt(tl::sgd_options{.learning_rate = 0.1, .momentum = 0.9});   one block, with momentum
// tl::sgd<params> opt(0.1);    tl::sgd<params> opt;                              none
// opt.step(*p, gradient);                                                        none
template <class Params> class sgd : public detail::optimizer<Params, detail::sgd_rule> {
  using base = detail::optimizer<Params, detail::sgd_rule>;
  static_assert(detail::parameters_named<Params>,
                "tapeless: sgd opt(1e-3): name the parameter tree: tl::sgd<params> opt(1e-3)");
  static_assert(
      detail::on_the_host<Params>,
      "tapeless: sgd<params>: params lives on the host: on a device a step is a part of the program, "
      "sgd_update");
  static_assert(detail::trainable_tree<Params>,
                "tapeless: sgd<params>: params is a tree of tensors of mutable float or double");

public:
  using base::base; // constructors

  // One step down the gradient, as adam.step.
  // Cost: 2 flops an element, 2 more for momentum and 2 more for weight decay where they are not 0. p and the velocity
  // are read and written once, the gradient is read once. No allocation.
  template <class P = Params, class Gradient> void step(const P& parameters, const Gradient& slopes) {
    static_assert(
        detail::on_the_host<P, Gradient>,
        "tapeless: sgd.step(p, gradient): p lives on the host: on a device a step is a part of the program, "
        "sgd_update");
    static_assert(base::template steps<P>,
                  "tapeless: sgd.step(p, gradient): p has the leaves of params, and none is const");
    static_assert(
        base::template steps_by<Gradient>,
        "tapeless: sgd.step(p, gradient): the gradient has the leaves of p; of a value_and_grad it is the second result");
    if constexpr (detail::on_the_host<P, Gradient>) this->step_leaves(parameters, slopes);
  }

  // One step of some rows of a table, as adam.step_rows. Params is one tensor (n, ...); gradient (k, ...) is that of
  // rows (k). Other rows and their velocity are neither read nor written. Without momentum and decay this equals step()
  // with zeros in the other rows.
  template <class Table = Params, class Rows, class Gradient>
  void step_rows(const Table& parameters, const Rows& rows, const Gradient& slopes) {
    static_assert(base::template steps_rows<Table>,
                  "tapeless: sgd.step_rows(p, rows, gradient): params is one tensor, and p has its extents");
    static_assert(
        base::template steps_rows_by<Rows, Gradient>,
        "tapeless: sgd.step_rows(p, rows, gradient): rows is int32 with one axis, and gradient has p's "
        "extents with that of rows in the first place");
    this->step_some_rows(parameters, rows, slopes);
  }
};

template <class... X> sgd(const X&...) -> sgd<detail::no_parameters>;

} // namespace tapeless
