// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Gamma's logarithm and the derivatives of that. Their errors stand in docs/reference/functions.md.
//   lgamma(x) = log |Gamma(x)|, of all lanes
//     x >= 8: (x - 1/2) (log x - 1) + (log(2 pi) - 1) / 2 + p(1 / x^2) / x
//     -1/2 < x < 8: t p(t) at 2 + t, |t| <= 1/2, and from there to x the logarithm of a product
//     x <= -1/2: log(pi / |x sin(pi x)|) - lgamma(-x)
//     inf at 0, -1, -2, .. and at -inf
//   digamma(x) = lgamma'(x), of all lanes
//     x >= 8: log x - 1 / (2x) - p(1 / x^2) / x^2
//     0 <= x < 8: (y - root) p(y - 3/2) at y in [1, 2], and from there to x a sum of reciprocals
//     x < 0: digamma(1 - x) - pi / tan(pi x)
//     -+inf at +-0; NaN at -1, -2, .. and at -inf
//   polygamma(n, x), digamma's nth derivative, n >= 1: one lane after another, in double
// Coefficients: tools/minimax.py.
#pragma once
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include "../../../core/polygamma.hpp"
#include "../../../expr/op.hpp"
#include "../simd/vector.hpp"
#include "arithmetic.hpp"
#include "logarithm.hpp"
#include "rounding.hpp"
#include "trigonometric.hpp"

