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
#include <type_traits>

#include "../core/error.hpp"
#include "../core/extent.hpp"
#include "../run/arguments.hpp"
#include "optimizer.hpp" // IWYU pragma: export
#include "rows.hpp"
#include "state.hpp"

namespace tapeless {

struct sgd_options {
  double learning_rate = 1e-2;
  double momentum = 0;     // in [0, 1)
  double weight_decay = 0; // adds weight_decay / 2 |p|^2 to the loss
};

// tl::sgd<params> opt(tl::sgd_options{.learning_rate = 0.1, .momentum = 0.9});   one block, with momentum
// tl::sgd<params> opt(0.1);    tl::sgd<params> opt;                              none
// opt.step(*p, gradient);                                                        none
template <class Params> class sgd : public detail::optimizer<Params, sgd_options, 1> { // the velocity
  using base = detail::optimizer<Params, sgd_options, 1>;
  static_assert(detail::parameters_named<Params>,
                "tapeless: sgd opt(1e-3): name the parameter tree: tl::sgd<params> opt(1e-3)");
  static_assert(detail::trainable_tree<Params>,
                "tapeless: sgd<params>: params is a tree of tensors of mutable float or double");

public:
  // With momentum, takes one dim for each named extent of Params. Throws argument_error where one is missing or an
  // option is out of range.
  template <char... Name> explicit sgd(dim<Name>... extents) : sgd(sgd_options{}, extents...) {}
  template <class Rate, char... Name>
    requires std::is_arithmetic_v<Rate>
  explicit sgd(Rate learning_rate, dim<Name>... extents)
      : sgd(sgd_options{.learning_rate = static_cast<double>(learning_rate)}, extents...) {}
  template <char... Name> explicit sgd(const sgd_options& options, dim<Name>... extents) : base(options) {
    set_learning_rate(options.learning_rate);
    if (!(options.momentum >= 0 && options.momentum < 1))
      throw argument_error("tapeless: sgd(options): momentum lies in [0, 1)");
    if (!(options.weight_decay >= 0 && std::isfinite(options.weight_decay)))
      throw argument_error("tapeless: sgd(options): weight_decay is finite and not negative");
    if (options.momentum > 0) this->make_state(extents...);
  }

  void set_learning_rate(double rate) {
    this->set_rate(rate, "tapeless: sgd: the learning rate is finite and not negative");
  }

  // One step down the gradient. p and the gradient are trees, or owned trees, with the leaves of Params.
  // Cost: 2 flops an element, 2 more for momentum and 2 more for weight decay where they are not 0. p and the velocity
  // are read and written once, the gradient is read once. No allocation.
  // Throws argument_error before it writes where a leaf has no data or other extents.
  template <class P = Params, class Gradient> void step(const P& parameters, const Gradient& slopes) {
    constexpr bool ours = detail::parameters_like<detail::viewed<P>, Params>;
    constexpr bool match = detail::leaves_match<detail::viewed<Gradient>, Params>;
    static_assert(ours, "tapeless: sgd.step(p, gradient): p has the leaves of params, and none is const");
    static_assert(
        match,
        "tapeless: sgd.step(p, gradient): the gradient has the leaves of p; of a value_and_grad it is the second result");
    if constexpr (ours && match)
      this->checked(detail::view_of(parameters), detail::view_of(slopes),
                    {"sgd.step(p, gradient): p", "sgd.step(p, gradient): the gradient",
                     "sgd.step(p, gradient): the velocity"})
          .for_each([this](const auto& e) { this->descend(e); });
  }

  // One step of some rows of a table, as adam.step_rows. Params is one tensor (n, ...); gradient (k, ...) is that of
  // rows (k). Other rows and their velocity are neither read nor written. Without momentum and decay this equals step()
  // with zeros in the other rows.
  template <class Table = Params, class Rows, class Gradient>
  void step_rows(const Table& parameters, const Rows& rows, const Gradient& slopes) {
    constexpr bool ours = detail::parameters_like<detail::viewed<Table>, Params> && detail::trainable<Params>;
    constexpr bool match = detail::rows_match<Params, detail::viewed<Rows>, detail::viewed<Gradient>>();
    static_assert(ours,
                  "tapeless: sgd.step_rows(p, rows, gradient): params is one tensor, and p has its extents");
    static_assert(
        match,
        "tapeless: sgd.step_rows(p, rows, gradient): rows is int32 with one axis, and gradient has p's "
        "extents with that of rows in the first place");
    if constexpr (ours && match)
      this->for_each_row(this->checked_rows(detail::view_of(parameters), detail::view_of(rows),
                                            detail::view_of(slopes), "sgd.step_rows(p, rows, gradient)"),
                         [this](const auto& e) { this->descend(e); });
  }

private:
  using base::options_;

  template <class T> void descend(const detail::elements_to_step<T, 1>& e) const {
    const bool momentum = e.state[0] != nullptr, decay = options_.weight_decay > 0;
    if (momentum && decay) descend<true, true>(e);
    else if (momentum) descend<true, false>(e);
    else if (decay) descend<false, true>(e);
    else descend<false, false>(e);
  }
  // A decay of 0 is left out: 0 times an infinite weight is no number.
  template <bool Momentum, bool Decay, class T, class B = detail::back_end_of<Params>>
  void descend(const detail::elements_to_step<T, 1>& e) const {
    using V = typename B::template lanes<T>;
    const V rate(static_cast<T>(-options_.learning_rate)), decay(static_cast<T>(options_.weight_decay)),
        momentum(static_cast<T>(options_.momentum));
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

template <class... X> sgd(const X&...) -> sgd<detail::no_parameters>;

} // namespace tapeless
