// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// grad<I...>(f)             (x...)         -> df/dx_I, in the type of argument I; a tuple for several I
// value_and_grad<I...>(f)   (x...)         -> (f(x), df/dx_I...)
// vjp<I...>(f)              (x..., y_bar)  -> J_I^T y_bar
// jvp<I...>(f)              (x..., x_dot_I...) -> sum_I J_I x_dot_I
// hvp<I>(f)                 (x..., v)      -> H_II v
//
// Each is again a function of handles, so they nest. f is called with fresh arguments in place of those that it is
// differentiated by, and the actual ones are put in afterwards. So a value that an inner function captures, or that is
// passed twice, is never mistaken for the variable of differentiation.
#pragma once
#include "../core/tree.hpp"
#include "../trace/function.hpp"
#include "../trace/merge_parts.hpp"
#include "derivative.hpp"
#include "fresh_arguments.hpp"

namespace tapeless {
namespace detail {

template <int N, int... I>
concept wrt_names_an_argument = ((I >= 0 && I < N) && ...);
template <class Y>
concept returns_something = !std::is_void_v<Y>;
template <class Y>
concept scalar_or_tuple_that_begins_with_one =
    requires { requires handle<Y>; } || requires { requires is_tuple_v<Y>; };
template <int Rank>
concept result_is_a_scalar = Rank == 0;
template <class X, class T> // also of a tensor of const elements
concept tangent_has_the_type_of_its_argument = std::is_same_v<X, T> || requires {
  requires typed_handle<X> && typed_handle<T>;
  requires std::is_same_v<typename X::value_type, typename T::value_type> && X::extents == T::extents;
};

// takes_these_arguments for the types of a tuple
template <class F, class Arguments> inline constexpr bool takes_arguments_of = false;
template <class F, class... A>
inline constexpr bool takes_arguments_of<F, std::tuple<A...>> = takes_these_arguments<F, A...>;
// The first N of A, as a tuple; empty if N is negative
template <int N, class... A> constexpr auto first_types() {
  return []<std::size_t... K>(std::index_sequence<K...>) {
    return std::type_identity<std::tuple<std::tuple_element_t<K, std::tuple<A...>>...>>{};
  }(std::make_index_sequence<(N > 0 ? N : 0)>{});
}
template <int N, class... A> using first_types_t = typename decltype(first_types<N, A...>())::type;

// references(a...): all arguments by number, nth<I>. One small base for each, so that many arguments stay cheap.
template <std::size_t I, class A> struct numbered {
  A& x;
};
template <std::size_t I, class A> constexpr A& nth(const numbered<I, A>& a) { return a.x; }
template <class Numbers, class... A> struct references_to;
template <std::size_t... I, class... A>
struct references_to<std::index_sequence<I...>, A...> : numbered<I, A>... {
  constexpr explicit references_to(A&... a) : numbered<I, A>{a}... {}
};
template <class... A> constexpr auto references(A&... a) {
  return references_to<std::index_sequence_for<A...>, A...>(a...);
}

template <class Y> constexpr const auto& primary(const Y& y) {
  if constexpr (is_tuple_v<Y>) return std::get<0>(y);
  else return y;
}

// A derivative is a function; jit makes a program of it.
template <class F> struct derivative_of {
  [[no_unique_address]] F f;

  template <class... A, class... O> static constexpr auto bind(const O&...) { return no_program<A...>(); }
  template <class... A> static constexpr auto cost() { return no_program<A...>(); }
  template <class... A> static constexpr auto explain() { return no_program<A...>(); }
  template <class... A> static constexpr int no_program() {
    static_assert(
        never<A...>,
        "tapeless: grad(f).bind<A...>(), .cost, .explain: of a program: tl::jit(tl::grad(f)).bind<A...>(), and "
        "so value_and_grad, vjp, jvp and hvp");
    return 0;
  }
};

template <bool WithValue, class F, int... I> struct grad_fn : derivative_of<F> {
  using derivative_of<F>::f;

  template <class... A> constexpr auto operator()(A... a) const {
    static_assert(wrt_names_an_argument<sizeof...(A), I...>,
                  "tapeless: grad<i...>(f): every i names an argument");
    static_assert(
        takes_these_arguments<F, A...>,
        "tapeless: grad<i...>(f): f takes these arguments, numbers too as auto or tl::scalar<T>; hvp<i>(f) takes "
        "one v more");
    if constexpr (wrt_names_an_argument<sizeof...(A), I...> && takes_these_arguments<F, A...>) {
      const auto x = references(a...);
      const handles_in all(a...);
      graph& g = *all.g;
      const fresh_arguments wrt(f, all, nth<I>(x)...);
      using Y = decltype(f(a...));
      static_assert(returns_something<Y>, "tapeless: grad<i...>(f): f returns a value: a return is missing");
      auto y = f(a...);
      static_assert(
          scalar_or_tuple_that_begins_with_one<Y>,
          "tapeless: grad<i...>(f): f returns a scalar tensor, or a tuple of one and auxiliary values; x[i] is none: "
          "use slice or sum");
      using P = std::remove_cvref_t<decltype(primary(y))>;
      static_assert(result_is_a_scalar<shape_in_type<P>().rank>,
                    "tapeless: grad<i...>(f): f returns a scalar; reduce it with sum or mean");
      vec<int> values;
      collect(y, values);
      if (int first = 0; merge_parts(g, values)) assign(y, g, values, first);
      const int value = primary(y).id();
      require(g, g[value].s.rank == 0,
              "tapeless: grad<i...>(f): f returns a scalar; reduce it with sum or mean");
      vec<int> x_bar =
          vjp(g, vec<int>(1, value), vec<int>(1, g.constant(1, tangent_type(g[value].t))), wrt.fresh);
      make_zeros(g, x_bar, wrt.fresh);
      vec<int> ids = x_bar;
      if constexpr (WithValue) collect(y, ids);
      wrt.put_back(g, ids);
      int at = 0;
      (assign(nth<I>(x), g, ids, at), ...);
      if constexpr (WithValue) {
        assign(y, g, ids, at);
        return std::tuple{y, nth<I>(x)...};
      } else if constexpr (sizeof...(I) == 1) return nth<(I, ...)>(x);
      else return std::tuple{nth<I>(x)...};
    }
  }
};

// Copies of the arguments K
template <class X, std::size_t... K> constexpr auto first_of(const X& x, std::index_sequence<K...>) {
  return std::tuple<std::remove_cvref_t<decltype(nth<K>(x))>...>{nth<K>(x)...};
}

template <class F, int... I> struct vjp_fn : derivative_of<F> {
  using derivative_of<F>::f;

  template <class... A> constexpr auto operator()(const A&... a) const {
    constexpr int n = static_cast<int>(sizeof...(A)) - 1;
    constexpr bool takes = takes_arguments_of<F, first_types_t<n, A...>>;
    static_assert(
        takes,
        "tapeless: vjp<i...>(f)(x..., y_bar): f takes the arguments x..., numbers too as auto or tl::scalar<T>, "
        "and one y_bar follows");
    static_assert(wrt_names_an_argument<n, I...>,
                  "tapeless: vjp<i...>(f)(x..., y_bar): every i names an argument of f");
    if constexpr (wrt_names_an_argument<n, I...> && takes) {
      const auto x = references(a...);
      auto arguments = first_of(x, std::make_index_sequence<n>{});
      const handles_in all(a...);
      graph& g = *all.g;
      const fresh_arguments wrt(f, all, std::get<I>(arguments)...);
      const auto y = with_elements(arguments, f);
      static_assert(tangent_has_the_type_of_its_argument<std::remove_const_t<decltype(y)>,
                                                         std::tuple_element_t<n, std::tuple<A...>>>,
                    "tapeless: vjp<i...>(f)(x..., y_bar): y_bar has the type of f's result");
      vec<int> out, y_bar;
      collect(y, out);
      merge_parts(g, out);
      collect(nth<n>(x), y_bar);
      require_same_types(g, out, y_bar,
                         "tapeless: vjp<i...>(f)(x..., y_bar): y_bar has the type of f's result");
      vec<int> x_bar = vjp(g, out, y_bar, wrt.fresh);
      make_zeros(g, x_bar, wrt.fresh);
      wrt.put_back(g, x_bar);
      int at = 0;
      (assign(std::get<I>(arguments), g, x_bar, at), ...);
      if constexpr (sizeof...(I) == 1) return std::get<(I, ...)>(arguments);
      else return std::tuple{std::get<I>(arguments)...};
    }
  }
};

template <class F, int... I> struct jvp_fn : derivative_of<F> {
  using derivative_of<F>::f;

  template <class... A> constexpr auto operator()(const A&... a) const {
    constexpr int n = static_cast<int>(sizeof...(A)) - static_cast<int>(sizeof...(I));
    constexpr bool takes = takes_arguments_of<F, first_types_t<n, A...>>;
    static_assert(
        takes,
        "tapeless: jvp<i...>(f)(x..., x_dot...): f takes the arguments x..., numbers too as auto or "
        "tl::scalar<T>, and one x_dot follows for each i");
    static_assert(wrt_names_an_argument<n, I...>,
                  "tapeless: jvp<i...>(f)(x..., x_dot...): every i names an argument of f");
    if constexpr (wrt_names_an_argument<n, I...> && takes) {
      const auto x = references(a...);
      auto arguments = first_of(x, std::make_index_sequence<n>{});
      const handles_in all(a...);
      graph& g = *all.g;
      const fresh_arguments wrt(f, all, std::get<I>(arguments)...);
      vec<int> x_dot;
      [&]<std::size_t... K>(std::index_sequence<K...>) {
        static_assert((tangent_has_the_type_of_its_argument<std::tuple_element_t<I, decltype(arguments)>,
                                                            std::tuple_element_t<n + K, std::tuple<A...>>> &&
                       ...),
                      "tapeless: jvp<i...>(f)(x..., x_dot...): a tangent has the type of its argument");
        (collect(nth<n + K>(x), x_dot), ...);
      }(std::make_index_sequence<sizeof...(I)>{});
      require_same_types(g, wrt.actual, x_dot,
                         "tapeless: jvp<i...>(f)(x..., x_dot...): a tangent has the type of its argument");
      auto y = with_elements(arguments, f);
      vec<int> out;
      collect(y, out);
      merge_parts(g, out);
      vec<int> y_dot = jvp(g, out, wrt.fresh, x_dot);
      make_zeros(g, y_dot, out);
      wrt.put_back(g, y_dot);
      int at = 0;
      assign(y, g, y_dot, at);
      return y;
    }
  }
};

} // namespace detail

// Each returns a function object, to be called with handles inside a program or given to jit. Arguments may be
// parameter trees; I counts them from 0, and is 0 if omitted. Errors, at compile time: I names an argument, f takes the
// arguments, and every leaf of argument I is float or double. Cost: that of the nodes that the results need; what f and
// its derivative share is computed once.

// grad<I...>(f)(x...) = df/dx_I, in the type of x_I; a tuple for several I. f returns a scalar, or a tuple that begins
// with one.
template <int... I, class F> constexpr auto grad(F f) {
  if constexpr (sizeof...(I) == 0) return detail::grad_fn<false, F, 0>{{f}};
  else return detail::grad_fn<false, F, I...>{{f}};
}
// value_and_grad<I...>(f)(x...) = (f(x), df/dx_I...). If f returns a tuple, its first member is differentiated; the
// others are auxiliary and are returned with the value.
template <int... I, class F> constexpr auto value_and_grad(F f) {
  if constexpr (sizeof...(I) == 0) return detail::grad_fn<true, F, 0>{{f}};
  else return detail::grad_fn<true, F, I...>{{f}};
}
// vjp<I...>(f)(x..., y_bar) = J_I^T y_bar, shaped as the result of grad; y_bar has the type of f's result.
template <int... I, class F> constexpr auto vjp(F f) {
  if constexpr (sizeof...(I) == 0) return detail::vjp_fn<F, 0>{{f}};
  else return detail::vjp_fn<F, I...>{{f}};
}
// jvp<I...>(f)(x..., x_dot_I...) = sum_I J_I x_dot_I, in the type of f's result; x_dot_I has the type of x_I.
template <int... I, class F> constexpr auto jvp(F f) {
  if constexpr (sizeof...(I) == 0) return detail::jvp_fn<F, 0>{{f}};
  else return detail::jvp_fn<F, I...>{{f}};
}
// hvp<I>(f)(x..., v) = H_II v, in the type of x_I, as v is. f returns a scalar.
template <int I = 0, class F> constexpr auto hvp(F f) { return jvp<I>(grad<I>(f)); }

} // namespace tapeless