namespace tapeless::cpu {

// lgamma(2 + t), |t| <= 1/2
template <class V> [[gnu::always_inline]] inline V lgamma_near_2(const V& t) {
  static constexpr double f[] = {0.4227843345,    0.3224670188,    -0.06735221907,
                                 0.02058160265,   -0.007387423082, 0.002879050728,
                                 -0.001177864583, 0.0005698355565, -0.0002698102929};
  static constexpr double d[] = {
      0.42278433509846714,      0.322467033424113235,     -0.0673523010531983124,   0.0205808084277805678,
      -0.00738555102864970921,  0.00289051033102384965,   -0.0011927539127580101,   0.000509669515672312811,
      -0.000223154735180240134, 0.0000994576700903306044, -0.000044926530900870486, 0.0000205056169396821951,
      -9.43723861381535449e-6,  4.38459175806045685e-6,   -2.04974588495887235e-6,  9.20310006045309908e-7,
      -4.20062716193259523e-7,  2.78498920884637109e-7,   -1.43276434153119889e-7};
  return t * polynomial(f, d, t);
}
template <class V> [[gnu::always_inline]] inline V lgamma(const V& x) {
  static constexpr double f[] = {0.08333333326, -0.002777698651, 0.0007800448178};
  static constexpr double d[] = {0.0833333333333332949,    -0.0027777777776069072,  0.000793650665752123921,
                                 -0.000595202774222767615, 0.000837297954779975831, -0.00165299442654601702};
  using T = typename V::value_type;
  const V one(T(1)), half(T(0.5)), a = xsimd::abs(x), inf(std::numeric_limits<T>::infinity());
  V y = a, product = one;
  unroll<6>([&](auto) __attribute__((always_inline)) {
    const auto down = y > V(T(2.5));
    y = select(down, y - one, y);
    product = select(down, product * y, product);
  });
  const auto far = a >= V(T(8)), below = y < V(T(1.5)), near_0 = a < half;
  const V t = select(near_0, x, select(below, y - one, y - V(T(2))));
  product = select(near_0, a * (one + x), select(below, y, product));
  const V l = cpu::log(select(far, a, product)), per_a = one / a;
  const V stirling =
      fma(a - half, l - one, fma(per_a, polynomial(f, d, per_a * per_a), V(T(0.41893853320467274178))));
  V r = select(far, stirling, lgamma_near_2(t) + select(below, -l, l));
  if (const auto left = x <= -half; xsimd::any(left)) {
    const V s = xsimd::abs(cpu::sin(V(static_cast<T>(std::numbers::pi)) * (a - cpu::round(a))));
    const V reflected = cpu::log(V(static_cast<T>(std::numbers::pi)) / (a * s)) - r;
    r = select(left, select(s == V(T(0)), inf, reflected), r);
  }
  return select(a == inf, inf, r);
}

template <class V> [[gnu::always_inline]] inline V digamma(const V& x) {
  static constexpr double f[] = {0.9510558754,  -0.4236274194,  0.2405426581,  -0.1484051585,
                                 0.0949807184,  -0.06191411713, 0.04089467757, -0.02708952019,
                                 0.01691009579, -0.011145511,   0.0112313888,  -0.007625080748};
  static constexpr double d[] = {
      0.951055876031832879,     -0.423627421281460602,    0.240542484240787237,    -0.148404923053880298,
      0.0949887244528496185,    -0.0619221332755418723,   0.0407608339433991703,   -0.0269757966576554402,
      0.0179072482353577434,    -0.0119082201525510868,   0.00792702333083685884,  -0.00527993664381149976,
      0.00351808867196091174,   -0.00234549977102249224,  0.00156350360605951509,  -0.00103643236362093816,
      0.000690281311104961066,  -0.000486033490529075347, 0.000325882789933891725, -0.000144658503223480087,
      0.0000932923338844340966, -0.000178331691777097972, 0.000121174881721727743};
  static constexpr double far_f[] = {0.08333333059, -0.0083322579, 0.003847904259};
  static constexpr double far_d[] = {0.0833333333333258431,  -0.00833333332390484365,
                                     0.00396825000752486699, -0.00416589801204577191,
                                     0.00749953330731134888, -0.0172706819634315349};
  constexpr double root = of_floats<V> ? 0x1.762d86p+0 : 0x1.762d86356be3fp+0,
                   root_low = of_floats<V> ? 0x1.ab5f1fb70d4e4p-27 : 0x1.b86a722197829p-54;
  using T = typename V::value_type;
  const V one(T(1)), zero(T(0));
  const auto left = x < zero;
  const V a = select(left, one - x, x);
  const auto far = a >= V(T(8)), below = a < one;
  V y = select(below, a + one, a), above = select(below, -one, zero),
    under = select(below, a, one); // the sum as a fraction
  unroll<6>([&](auto) __attribute__((always_inline)) {
    const auto down = y > V(T(2));
    y = select(down, y - one, y);
    above = select(down, fma(above, y, under), above);
    under = select(down, under * y, under);
  });
  const V distance = (y - V(static_cast<T>(root))) - V(static_cast<T>(root_low));
  const V near = fma(distance, polynomial(f, d, y - V(T(1.5))), above / under);
  const V per_a = one / a, u = per_a * per_a;
  const V r = select(far, cpu::log(a) - fma(u, polynomial(far_f, far_d, u), V(T(0.5)) * per_a), near);
  if (!xsimd::any(left)) return r;
  const V pi(static_cast<T>(std::numbers::pi)), rest = x - cpu::round(x);
  const V reflected =
      select(rest == zero, V(std::numeric_limits<T>::quiet_NaN()), r - pi / cpu::tan(pi * rest));
  return select(left, reflected, r);
}

// V names the machine, as in reduction.hpp.
template <class V> struct numbers_of_the_host {
  static double floor(double x) { return std::floor(x); }
  static double log(double x) { return std::log(x); }
  static double pow(double x, double y) { return std::pow(x, y); }
  static double tan(double x) { return std::tan(x); }
};
template <class V, class T> [[gnu::noinline]] void polygamma_lanes(const T* n, T* x) {
  for (std::size_t i = 0; i < V::size; ++i)
    x[i] = static_cast<T>(
        detail::polygamma_of<numbers_of_the_host<V>>(static_cast<double>(n[i]), static_cast<double>(x[i])));
}
template <class V> [[gnu::always_inline]] inline V polygamma(const V& n, const V& x) {
  alignas(64) typename V::value_type order[V::size], y[V::size];
  n.store_aligned(order);
  x.store_aligned(y);
  polygamma_lanes<V>(order, y);
  return V::load_aligned(y);
}

// ---- by op
template <> struct function_for<detail::op::lgamma> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return cpu::lgamma(x); }
};
template <> struct function_for<detail::op::digamma> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return cpu::digamma(x); }
};
template <> struct function_for<detail::op::polygamma> {
  template <class V> [[gnu::always_inline]] static V of(const V& n, const V& x) {
    return cpu::polygamma(n, x);
  }
};

} // namespace tapeless::cpu
