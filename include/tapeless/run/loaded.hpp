// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// loaded: a bound program whose first argument, the weights, is given once for many runs: what run.load(p) makes.
#pragma once
#include "../core/config.hpp"
#include "../core/extent.hpp"
#include "../core/tree.hpp"
#include "arguments.hpp"
#include "bound.hpp"

namespace tapeless::detail {

template <class Q, class P>
concept is_loaded_as =
    number<Q> == number<P> && std::is_convertible_v<const Q&, P> && number_without_fraction<Q, P>;

template <class Backend, class P, class F, class... A> class loaded {
  bound<Backend, true, F, A...> run_;
  P p_;

  void take(const P& p) {
    run_.load_first(p);
    p_ = p;
  }

public:
  template <class Team>
  loaded(const name_values& capacity, Team team, const P& p) : run_(capacity, std::move(team)), p_(p) {
    run_.load_first(p_);
  }
  // Other weights, or the same after a change. No allocation.
  // Errors: argument_error; the weights of the last load stay then.
  template <class Q> void load(const Q& q) {
    static_assert(is_loaded_as<Q, P>,
                  "tapeless: infer.load(p): p is of the type that run.load(p) was called with");
    if constexpr (is_loaded_as<Q, P>) {
      if constexpr (number<Q>) take(number_as<P>(q, 0));
      else take(q);
    }
  }
  // f(p, x...) as run(p, x...): the result's leaves are views into the arena of this object.
  template <class... X> auto operator()(const X&... x) & TAPELESS_LIFETIMEBOUND {
    static_assert(
        as_many_arguments<sizeof...(X) + 1, sizeof...(A)>,
        "tapeless: run.load(p)(x...): as many arguments as the program was bound for, but the first");
    if constexpr (as_many_arguments<sizeof...(X) + 1, sizeof...(A)>) return run_(p_, x...);
  }
  template <class... X, class Self = loaded> void operator()(const X&...) && {
    static_assert(
        bound_object_with_a_name<Self>,
        "tapeless: run.load(p)(x...): the results die with the loaded object; give it a name: auto infer = "
        "run.load(p); infer(x...)");
  }
  // into(out)(x...): with the results in the caller's buffers.
  template <class Out> auto into(const Out& out) & TAPELESS_LIFETIMEBOUND {
    return [this, to = run_.into(out)](const auto&... x) -> Out { return to(this->p_, x...); };
  }
  template <class Out, class Self = loaded> auto into(const Out& out) && {
    static_assert(bound_object_with_a_name<Self>,
                  "tapeless: run.load(p).into(out): give the loaded object a name: auto infer = run.load(p); "
                  "infer.into(out)(x...)");
    return [out](const auto&...) -> Out { return out; };
  }
  std::size_t arena_bytes() const { return run_.arena_bytes(); }
};

} // namespace tapeless::detail
