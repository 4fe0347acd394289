// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Functions that can be traced: stateless function objects such as generic lambdas as they are, plain functions as
// fn<f>.
#pragma once
#include "../ops/all.hpp" // IWYU pragma: export

namespace tapeless {

// fn<f>: a plain function as a stateless function object, for jit and the transforms.
template <auto F> struct fn_t {
  template <class... A>
    requires requires(const A&... a) { F(a...); }
  constexpr auto operator()(const A&... a) const {
    return F(a...);
  }
};
template <auto F> inline constexpr fn_t<F> fn{};

namespace detail {

// Not std::is_invocable: its internals would fill the error message. Not a concept: GCC loses the user's line if a
// concept is checked within another one.
template <class F, class... A>
inline constexpr bool takes_these_arguments = requires(const F& f, const A&... a) { f(a...); };
template <class F>
concept stateless = std::is_empty_v<F> && std::is_default_constructible_v<F>;

// The leaves of x without the patterns of sparse matrices, which no transform changes.
template <class X> constexpr void collect(const X& x, vec<int>& ids) {
  for_each_differentiable(x, [&](const auto& h) { ids.push_back(h.id()); });
}
// Makes these leaves handles of the nodes from position `at` on.
template <class X> constexpr void assign(X& x, graph& g, const vec<int>& ids, int& at) {
  for_each_differentiable(x, [&](auto& h) {
    using H = std::remove_cvref_t<decltype(h)>;
    h = H{&g, ids[at++]};
  });
}

} // namespace detail

// f(layer) for each layer of a std::tuple or aggregate: layers of different extents.
template <class Layers, class F> constexpr void for_each_layer(Layers& layers, F&& f) {
  detail::for_each_member(layers, f);
}

} // namespace tapeless
