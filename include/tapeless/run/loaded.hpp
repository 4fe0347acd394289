// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// loaded: a bound program whose first argument, the weights, is given once for many runs: what run.load(p) makes.
#pragma once
#include "bound.hpp"

namespace tapeless::detail {

template <class Backend, class P, class F, class... A> class loaded {
  bound<Backend, true, F, A...> run_;
  P p_;

public:
  loaded(const name_values& capacity, int members, const P& p) : run_(capacity, members), p_(p) {
    run_.load_first(p_);
  }
  // Other weights, or the same after a change. No allocation.
  // Errors: argument_error; the weights of the last load stay then.
  void load(const P& p) {
    run_.load_first(p);
    p_ = p;
  }
  // f(p, x...) as run(p, x...): the result's leaves are views into the arena of this object.
  template <class... X> auto operator()(const X&... x) & {
    static_assert(
        as_many_arguments<sizeof...(X) + 1, sizeof...(A)>,
        "tapeless: run.load(p)(x...): as many arguments as the program was bound for, but the first");
    if constexpr (as_many_arguments<sizeof...(X) + 1, sizeof...(A)>) return run_(p_, x...);
  }
  // into(out)(x...): with the results in the caller's buffers.
  template <class Out> auto into(const Out& out) & {
    return [this, to = run_.into(out)](const auto&... x) -> Out { return to(this->p_, x...); };
  }
  std::size_t arena_bytes() const { return run_.arena_bytes(); }
};

} // namespace tapeless::detail
