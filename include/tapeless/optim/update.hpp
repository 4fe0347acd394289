// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Steps of optimizers as functions of programs: a training step, gradient and update, is then one program.
//   constexpr auto train = tl::jit([](auto p, auto state, auto x, auto y) {
//     auto [value, gradient] = tl::value_and_grad(loss)(p, x, y);
//     auto [next, next_state] = tl::adam_update(p, gradient, state, tl::adam_options{.learning_rate = 1e-3});
//     return std::tuple{value, next, next_state};
//   });
//   run.into(std::tuple{*value, *p, *state})(*p, *state, *x, *y);     results take the place of the arguments
// The formulas stand in sgd.hpp and adam.hpp. Options are constants of the program; a learning rate that changes is an argument
// of it, a number.
#pragma once
#include <tuple>
#include <type_traits>
#include "../core/tensor.hpp"
#include "../core/tree.hpp"
#include "../expr/handle.hpp"
#include "../run/arguments.hpp"
#include "adam.hpp"
#include "sgd.hpp"
#include "state.hpp"

namespace tapeless {

namespace detail {

template <class Params> constexpr bool has_double_leaf() {
  bool found = false;
  Params p{};
  for_each_leaf(p, [&](auto& leaf) {
    found = found || std::is_same_v<typename std::remove_cvref_t<decltype(leaf)>::value_type, double>;
  });
  return found;
}

// The leaves of a tree of handles, in order.
class handles_of_tree {
  graph* graph_ = nullptr;
  vec<int> id_;

public:
  template <class Tree> constexpr explicit handles_of_tree(const Tree& tree) {
    for_each_leaf(tree, [&](const auto& leaf) {
      graph_ = leaf.graph_ptr();
      id_.push_back(leaf.id());
    });
  }
  template <class H> constexpr H get(int k) const { return H{graph_, id_[k]}; }
  constexpr void require(bool holds, const char* rule) const {
    if (graph_ != nullptr) graph_->require(holds, rule);
  }
};
// Each leaf of y = f(its number, itself), as a handle of the same type.
template <class Tree, class F> constexpr void set_each(Tree& y, F&& f) {
  int k = 0;
  for_each_leaf(y, [&](auto& leaf) {
    using H = std::remove_cvref_t<decltype(leaf)>;
    const auto next = f(k++, leaf);
    leaf = H{next.graph_ptr(), next.id()};
  });
}
// A number or a rank-0 handle, for leaves of T.
template <class T, class X> constexpr auto rate_for(const X& x) {
  if constexpr (number<X>) return static_cast<T>(x);
  else return x;
}

template <class Rate> constexpr bool is_rate() {
  if constexpr (typed_handle<Rate>) return std::remove_cvref_t<Rate>::extents.rank == 0;
  else return number<Rate>;
}
template <class Rate>
concept learning_rate = is_rate<Rate>();
template <class Gradient, class Params>
concept gradient_of = leaves_match<Gradient, Params>;

} // namespace detail

// What adam_update keeps from step to step. It starts at 0, as tl::owned makes it.
//   mean, square              of the gradient
//   mean_weight, square_weight   1 - beta1^t, 1 - beta2^t: the parts of them that are no start values
template <class Params> struct adam_state {
  using weight = scalar<std::conditional_t<detail::has_double_leaf<Params>(), double, float>>;
  Params mean, square;
  weight mean_weight, square_weight;
};
// What sgd_update keeps with momentum. It starts at 0.
template <class Params> struct sgd_state {
  Params velocity;
};

// p - learning_rate gradient, a tree like p. learning_rate: a number, or a scalar of the program.
template <class Params, class Gradient, detail::learning_rate Rate>
constexpr Params sgd_update(const Params& p, const Gradient& gradient, const Rate& learning_rate) {
  static_assert(detail::gradient_of<Gradient, Params>,
                "tapeless: sgd_update(p, gradient, learning_rate): the gradient has the leaves of p");
  Params next = p;
  if constexpr (detail::gradient_of<Gradient, Params>) {
    const detail::handles_of_tree g(gradient);
    detail::set_each(next, [&](int k, const auto& w) {
      using H = std::remove_cvref_t<decltype(w)>;
      return w - g.template get<H>(k) * detail::rate_for<typename H::value_type>(learning_rate);
    });
  }
  return next;
}
// With momentum and weight decay: {the next p, the next state}. options.learning_rate does not count: the argument does.
template <class Params, class Gradient, detail::learning_rate Rate>
constexpr std::tuple<Params, sgd_state<Params>> sgd_update(const Params& p, const Gradient& gradient,
                                                           const sgd_state<Params>& state,
                                                           const Rate& learning_rate,
                                                           const sgd_options& options) {
  static_assert(
      detail::gradient_of<Gradient, Params>,
      "tapeless: sgd_update(p, gradient, state, learning_rate, options): the gradient has the leaves of p");
  Params next = p;
  sgd_state<Params> kept = state;
  if constexpr (detail::gradient_of<Gradient, Params>) {
    const detail::handles_of_tree w(p), g(gradient);
    g.require(options.momentum >= 0 && options.momentum < 1,
              "tapeless: sgd_update(p, gradient, state, rate, options): momentum lies in [0, 1)");
    detail::set_each(kept.velocity, [&](int k, const auto& v) {
      using H = std::remove_cvref_t<decltype(v)>;
      using T = typename H::value_type;
      const H slope = g.template get<H>(k);
      const H d = options.weight_decay > 0
                      ? H(slope + w.template get<H>(k) * static_cast<T>(options.weight_decay))
                      : slope;
      // A momentum of 0 is left out: 0 times an infinite velocity is no number.
      return options.momentum > 0 ? H(v * static_cast<T>(options.momentum) + d) : d;
    });
    next = sgd_update(p, kept.velocity, learning_rate);
  }
  return {next, kept};
}

// {the next p, the next state}. options.learning_rate does not count where a learning rate is an argument.
template <class Params, class Gradient, detail::learning_rate Rate>
constexpr std::tuple<Params, adam_state<Params>> adam_update(const Params& p, const Gradient& gradient,
                                                             const adam_state<Params>& state,
                                                             const Rate& learning_rate,
                                                             const adam_options& options = {}) {
  static_assert(detail::gradient_of<Gradient, Params>,
                "tapeless: adam_update(p, gradient, state, ...): the gradient has the leaves of p");
  Params next = p;
  adam_state<Params> kept = state;
  if constexpr (detail::gradient_of<Gradient, Params>) {
    using weight = typename adam_state<Params>::weight::value_type;
    const auto beta = [](double b, auto one) { return static_cast<decltype(one)>(b); };
    const auto averaged = [&](const auto& old, const auto& now, double b) {
      using T = typename std::remove_cvref_t<decltype(old)>::value_type;
      return old * beta(b, T(1)) + now * beta(1 - b, T(1));
    };
    const detail::handles_of_tree g(gradient);
    g.require(options.beta1 >= 0 && options.beta1 < 1 && options.beta2 >= 0 && options.beta2 < 1,
              "tapeless: adam_update(p, gradient, state, options): beta1 and beta2 lie in [0, 1)");
    detail::set_each(kept.mean, [&](int k, const auto& m) {
      return averaged(m, g.template get<std::remove_cvref_t<decltype(m)>>(k), options.beta1);
    });
    detail::set_each(kept.square, [&](int k, const auto& v) {
      const auto slope = g.template get<std::remove_cvref_t<decltype(v)>>(k);
      return averaged(v, slope * slope, options.beta2);
    });
    kept.mean_weight =
        state.mean_weight * beta(options.beta1, weight(1)) + beta(1 - options.beta1, weight(1));
    kept.square_weight =
        state.square_weight * beta(options.beta2, weight(1)) + beta(1 - options.beta2, weight(1));
    const auto rate = detail::rate_for<weight>(learning_rate) / kept.mean_weight,
               unbias = weight(1) / kept.square_weight;
    const detail::handles_of_tree mean(kept.mean), square(kept.square);
    detail::set_each(next, [&](int k, const auto& w) {
      using H = std::remove_cvref_t<decltype(w)>;
      using T = typename H::value_type;
      const auto size = tapeless::sqrt(square.template get<H>(k) * detail::rate_for<T>(unbias)) +
                        static_cast<T>(options.epsilon);
      return w - mean.template get<H>(k) * detail::rate_for<T>(rate) / size;
    });
  }
  return {next, kept};
}
template <class Params, class Gradient>
constexpr auto adam_update(const Params& p, const Gradient& gradient, const adam_state<Params>& state,
                           const adam_options& options = {}) {
  return adam_update(p, gradient, state, options.learning_rate, options);
}

// Other arguments
template <class... A> constexpr auto sgd_update(const A&...) {
  static_assert(
      detail::never<A...>,
      "tapeless: sgd_update(p, gradient, rate), sgd_update(p, gradient, state, rate, options): in this order; the "
      "state is an sgd_state of p's type, the rate a number or a scalar");
}
template <class... A> constexpr auto adam_update(const A&...) {
  static_assert(
      detail::never<A...>,
      "tapeless: adam_update(p, gradient, state), (p, gradient, state, rate), either with options behind: in this "
      "order; the state is an adam_state of p's type, the rate a number or a scalar");
}

} // namespace tapeless
