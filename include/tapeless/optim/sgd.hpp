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

#include "../run/memory.hpp"
#include "state.hpp"

namespace tapeless {

struct sgd_options {
  double learning_rate = 1e-2;
  double momentum = 0;     // in [0, 1)
  double weight_decay = 0; // adds weight_decay / 2 |p|^2 to the loss
};

// tl::sgd<params> opt(tl::sgd_options{.learning_rate = 0.1, .momentum = 0.9});   one block, with momentum
// opt.step(p.view(), gradient);                                                  none
template <class Params> class sgd {
  static_assert(detail::trainable_tree<Params>,
                "tapeless: sgd<params>: params is a tree of tensors of mutable float or double");

public:
  // One dim for each named extent of Params. Throws argument_error where an option is out of its range.
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

  // One step down the gradient, a tree of the same leaves as p. Cost: 2 flops an element, and 2 each for momentum
  // and weight decay; p and velocity are read and written once, the gradient is read once. No allocation.
  // Throws argument_error, before it writes, where a leaf has no data or another size.
  template <class Gradient> void step(const Params& p, const Gradient& gradient) {
    static_assert(detail::leaves_match<Gradient, Params>,
                  "tapeless: sgd.step(p, gradient): the gradient has the leaves of p");
    if constexpr (detail::leaves_match<Gradient, Params>) {
      const auto weight = detail::spans_of(p, "sgd.step(p, gradient): p");
      const auto slope = detail::spans_of(gradient, "sgd.step(p, gradient): the gradient");
      detail::require_same_sizes(slope, weight, "sgd.step(p, gradient): the gradient");
      if (!velocity_) {
        detail::for_each_leaf_type<Params>([&]<class T>(T, std::size_t i) {
          descend(weight[i].size, static_cast<T*>(weight[i].data), static_cast<const T*>(slope[i].data));
        });
      } else {
        const auto velocity = detail::spans_of(velocity_->view(), "sgd.step(p, gradient): the velocity");
        detail::require_same_sizes(weight, velocity, "sgd.step(p, gradient): p");
        detail::for_each_leaf_type<Params>([&]<class T>(T, std::size_t i) {
          descend(weight[i].size, static_cast<T*>(weight[i].data), static_cast<const T*>(slope[i].data),
                  static_cast<T*>(velocity[i].data));
        });
      }
    }
  }

private:
  template <class T> void descend(cpu::index_t n, T* p, const T* g) const {
    using V = cpu::simd<T>;
    const V rate(static_cast<T>(-options_.learning_rate)), decay(static_cast<T>(options_.weight_decay));
    detail::for_each_group<T>(n, [&](auto load, auto store) {
      const V w = load(p);
      store(p, cpu::fma(rate, cpu::fma(decay, w, load(g)), w));
    });
  }
  template <class T> void descend(cpu::index_t n, T* p, const T* g, T* velocity) const {
    using V = cpu::simd<T>;
    const V rate(static_cast<T>(-options_.learning_rate)), decay(static_cast<T>(options_.weight_decay)),
        momentum(static_cast<T>(options_.momentum));
    detail::for_each_group<T>(n, [&](auto load, auto store) {
      const V w = load(p);
      const V v = cpu::fma(momentum, load(velocity), cpu::fma(decay, w, load(g)));
      store(velocity, v);
      store(p, cpu::fma(rate, v, w));
    });
  }

  sgd_options options_;
  std::unique_ptr<owned<Params>> velocity_; // null without momentum
};

} // namespace tapeless
