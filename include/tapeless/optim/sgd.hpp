#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Gradient descent with momentum:      d = g + weight_decay p
//                                      velocity = momentum velocity + d
//                                      p -= learning_rate velocity
// elementwise over the leaves of a parameter tree; without momentum velocity is d and is not stored.
// Source: Polyak, "Some methods of speeding up the convergence of iteration methods", 1964, in the form of
// Sutskever et al., "On the importance of initialization and momentum in deep learning", ICML 2013, with the
// learning rate outside the velocity, so that it may change between steps.

#include <memory>

#include "../core/error.hpp"
#include "../core/extent.hpp"
#include "../cpu/base/simd.hpp"
#include "../run/arguments.hpp"
#include "../run/memory.hpp"
#include "../run/spans.hpp"
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
template <class Params> class sgd {
  static_assert(detail::parameters_named<Params>,
                "tapeless: sgd opt(1e-3): name the parameter tree: tl::sgd<params> opt(1e-3)");
  static_assert(detail::trainable_tree<Params>,
                "tapeless: sgd<params>: params is a tree of tensors of mutable float or double");

public:
  // With momentum one dim for each named extent of Params. Throws argument_error where one is missing, or an option is
  // out of its range.
  template <char... Name> explicit sgd(dim<Name>... extents) : sgd(sgd_options{}, extents...) {}
  template <class Rate, char... Name>
    requires std::is_arithmetic_v<Rate>
  explicit sgd(Rate learning_rate, dim<Name>... extents)
      : sgd(sgd_options{.learning_rate = static_cast<double>(learning_rate)}, extents...) {}
  template <char... Name> explicit sgd(const sgd_options& options, dim<Name>... extents) : options_(options) {
    set_learning_rate(options.learning_rate);
    if (!(options.momentum >= 0 && options.momentum < 1))
      throw argument_error("tapeless: sgd(options): momentum lies in [0, 1)");
    if (!(options.weight_decay >= 0 && std::isfinite(options.weight_decay)))
      throw argument_error("tapeless: sgd(options): weight_decay is finite and not negative");
    if (options.momentum > 0) velocity_ = std::make_unique<owned<Params>>(extents...);
  }

  const sgd_options& options() const { return options_; }
  void set_learning_rate(double rate) {
    if (!(rate >= 0 && std::isfinite(rate)))
      throw argument_error("tapeless: sgd: the learning rate is finite and not negative");
    options_.learning_rate = rate;
  }

  // One step down the gradient. p and the gradient are trees of the leaves of Params, or owned ones. Cost: 2 flops
  // an element, and 2 each for momentum and weight decay that are not 0; p and velocity are read and written once,
  // the gradient is read once. No allocation.
  // Throws argument_error, before it writes, where a leaf has no data or other extents.
  template <class P = Params, class Gradient> void step(const P& parameters, const Gradient& slopes) {
    const auto& p = detail::view_of(parameters);
    const auto& gradient = detail::view_of(slopes);
    constexpr bool ours = detail::parameters_like<std::remove_cvref_t<decltype(p)>, Params>;
    constexpr bool match = detail::leaves_match<decltype(gradient), Params>;
    static_assert(ours, "tapeless: sgd.step(p, gradient): p has the leaves of params, and none is const");
    static_assert(
        match,
        "tapeless: sgd.step(p, gradient): the gradient has the leaves of p; of a value_and_grad it is the second result");
    if constexpr (ours && match) {
      const auto weight = detail::spans_of(p, "sgd.step(p, gradient): p");
      const auto slope = detail::spans_of(gradient, "sgd.step(p, gradient): the gradient");
      detail::require_same_extents(slope, weight, "sgd.step(p, gradient): the gradient");
      if (velocity_) {
        const auto velocity = detail::spans_of(velocity_->view(), "sgd.step(p, gradient): the velocity");
        detail::require_same_extents(weight, velocity, "sgd.step(p, gradient): p");
        descend_all<true>(weight, slope, velocity);
      } else descend_all<false>(weight, slope, weight);
    }
  }

  // One step of some rows of a table, as adam.step_rows: rows (k) of Params, one tensor (n, ...), with the gradient (k, ...).
  // Without momentum and decay it is step() with zeros in the other rows; with them the other rows stay as they are.
  template <class Table = Params, class Rows, class Gradient>
  void step_rows(const Table& parameters, const Rows& rows, const Gradient& slopes) {
    const auto& p = detail::view_of(parameters);
    const auto& gradient = detail::view_of(slopes);
    const auto& list = detail::view_of(rows);
    constexpr bool ours =
        detail::parameters_like<std::remove_cvref_t<decltype(p)>, Params> && detail::trainable<Params>;
    constexpr bool match = detail::rows_match<Params, decltype(list), decltype(gradient)>();
    static_assert(ours,
                  "tapeless: sgd.step_rows(p, rows, gradient): params is one tensor, and p has its extents");
    static_assert(
        match,
        "tapeless: sgd.step_rows(p, rows, gradient): rows is int32 with one axis, and gradient has p's "
        "extents with that of rows in the first place");
    if constexpr (ours && match) {
      using T = typename Params::value_type;
      constexpr const char* who = "sgd.step_rows(p, rows, gradient)";
      const detail::rows_to_step q = detail::checked_rows(p, list, gradient, who);
      T* velocity = nullptr;
      if (velocity_) {
        const auto state = detail::spans_of(velocity_->view(), who);
        detail::require_same_extents(std::array{q.table}, state, who);
        velocity = static_cast<T*>(state[0].data);
      }
      const bool decays = options_.weight_decay > 0;
      rows_.for_each(q, [&](extent_t row, const T* g) {
        T* const w = static_cast<T*>(q.table.data) + row * q.width;
        T* const v = velocity == nullptr ? w : velocity + row * q.width;
        if (velocity != nullptr && decays) descend<true, true>(q.width, w, g, v);
        else if (velocity != nullptr) descend<true, false>(q.width, w, g, v);
        else if (decays) descend<false, true>(q.width, w, g, v);
        else descend<false, false>(q.width, w, g, v);
      });
    }
  }

private:
  // velocity: not read without momentum
  template <bool Momentum>
  void descend_all(const detail::leaf_spans<Params>& p, const detail::leaf_spans<Params>& g,
                   const detail::leaf_spans<Params>& velocity) const {
    detail::for_each_leaf_type<Params>([&]<class T>(T, std::size_t i) {
      T* const w = static_cast<T*>(p[i].data);
      T* const v = static_cast<T*>(velocity[i].data);
      const T* const slope = static_cast<const T*>(g[i].data);
      if (options_.weight_decay > 0) descend<Momentum, true>(p[i].size, w, slope, v);
      else descend<Momentum, false>(p[i].size, w, slope, v);
    });
  }
  // A decay of 0 is left out: 0 times an infinite weight is no number.
  template <bool Momentum, bool Decay, class T>
  void descend(cpu::index_t n, T* p, const T* g, T* velocity) const {
    using V = cpu::simd<T>;
    const V rate(static_cast<T>(-options_.learning_rate)), decay(static_cast<T>(options_.weight_decay)),
        momentum(static_cast<T>(options_.momentum));
    detail::for_each_group<T>(n, [&](auto load, auto store) {
      const V w = load(p);
      V d = load(g);
      if constexpr (Decay) d = cpu::fma(decay, w, d);
      if constexpr (Momentum) {
        d = cpu::fma(momentum, load(velocity), d);
        store(velocity, d);
      }
      store(p, cpu::fma(rate, d, w));
    });
  }

  sgd_options options_;
  std::unique_ptr<owned<Params>> velocity_;                    // null without momentum
  detail::merged_rows<detail::element_of_first<Params>> rows_; // of step_rows
};

template <class... X> sgd(const X&...) -> sgd<detail::no_parameters>;

} // namespace tapeless
