// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// y = (x - mean) / sqrt(variance + eps) * gamma + beta        variance = mean((x - mean)^2), over some axes
//   batch_norm      x: (N, C, ...)      over N and the axes after C                 gamma, beta: (C)
//   instance_norm   x: (N, C, L, ...)   over the axes after C                       gamma, beta: (C)
//   group_norm<g>   x: (N, C, ...)      over C / g channels and the axes after C    gamma, beta: (C)
//   layer_norm<k>   x: (..., D...)      over the last k axes, D...                  gamma, beta: (D...)
// rms_norm<k>: y = x / sqrt(mean(x^2) + eps) * gamma, over the last k axes
#pragma once
#include "epsilon.hpp"
#include "moments.hpp"
#include "reduce.hpp"

namespace tapeless {
namespace detail {

// [c] -> [c, 1, ...], which meets axis 1 of a
constexpr int along_channels(graph& g, int a, int rank) {
  shape s{rank - 1, {g[a].s.d[0]}};
  for (int i = 1; i < s.rank; ++i) s.d[i] = 1;
  return reshape(g, a, s);
}
template <class Over> constexpr int channel_norm(graph& g, Over over, double eps, int x) {
  const moments q = moments_of(g, x, over, eps);
  return scaled(g, q, over_deviation(g, q));
}
template <class Over>
constexpr int channel_norm(graph& g, Over over, double eps, int x, int gamma, int beta) {
  const int rank = g[x].s.rank;
  const moments q = moments_of(g, x, over, eps);
  return scaled(g, q, over_deviation(g, along_channels(g, gamma, rank), q.variance, q.eps),
                along_channels(g, beta, rank));
}
// with the statistics as arguments
constexpr int channel_norm(graph& g, double eps, int x, int gamma, int beta, int mean, int variance) {
  const int rank = g[x].s.rank;
  const int scale = along_channels(g, over_deviation(g, gamma, variance, g.constant(eps, g[x].t)), rank);
  const int c = binary(g, op::sub, x, along_channels(g, mean, rank));
  return binary(g, op::add, binary(g, op::mul, c, scale), along_channels(g, beta, rank));
}

template <int K, class... P> constexpr int layer_norm(graph& g, double eps, int x, P... p) {
  const moments q = moments_of(g, x, over_axes{last_axes(g[x].s, K)}, eps);
  const int y = scaled(g, q, over_deviation(g, q));
  if constexpr (sizeof...(P) == 0) return y;
  else {
    const int affine[] = {p...};
    return binary(g, op::add, binary(g, op::mul, y, affine[0]), affine[1]);
  }
}
template <int K, class... P> constexpr int rms_norm(graph& g, double eps, int x, P... gamma) {
  const dtype type = g[x].t;
  const exponents e = exponents_of(type);
  const over_axes over{last_axes(g[x].s, K)};
  const int n = g.extent_value(over.count(g[x].s), type);
  const int squares = unary(g, op::stop_gradient, over.sum(g, unary(g, op::square, x)));
  const scaling q = scaling_of(g, squares, n, eps);
  int total = over.sum(g, unary(g, op::square, binary(g, op::mul, x, q.t)));
  if (!q.may_vanish) { // the same in the loop of the squares: t is 1 or small
    const int low =
        binary(g, op::add, binary(g, op::mul, x, g.constant(e.small, type)), g.constant(e.offset, type));
    total = straight_through(g, where(g, q.fits, squares, over.sum(g, unary(g, op::square, low))), total);
  }
  const int r = over_deviation(g, g.constant(1, type), binary(g, op::div, total, n), q.eps);
  int y = binary(g, op::mul, x, binary(g, op::mul, q.t, r));
  ((y = binary(g, op::mul, y, gamma)), ...);
  return y;
}

// ---- rules for values -----------------------------------------------------------------------------------------

template <class X, class... P>
concept one_float_type =
    floating_point<value_type_t<X>> && (std::is_same_v<value_type_t<X>, value_type_t<P>> && ...);
template <shape X, int Rank>
concept has_axes = X.rank >= Rank;
template <int Axes, shape X>
concept normalises_last_axes = Axes >= 1 && Axes <= X.rank;
constexpr bool groups_divide(const shape& x, int groups) {
  return x.rank >= 2 && groups >= 1 && is_static(x.d[1]) && x.d[1] % groups == 0;
}
template <int Groups, shape X>
concept groups_divide_the_channels = groups_divide(X, Groups);
constexpr shape channels_of(const shape& x) { return {1, {x.d[1]}}; }
constexpr shape last_extents(const shape& x, int k) { return dropped(x, all_axes(x) & ~last_axes(x, k)); }
template <shape Expected, shape... P>
concept extents_are = ((P == Expected) && ...);

template <class X, class... P> constexpr bool require_one_float_type(graph& g, const X& x, const P&... p) {
  const dtype t = g[x.id()].t;
  return require(g, is_float(t) && ((g[p.id()].t == t) && ...),
                 "tapeless: normalisation(x, gamma, beta): all are float, or all are double");
}

// The rules of each op, as sentences for vars and for typed handles.
struct batch_norm_rules {
  static constexpr const char
      *axes = "tapeless: batch_norm(x, gamma, beta): x is (N, C, ...)",
      *extents = "tapeless: batch_norm(x, gamma, beta): gamma, beta, mean and variance are (C)";
  static constexpr bool takes(const shape& x) { return x.rank >= 2; }
  static constexpr shape parameter(const shape& x) { return channels_of(x); }
  template <class... P> static constexpr int build(graph& g, double eps, int x, P... p) {
    return channel_norm(g, over_axes{batch_axes(g[x].s)}, eps, x, p...);
  }
  static constexpr int build(graph& g, double eps, int x, int gamma, int beta, int mean, int variance) {
    return channel_norm(g, eps, x, gamma, beta, mean, variance);
  }
  template <shape X, shape... P> static constexpr bool hold() {
    static_assert(has_axes<X, 2>, "tapeless: batch_norm(x, gamma, beta): x is (N, C, ...)");
    if constexpr (has_axes<X, 2>) {
      static_assert(extents_are<channels_of(X), P...>,
                    "tapeless: batch_norm(x, gamma, beta): gamma, beta, mean and variance are (C)");
      return extents_are<channels_of(X), P...>;
    } else return false;
  }
};
struct instance_norm_rules {
  static constexpr const char *axes = "tapeless: instance_norm(x, gamma, beta): x is (N, C, L, ...)",
                              *extents = "tapeless: instance_norm(x, gamma, beta): gamma and beta are (C)";
  static constexpr bool takes(const shape& x) { return x.rank >= 3; }
  static constexpr shape parameter(const shape& x) { return channels_of(x); }
  template <class... P> static constexpr int build(graph& g, double eps, int x, P... p) {
    return channel_norm(g, over_axes{axes_behind_channels(g[x].s)}, eps, x, p...);
  }
  template <shape X, shape... P> static constexpr bool hold() {
    static_assert(has_axes<X, 3>, "tapeless: instance_norm(x, gamma, beta): x is (N, C, L, ...)");
    if constexpr (has_axes<X, 3>) {
      static_assert(extents_are<channels_of(X), P...>,
                    "tapeless: instance_norm(x, gamma, beta): gamma and beta are (C)");
      return extents_are<channels_of(X), P...>;
    } else return false;
  }
};
template <int Groups> struct group_norm_rules {
  static constexpr const char *
      axes =
         "tapeless: group_norm<groups>(x, gamma, beta): x is (N, C, ...), groups divides the static extent C",
     *extents = "tapeless: group_norm<groups>(x, gamma, beta): gamma and beta are (C)";
  static constexpr bool takes(const shape& x) { return groups_divide(x, Groups); }
  static constexpr shape parameter(const shape& x) { return channels_of(x); }
  template <class... P> static constexpr int build(graph& g, double eps, int x, P... p) {
    return channel_norm(g, over_groups{Groups}, eps, x, p...);
  }
  template <shape X, shape... P> static constexpr bool hold() {
    static_assert(
        groups_divide_the_channels<Groups, X>,
        "tapeless: group_norm<groups>(x, gamma, beta): x is (N, C, ...), groups divides the static extent C");
    if constexpr (groups_divide_the_channels<Groups, X>) {
      static_assert(extents_are<channels_of(X), P...>,
                    "tapeless: group_norm<groups>(x, gamma, beta): gamma and beta are (C)");
      return extents_are<channels_of(X), P...>;
    } else return false;
  }
};
template <int K> struct layer_norm_rules {
  static constexpr const char *
      axes = "tapeless: layer_norm<k>(x, gamma, beta): x has at least k axes, and k is at least 1",
     *extents = "tapeless: layer_norm<k>(x, gamma, beta): gamma and beta have the extents of the last k axes";
  static constexpr bool takes(const shape& x) { return x.rank >= K && K >= 1; }
  static constexpr shape parameter(const shape& x) { return last_extents(x, K); }
  template <class... P> static constexpr int build(graph& g, double eps, int x, P... p) {
    return layer_norm<K>(g, eps, x, p...);
  }
  template <shape X, shape... P> static constexpr bool hold() {
    static_assert(normalises_last_axes<K, X>,
                  "tapeless: layer_norm<k>(x, gamma, beta): x has at least k axes, and k is at least 1");
    if constexpr (normalises_last_axes<K, X>) {
      static_assert(
          extents_are<last_extents(X, K), P...>,
          "tapeless: layer_norm<k>(x, gamma, beta): gamma and beta have the extents of the last k axes");
      return extents_are<last_extents(X, K), P...>;
    } else return false;
  }
};
template <int K> struct rms_norm_rules {
  static constexpr const char
      *axes = "tapeless: rms_norm<k>(x, gamma): x has at least k axes, and k is at least 1",
      *extents = "tapeless: rms_norm<k>(x, gamma): gamma has the extents of the last k axes";
  static constexpr bool takes(const shape& x) { return x.rank >= K && K >= 1; }
  static constexpr shape parameter(const shape& x) { return last_extents(x, K); }
  template <class... P> static constexpr int build(graph& g, double eps, int x, P... p) {
    return rms_norm<K>(g, eps, x, p...);
  }
  template <shape X, shape... P> static constexpr bool hold() {
    static_assert(normalises_last_axes<K, X>,
                  "tapeless: rms_norm<k>(x, gamma): x has at least k axes, and k is at least 1");
    if constexpr (normalises_last_axes<K, X>) {
      static_assert(extents_are<last_extents(X, K), P...>,
                    "tapeless: rms_norm<k>(x, gamma): gamma has the extents of the last k axes");
      return extents_are<last_extents(X, K), P...>;
    } else return false;
  }
};

template <class Rules, class X, class... P> constexpr auto apply_norm(const X& x, double eps, const P&... p) {
  graph& g = graph_of(x);
  if constexpr (any_var<X, P...>) {
    const shape s = g[x.id()].s;
    if (!require_one_float_type(g, x, p...) || !require(g, Rules::takes(s), Rules::axes, s) ||
        !(require(g, g[p.id()].s == Rules::parameter(s), Rules::extents, g[p.id()].s, Rules::parameter(s)) &&
          ...))
      return var{&g, x.id()};
    return var{&g, Rules::build(g, eps, x.id(), p.id()...)};
  } else {
    static_assert(one_float_type<X, P...>,
                  "tapeless: normalisation(x, gamma, beta): all are float, or all are double");
    if constexpr (one_float_type<X, P...>) {
      if constexpr (Rules::template hold<X::extents, P::extents...>())
        return wrap<typename X::value_type, X::extents>(g, Rules::build(g, eps, x.id(), p.id()...));
      else return x;
    } else return x;
  }
}

} // namespace detail

// Shapes: y has x's. Without gamma and beta y is the normalised x. eps is added to the variance, as in PyTorch.
// Errors: compile errors. All are float or all are double; x has the axes, gamma and beta the extents that the op
// names. Mean and variance of no elements are NaN.
// Cost: 13 flops for each element, layer_norm 14, without gamma and beta 12; rms_norm 8, without gamma 7; batch_norm
// with statistics as arguments 3; and some for each mean. Three loops over x, rms_norm two, this batch_norm one.

// clang-format off
// batch_norm(x, gamma, beta): statistics of this batch, for training. x: (N, C, ...)  (Ioffe, Szegedy 2015)
template <detail::handle X> constexpr auto batch_norm(const X& x, detail::epsilon eps = 1e-5) { return detail::apply_norm<detail::batch_norm_rules>(x, eps.value); }
template <detail::handle X, detail::handle G, detail::handle B>
constexpr auto batch_norm(const X& x, const G& gamma, const B& beta, detail::epsilon eps = 1e-5) { return detail::apply_norm<detail::batch_norm_rules>(x, eps.value, gamma, beta); }
// batch_norm(x, gamma, beta, mean, variance): statistics (C) as arguments, for inference
template <detail::handle X, detail::handle G, detail::handle B, detail::handle M, detail::handle V>
constexpr auto batch_norm(const X& x, const G& gamma, const B& beta, const M& mean, const V& variance, detail::epsilon eps = 1e-5) {
  return detail::apply_norm<detail::batch_norm_rules>(x, eps.value, gamma, beta, mean, variance);
}
// instance_norm(x, gamma, beta): x: (N, C, L, ...), gamma, beta: (C)  (Ulyanov, Vedaldi, Lempitsky 2016)
template <detail::handle X> constexpr auto instance_norm(const X& x, detail::epsilon eps = 1e-5) { return detail::apply_norm<detail::instance_norm_rules>(x, eps.value); }
template <detail::handle X, detail::handle G, detail::handle B>
constexpr auto instance_norm(const X& x, const G& gamma, const B& beta, detail::epsilon eps = 1e-5) { return detail::apply_norm<detail::instance_norm_rules>(x, eps.value, gamma, beta); }
// group_norm<groups>(x, gamma, beta): groups of C / groups channels. x: (N, C, ...), gamma, beta: (C)  (Wu, He 2018)
template <int Groups, detail::handle X> constexpr auto group_norm(const X& x, detail::epsilon eps = 1e-5) { return detail::apply_norm<detail::group_norm_rules<Groups>>(x, eps.value); }
template <int Groups, detail::handle X, detail::handle G, detail::handle B>
constexpr auto group_norm(const X& x, const G& gamma, const B& beta, detail::epsilon eps = 1e-5) { return detail::apply_norm<detail::group_norm_rules<Groups>>(x, eps.value, gamma, beta); }
// layer_norm<k>(x, gamma, beta): over the last k axes, whose extents gamma and beta have  (Ba, Kiros, Hinton 2016)
template <int K = 1, detail::handle X> constexpr auto layer_norm(const X& x, detail::epsilon eps = 1e-5) { return detail::apply_norm<detail::layer_norm_rules<K>>(x, eps.value); }
template <int K = 1, detail::handle X, detail::handle G, detail::handle B>
constexpr auto layer_norm(const X& x, const G& gamma, const B& beta, detail::epsilon eps = 1e-5) { return detail::apply_norm<detail::layer_norm_rules<K>>(x, eps.value, gamma, beta); }
// rms_norm<k>(x, gamma): over the last k axes, whose extents gamma has  (Zhang, Sennrich 2019)
template <int K = 1, detail::handle X> constexpr auto rms_norm(const X& x, detail::epsilon eps = 1e-5) { return detail::apply_norm<detail::rms_norm_rules<K>>(x, eps.value); }
template <int K = 1, detail::handle X, detail::handle G>
constexpr auto rms_norm(const X& x, const G& gamma, detail::epsilon eps = 1e-5) { return detail::apply_norm<detail::rms_norm_rules<K>>(x, eps.value, gamma); }
// clang-format on

// batch_norm_stats(x): {mean, variance} of each channel, both (C), as batch_norm(x, gamma, beta) uses them; beside it
// they cost nothing more. The variance is that of the n elements (divided by n); PyTorch's running average takes
// variance * n / (n - 1).   Errors: as batch_norm.
template <detail::handle X> constexpr auto batch_norm_stats(const X& x) {
  using namespace detail;
  graph& g = graph_of(x);
  const auto statistics = [&] {
    const moments q = moments_of(g, x.id(), over_axes{batch_axes(g[x.id()].s)}, 1);
    const int mean = binary(g, op::add, q.u, binary(g, op::div, q.drift, q.t));
    const int variance = binary(g, op::div, binary(g, op::div, q.variance, q.t), q.t);
    const shape s = channels_of(g[x.id()].s);
    return std::pair{reshape(g, mean, s), reshape(g, variance, s)};
  };
  if constexpr (any_var<X>) {
    const shape s = g[x.id()].s;
    if (!require_one_float_type(g, x) || !require(g, batch_norm_rules::takes(s), batch_norm_rules::axes, s))
      return std::tuple{x, x};
    const auto [mean, variance] = statistics();
    return std::tuple{X{&g, mean}, X{&g, variance}};
  } else {
    using T = typename X::value_type;
    static_assert(one_float_type<X>,
                  "tapeless: normalisation(x, gamma, beta): all are float, or all are double");
    if constexpr (one_float_type<X>) {
      if constexpr (batch_norm_rules::hold<X::extents>()) {
        constexpr shape s = channels_of(X::extents);
        const auto [mean, variance] = statistics();
        return std::tuple{wrap<T, s>(g, mean), wrap<T, s>(g, variance)};
      } else return std::tuple{x, x};
    } else return std::tuple{x, x};
  }
}

namespace detail {

// clang-format off
inline constexpr op_rule norm_rules[] = {
  {op::straight_through, "straight_through", kind::elementwise, no_flops, no_facts, [](vjp_context& c) { c.give(1, c.bar); }},
};
// clang-format on

} // namespace detail
} // namespace tapeless
