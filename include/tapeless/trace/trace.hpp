// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// trace: calls the user's function once with handles, in constant evaluation, and keeps the nodes that its results
// need. traced<F, A...>::value is that program, a constant.
#pragma once
#include <utility>
#include "../core/placed.hpp"
#include "../core/tensor.hpp"
#include "../core/tree.hpp"
#include "../expr/program.hpp" // IWYU pragma: export
#include "compact.hpp"
#include "function.hpp" // IWYU pragma: export
#include "loss_weights.hpp"
#include "merge_parts.hpp"

namespace tapeless::detail {

// What the function receives for an argument of type A: a number becomes a rank-0 handle, a tree is the same wherever it is.
template <class A> struct traced_argument {
  using type = A;
};
template <number A> struct traced_argument<A> {
  static_assert(element<A> && computes<A>,
                "tapeless: jit(f): a number argument is float, double, int32 or bool");
  using type = tensor<A>;
};
template <placed A> struct traced_argument<A> {
  using type = typename A::tree_type;
};
template <class A> using traced_argument_t = typename traced_argument<std::remove_cvref_t<A>>::type;

template <class X> constexpr void add_inputs(X& x, graph& g, int& position) {
  for_each_leaf(x, [&](auto& h) {
    using H = std::remove_cvref_t<decltype(h)>;
    h = H{&g, g.input(position++, dtype_of<typename H::value_type>, H::extents, is_pattern_v<H>)};
  });
}

template <class F, class... A> using traced_result =
    decltype(F{}(std::declval<const traced_argument_t<A>&>()...));

// a function: to the front end of nvcc a concept with a lambda is never satisfied
template <class R> constexpr bool has_typed_handles_alone() {
  if constexpr (parameter_tree<R>) {
    bool ok = true;
    R r{};
    for_each_leaf(r, [&](auto& h) { ok = ok && typed_handle<decltype(h)>; });
    return ok;
  } else return false;
}
template <class R>
concept result_is_a_tree_of_typed_handles = has_typed_handles_alone<R>();

// F's result; its nodes are in g afterwards.
template <class F, class... A> constexpr auto called_on(graph& g) {
  return [&g](traced_argument_t<A>... a) {
    int position = 0;
    (add_inputs(a, g, position), ...);
    return F{}(static_cast<const traced_argument_t<A>&>(a)...);
  }(traced_argument_t<A>{}...);
}
template <class F, class... A> constexpr raw_program trace(bool stop_at_misuse = false) {
  graph g;
  g.stop_at_misuse = stop_at_misuse;
  const auto y = called_on<F, A...>(g);
  if (!g.sound()) {
    raw_program nothing;
    nothing.broken = g.broken;
    return nothing;
  }
  vec<int> outputs;
  for_each_leaf(y, [&](const auto& h) { outputs.push_back(h.id()); });
  merge_parts(g, outputs);
  mark_loss_weights(g); // before compact, which drops the losses if only their gradient is a result
  raw_program r = compact(g, outputs);
  r.broken = g.broken;
  return r;
}

template <class F, class... A> struct tracing {
  constexpr raw_program operator()() const { return trace<F, A...>(); }
};
// Can the compiler evaluate f?
template <class F, class... A> constexpr bool runs() {
  graph g;
  called_on<F, A...>(g);
  return true;
}
template <bool> struct when_constant {};
template <class F, class... A>
concept runs_while_compiling = requires { typename when_constant<runs<F, A...>()>; };

template <class F, class... A> struct traced {
  static constexpr int leaves = (count_leaves<A>() + ... + 0);
  using made = made_program<tracing<F, A...>, 64 + 64 * leaves, 16 + 4 * leaves>;
  static constexpr const auto& broken = made::checked.broken;
  static constexpr bool sound = !broken.found;
  // @pre !sound: then this is not a constant expression
  static constexpr int repeat() { return trace<F, A...>(true).nodes.size(); }
  static constexpr const auto& value = made::value;
  using result = traced_result<F, A...>;
};

} // namespace tapeless::detail
