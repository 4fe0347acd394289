// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Mean and variance over some axes, and the division by the deviation: builders that the ops of norm.hpp share.
//
// For every constant u:  variance = mean((x - u)^2) - (mean - u)^2  and  x - mean = (x - u) - (mean - u).
// Here u is the mean held constant, with the rounding of its sum; mean - u = mean(x - u) corrects it, so that a large
// mean costs no digits. (Chan, Golub, LeVeque 1983: the corrected two-pass algorithm.) One loop sums x - u and its
// square. The derivative of the mean passes through mean - u, one number for each mean, so that no extra loop sums the
// cotangent of x - u. Derivatives of every order are exact.
// All is computed of x t, t a power of two held constant: 1 unless sum(x^2) overflows, or underflows while eps is tiny.
#pragma once
#include "reduce.hpp"

namespace tapeless::detail {

// The value of a with the derivatives of b, which are cheaper.   @pre the shapes agree
constexpr int straight_through(graph& g, int a, int b) {
  const shape s = g[a].s;
  return g.intern({.o = op::straight_through, .t = g[a].t, .in = {dense(g, a), b, no_node}, .s = s});
}

// Sums and means over some axes; they broadcast with x.
struct over_axes {
  unsigned axes;
  constexpr extent_t count(const shape& x) const { return count_of(x, axes); }
  constexpr int sum(graph& g, int x) const { return detail::sum(g, x, axes); }
  constexpr int mean(graph& g, int x) const { return detail::mean(g, x, axes); }
};
constexpr unsigned batch_axes(const shape& x) { return all_axes(x) & ~2u; }
constexpr unsigned axes_behind_channels(const shape& x) { return all_axes(x) & ~3u; }
constexpr unsigned last_axes(const shape& x, int k) { return all_axes(x) & ~((1u << (x.rank - k)) - 1u); }
// (N, C, ...) -> (N, C, 1, ...): the sum of each channel, then of its group, so that all loops over x have x's shape
struct over_groups {
  int groups;
  constexpr shape grouped(const shape& x) const { return {3, {x.d[0], groups, x.d[1] / groups}}; }
  constexpr int total(graph& g, int x) const { // (N, groups, 1)
    return detail::sum(g, reshape(g, detail::sum(g, x, axes_behind_channels(g[x].s)), grouped(g[x].s)),
                       0b100u);
  }
  constexpr int repeated(graph& g, int a, const shape& x) const {
    return reshape(g, expand(g, a, grouped(x)), keepdims(x, axes_behind_channels(x)));
  }
  constexpr extent_t count(const shape& x) const {
    return times(grouped(x).d[2], count_of(x, axes_behind_channels(x)));
  }
  constexpr int sum(graph& g, int x) const { return repeated(g, total(g, x), g[x].s); }
  constexpr int mean(graph& g, int x) const {
    const shape s = g[x].s;
    return repeated(g, binary(g, op::div, total(g, x), g.extent_value(count(s), g[x].t)), s);
  }
};

// Scales that fit the exponent range of a type. Squares of x * small do not overflow, and do not underflow where those
// of x overflow. middle and big are for numbers whose squares underflow. (x * small + offset)^2 is never denormal,
// which would be slow. An eps above no_eps is larger than any square that underflows. floor replaces eps where x is
// scaled by small.
struct exponents {
  double small, middle, big, offset, no_eps, floor;
};
constexpr exponents exponents_of(dtype t) {
  return t == dtype::f32 ? exponents{0x1p-84, 0x1p40, 0x1p80, 0x1p-62, 0x1p-100, 0x1p-120}
                         : exponents{0x1p-600, 0x1p300, 0x1p600, 0x1p-500, 0x1p-900, 0x1p-1000};
}
// t, and eps t^2, of the sum of squares of n elements
struct scaling {
  int t, eps, fits; // fits: are the squares finite?
  bool may_vanish;
};
constexpr scaling scaling_of(graph& g, int squares, int n, double eps) {
  const dtype type = g[squares].t;
  const exponents e = exponents_of(type);
  const auto number = [&](double x) { return g.constant(x, type); };
  const int fits = binary(g, op::eq, binary(g, op::sub, squares, squares), number(0));
  const int floor = number(eps < e.floor ? eps : e.floor);
  if (eps >= e.no_eps)
    return {where(g, fits, number(1), number(e.small)), where(g, fits, number(eps), floor), fits, false};
  const int mean = binary(g, op::div, squares, n);
  const auto below = [&](double x, int a, int b) {
    return where(g, binary(g, op::lt, mean, number(x)), a, b);
  };
  const int tiny = below(1 / (e.big * e.middle), number(e.big), number(e.middle));
  const int t = where(g, fits, below(1 / e.big, tiny, number(1)), number(e.small));
  const int of_small = binary(g, op::mul, binary(g, op::mul, number(eps), t), t);
  return {t, eps == 0 ? number(0) : where(g, fits, of_small, floor), fits, true};
}

struct moments {
  int u, t;
  int centred, scaled;      // x - u, (x - u) t
  int drift, variance, eps; // (mean - u) t, variance t^2, eps t^2
};
template <class Over> constexpr moments moments_of(graph& g, int x, Over over, double eps) {
  const dtype type = g[x].t;
  const int n = g.extent_value(over.count(g[x].s), type);
  const int part = binary(g, op::div, g.constant(1, type), n); // of each element: their sum may overflow
  const int u = unary(g, op::stop_gradient, over.sum(g, binary(g, op::mul, x, part)));
  const int squares = unary(g, op::stop_gradient, over.sum(g, unary(g, op::square, x)));
  const scaling q = scaling_of(g, squares, n, eps);
  const int centred = binary(g, op::sub, x, u), c = binary(g, op::mul, centred, q.t);
  // Derivatives are those of z = c. No loop of the primal computes z, so none stores it for another one.
  const int z = binary(g, op::sub, binary(g, op::mul, x, q.t), binary(g, op::mul, u, q.t));
  const int scaled = straight_through(g, c, z);
  const int d = over.mean(g, scaled), d2 = unary(g, op::square, d);
  const int mean_square =
      straight_through(g, over.mean(g, unary(g, op::square, c)), over.mean(g, unary(g, op::square, z)));
  const int v = binary(g, op::sub, mean_square, d2);
  // A variance below 2^-14 (mean - u)^2 is only rounding error: it is raised to that bound.
  const int missing = binary(g, op::sub, binary(g, op::mul, d2, g.constant(0x1p-14, type)), v);
  const int added = unary(g, op::stop_gradient, binary(g, op::max, missing, g.constant(0, type)));
  return {u, q.t, centred, scaled, d, binary(g, op::add, v, added), q.eps};
}
// a / sqrt(variance + eps)
constexpr int over_deviation(graph& g, int a, int variance, int eps) {
  return binary(g, op::div, a, unary(g, op::sqrt, binary(g, op::add, variance, eps)));
}
constexpr int over_deviation(graph& g, const moments& q) {
  return over_deviation(g, g.constant(1, g[q.variance].t), q.variance, q.eps);
}
// (x - mean) t * scale, plus shift if there is one. In the derivatives drift * scale is one number for each mean.
constexpr int scaled(graph& g, const moments& q, int scale, int shift = no_node) {
  const int c = binary(g, op::sub, q.centred, binary(g, op::div, q.drift, q.t));
  const int y = binary(g, op::mul, c, binary(g, op::mul, q.t, scale));
  const int z = binary(g, op::mul, q.scaled, scale), d = binary(g, op::mul, q.drift, scale);
  if (shift == no_node) return straight_through(g, y, binary(g, op::sub, z, d));
  return straight_through(g, binary(g, op::add, y, shift),
                          binary(g, op::add, z, binary(g, op::sub, shift, d)));
}

} // namespace tapeless::detail
