// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// y[i] = f(a[i]), z[i] = f(y[i], x[i])      the functions of the C library, and sign, rsqrt, softplus, erfinv and the derivatives of
//                                           lgamma
//
// elementwise.hpp has sqrt, exp, log, tanh, erf, sigmoid, relu, max, min and pow. At a kink the derivative is 0: abs'(0),
// and those of sign, floor, ceil and round everywhere;
// the quotient of fmod and remainder is constant.
#pragma once
#include <limits>
#include <numbers>
#include "elementwise.hpp"

namespace tapeless {
namespace detail {
template <int N>
concept is_an_order = N >= 0;
} // namespace detail

// ---- what the user writes -------------------------------------------------------------------------------------
// Errors: compile errors. The element type is float or double, of abs and sign also int32.
// Cost: one flop an element of the result, rsqrt two, softplus six.
// Exactness: cpu/base/math/ says it for each; 2 units in the last place at most, but of erfinv and what has to do with Gamma.
// clang-format off

// |a|. The sign of a: -1, 0 or 1; a NaN stays
template <detail::function_operand A> constexpr auto abs(const A& a) { return detail::apply_arithmetic<detail::op::abs>(a); }
template <detail::function_operand A> constexpr auto sign(const A& a) { return detail::apply_arithmetic<detail::op::sign>(a); }
// a in radians, of any size
template <detail::function_operand A> constexpr auto sin(const A& a) { return detail::apply_real<detail::op::sin>(a); }
template <detail::function_operand A> constexpr auto cos(const A& a) { return detail::apply_real<detail::op::cos>(a); }
template <detail::function_operand A> constexpr auto tan(const A& a) { return detail::apply_real<detail::op::tan>(a); }
// asin, acos: a in [-1, 1]; elsewhere NaN
template <detail::function_operand A> constexpr auto asin(const A& a) { return detail::apply_real<detail::op::asin>(a); }
template <detail::function_operand A> constexpr auto acos(const A& a) { return detail::apply_real<detail::op::acos>(a); }
template <detail::function_operand A> constexpr auto atan(const A& a) { return detail::apply_real<detail::op::atan>(a); }
// acosh: a >= 1, atanh: |a| <= 1; elsewhere NaN
template <detail::function_operand A> constexpr auto sinh(const A& a) { return detail::apply_real<detail::op::sinh>(a); }
template <detail::function_operand A> constexpr auto cosh(const A& a) { return detail::apply_real<detail::op::cosh>(a); }
template <detail::function_operand A> constexpr auto asinh(const A& a) { return detail::apply_real<detail::op::asinh>(a); }
template <detail::function_operand A> constexpr auto acosh(const A& a) { return detail::apply_real<detail::op::acosh>(a); }
template <detail::function_operand A> constexpr auto atanh(const A& a) { return detail::apply_real<detail::op::atanh>(a); }
// exp2(a) = 2^a   expm1(a) = exp(a) - 1   log1p(a) = log(1 + a): exact near a = 0
template <detail::function_operand A> constexpr auto exp2(const A& a) { return detail::apply_real<detail::op::exp2>(a); }
template <detail::function_operand A> constexpr auto expm1(const A& a) { return detail::apply_real<detail::op::expm1>(a); }
template <detail::function_operand A> constexpr auto log1p(const A& a) { return detail::apply_real<detail::op::log1p>(a); }
template <detail::function_operand A> constexpr auto log2(const A& a) { return detail::apply_real<detail::op::log2>(a); }
template <detail::function_operand A> constexpr auto log10(const A& a) { return detail::apply_real<detail::op::log10>(a); }
// rsqrt(a) = 1 / sqrt(a)   cbrt(a) = a^(1/3), of negative a, too
template <detail::function_operand A> constexpr auto rsqrt(const A& a) { return detail::apply_real<detail::op::rsqrt>(a); }
template <detail::function_operand A> constexpr auto cbrt(const A& a) { return detail::apply_real<detail::op::cbrt>(a); }
// The integer below, above, or nearest; ties to even. No derivative.
template <detail::function_operand A> constexpr auto floor(const A& a) { return detail::apply_real<detail::op::floor>(a); }
template <detail::function_operand A> constexpr auto ceil(const A& a) { return detail::apply_real<detail::op::ceil>(a); }
template <detail::function_operand A> constexpr auto round(const A& a) { return detail::apply_real<detail::op::round>(a); }
// softplus(a) = log(1 + exp(a))
template <detail::function_operand A> constexpr auto softplus(const A& a) { return detail::apply_real<detail::op::softplus>(a); }
// erfc(a) = 1 - erf(a), exact where that cancels, too
template <detail::function_operand A> constexpr auto erfc(const A& a) { return detail::apply_real<detail::op::erfc>(a); }
// erfinv(a): the inverse of erf, +-inf at +-1, NaN beyond
template <detail::function_operand A> constexpr auto erfinv(const A& a) { return detail::apply_real<detail::op::erfinv>(a); }
// lgamma(a) = log |Gamma(a)|, inf at 0, -1, -2, ..   digamma(a): its derivative
// polygamma<n>(a): the nth derivative of digamma(a), n >= 0
template <detail::function_operand A> constexpr auto lgamma(const A& a) { return detail::apply_real<detail::op::lgamma>(a); }
template <detail::function_operand A> constexpr auto digamma(const A& a) { return detail::apply_real<detail::op::digamma>(a); }
template <int N, detail::function_operand A> constexpr auto polygamma(const A& a) {
  static_assert(detail::is_an_order<N>, "tapeless: polygamma<n>(a): n is at least 0");
  if constexpr (N > 0 && detail::handle<A>) return detail::apply_real<detail::op::polygamma>(static_cast<double>(N), a);
  else return digamma(a);
}
// fmod(x, y) = x - q y, q the quotient towards 0: it has the sign of x, as std::fmod. remainder(x, y): the same with q towards minus
// infinity: it has the sign of y, as in NumPy, PyTorch and JAX. (std::remainder takes the nearest q: x - y round(x / y).)
template <class X, class Y> requires detail::handle_among<X, Y>
constexpr auto fmod(const X& x, const Y& y) { return detail::apply_real<detail::op::fmod>(x, y); }
template <class X, class Y> requires detail::handle_among<X, Y>
constexpr auto remainder(const X& x, const Y& y) { return detail::apply_real<detail::op::remainder>(x, y); }
// hypot(x, y) = sqrt(x^2 + y^2), without overflow on the way. Its derivatives at (0, 0) are 0.
template <class X, class Y> requires detail::handle_among<X, Y>
constexpr auto hypot(const X& x, const Y& y) { return detail::apply_real<detail::op::hypot>(x, y); }
// atan2(y, x): the angle of the point (x, y), in [-pi, pi]. Its derivatives at (0, 0) are 0.
template <class Y, class X> requires detail::handle_among<Y, X>
constexpr auto atan2(const Y& y, const X& x) { return detail::apply_real<detail::op::atan2>(y, x); }
// clang-format on

// ---- rules ----------------------------------------------------------------------------------------------------
namespace detail {

// Not the functions of the user: as templates they would be instantiated by every program.
constexpr var applied(op f, const var& x) { return {x.g, unary(*x.g, f, x.node)}; }
constexpr var applied(op f, const var& x, const var& y) { return {x.g, binary(*x.g, f, x.node, y.node)}; }

// 1 / sqrt(1 + a^2), and 1 / |a| where a^2 might overflow
constexpr void asinh_vjp(vjp_context& c) {
  const var size = applied(op::abs, c.x(0)), far = size > 1e15;
  c.give(0, c.bar * where(far, 1.0 / where(far, size, 1.0),
                          applied(op::rsqrt, 1.0 + square(where(far, 1.0, c.x(0))))));
}
// Both operands are divided by the larger one, so that no square overflows. At the origin and where one is infinite: 0.
constexpr void atan2_vjp(vjp_context& c) {
  const var y = c.x(0), x = c.x(1), larger = applied(op::max, applied(op::abs, y), applied(op::abs, x));
  const var has_none =
      applied(op::logical_or, larger == 0.0, larger == std::numeric_limits<double>::infinity());
  const var size = where(has_none, 1.0, larger), u = where(has_none, 0.0, y / size),
            v = where(has_none, 0.0, x / size);
  const var per_size = c.bar / (size * where(has_none, 1.0, u * u + v * v));
  if (c.needs(0)) c.give(0, per_size * v);
  if (c.needs(1)) c.give(1, -(per_size * u));
}

// z = x - q y, and q is constant nearby. x / y might be rounded to the next integer.
constexpr void modulo_vjp(vjp_context& c) {
  c.give(0, c.bar);
  if (c.needs(1)) c.give(1, -(c.bar * applied(op::round, applied(op::sub, c.x(0), c.y) / c.x(1))));
}
// The same, but of a y that is infinite or whose sum with x is rounded to y: there z = x, so q = 0, or z = y, so q = -1.
constexpr void remainder_vjp(vjp_context& c) {
  c.give(0, c.bar);
  if (!c.needs(1)) return;
  const int below = binary(c.g, op::eq, c.y.id(), c.v.in[1]);
  const var z{&c.g, where(c.g, below, c.v.in[0], c.y.id())},
      q = applied(op::round, applied(op::sub, c.x(0), z) / c.x(1));
  c.give(1, -(c.bar * var{&c.g, where(c.g, below, c.g.constant(-1, c.v.t), q.id())}));
}
constexpr void hypot_vjp(vjp_context& c) {
  const var at_origin = c.y == 0.0, size = where(at_origin, 1.0, c.y);
  for (int k = 0; k < 2; ++k)
    if (c.needs(k)) c.give(k, where(at_origin, 0.0, c.bar * (c.x(k) / size)));
}

// clang-format off
inline constexpr op_rule function_rules[] = {
  {op::abs, "abs", kind::elementwise, per_output<1>, aligned({zero_0}, {nonzero_0}, not_linear), [](vjp_context& c) { c.give(0, c.bar * applied(op::sign, c.x(0))); }},
  {op::sign, "sign", kind::elementwise, per_output<1>, aligned({zero_0}, {nonzero_0}, not_linear)},
  {op::sin, "sin", kind::elementwise, per_output<1>, slow_function({zero_0}, nowhere), [](vjp_context& c) { c.give(0, c.bar * applied(op::cos, c.x(0))); }},
  {op::cos, "cos", kind::elementwise, per_output<1>, slow_function(nowhere, nowhere), [](vjp_context& c) { c.give(0, -(c.bar * applied(op::sin, c.x(0)))); }},
  {op::tan, "tan", kind::elementwise, per_output<1>, slow_function({zero_0}, nowhere), [](vjp_context& c) { c.give(0, c.bar * (1.0 + square(c.y))); }},
  {op::asin, "asin", kind::elementwise, per_output<1>, slow_function({zero_0}, {nonzero_0 | underflows}), [](vjp_context& c) { c.give(0, c.bar * applied(op::rsqrt, (1.0 - c.x(0)) * (1.0 + c.x(0)))); }},
  {op::acos, "acos", kind::elementwise, per_output<1>, slow_function(nowhere, nowhere), [](vjp_context& c) { c.give(0, -(c.bar * applied(op::rsqrt, (1.0 - c.x(0)) * (1.0 + c.x(0))))); }},
  {op::atan, "atan", kind::elementwise, per_output<1>, slow_function({zero_0}, {nonzero_0 | underflows}), [](vjp_context& c) { c.give(0, c.bar / (1.0 + square(c.x(0)))); }},
  {op::sinh, "sinh", kind::elementwise, per_output<1>, slow_function({zero_0}, {nonzero_0 | underflows}), [](vjp_context& c) { c.give(0, c.bar * applied(op::cosh, c.x(0))); }},
  {op::cosh, "cosh", kind::elementwise, per_output<1>, slow_function(nowhere, nowhere), [](vjp_context& c) { c.give(0, c.bar * applied(op::sinh, c.x(0))); }},
  {op::asinh, "asinh", kind::elementwise, per_output<1>, slow_function({zero_0}, {nonzero_0 | underflows}), asinh_vjp},
  {op::acosh, "acosh", kind::elementwise, per_output<1>, slow_function(nowhere, nowhere), [](vjp_context& c) { c.give(0, c.bar * (applied(op::rsqrt, c.x(0) - 1.0) * applied(op::rsqrt, c.x(0) + 1.0))); }},
  {op::atanh, "atanh", kind::elementwise, per_output<1>, slow_function({zero_0}, {nonzero_0 | underflows}), [](vjp_context& c) { c.give(0, c.bar / ((1.0 - c.x(0)) * (1.0 + c.x(0)))); }},
  {op::exp2, "exp2", kind::elementwise, per_output<1>, slow_function(nowhere, nowhere), [](vjp_context& c) { c.give(0, c.bar * (c.y * std::numbers::ln2)); }},
  {op::expm1, "expm1", kind::elementwise, per_output<1>, slow_function({zero_0}, {nonzero_0 | underflows}), [](vjp_context& c) { c.give(0, c.bar * applied(op::exp, c.x(0))); }},
  {op::log1p, "log1p", kind::elementwise, per_output<1>, slow_function({zero_0}, {nonzero_0 | underflows}), [](vjp_context& c) { c.give(0, c.bar / (1.0 + c.x(0))); }},
  {op::log2, "log2", kind::elementwise, per_output<1>, slow_function(nowhere, nowhere), [](vjp_context& c) { c.give(0, c.bar * (std::numbers::log2e / c.x(0))); }},
  {op::log10, "log10", kind::elementwise, per_output<1>, slow_function(nowhere, nowhere), [](vjp_context& c) { c.give(0, c.bar * (std::numbers::log10e / c.x(0))); }},
  {op::rsqrt, "rsqrt", kind::elementwise, per_output<2>, aligned(nowhere, nowhere, not_linear), [](vjp_context& c) { c.give(0, c.bar * (-0.5 * c.y / c.x(0))); }},
  {op::cbrt, "cbrt", kind::elementwise, per_output<1>, slow_function({zero_0}, {nonzero_0 | underflows}), [](vjp_context& c) { c.give(0, c.bar / (3.0 * square(c.y))); }},
  {op::floor, "floor", kind::elementwise, per_output<1>, aligned({zero_0, maybe}, nowhere, not_linear)},
  {op::ceil, "ceil", kind::elementwise, per_output<1>, aligned({zero_0, maybe}, nowhere, not_linear)},
  {op::round, "round", kind::elementwise, per_output<1>, aligned({zero_0, maybe}, nowhere, not_linear)},
  {op::softplus, "softplus", kind::elementwise, per_output<6>, slow_function(nowhere, nowhere), [](vjp_context& c) { c.give(0, c.bar * applied(op::sigmoid, c.x(0))); }},
  {op::erfc, "erfc", kind::elementwise, per_output<1>, slow_function(nowhere, nowhere), [](vjp_context& c) { c.give(0, c.bar * (-2.0 * std::numbers::inv_sqrtpi * applied(op::exp, -square(c.x(0))))); }},
  {op::erfinv, "erfinv", kind::elementwise, per_output<1>, slow_function({zero_0}, {nonzero_0 | underflows}), [](vjp_context& c) { c.give(0, c.bar * (0.5 / std::numbers::inv_sqrtpi * applied(op::exp, square(c.y)))); }},
  {op::lgamma, "lgamma", kind::elementwise, per_output<1>, slow_function(nowhere, nowhere), [](vjp_context& c) { c.give(0, c.bar * applied(op::digamma, c.x(0))); }},
  {op::digamma, "digamma", kind::elementwise, per_output<1>, slow_function(nowhere, nowhere), [](vjp_context& c) { c.give(0, c.bar * applied(op::polygamma, {&c.g, c.g.constant(1, c.v.t)}, c.x(0))); }},
  {op::polygamma, "polygamma", kind::elementwise, per_output<1>, slow_function(nowhere, nowhere), [](vjp_context& c) { if (c.needs(1)) c.give(1, c.bar * applied(op::polygamma, c.x(0) + 1.0, c.x(1))); }},
  {op::fmod, "fmod", kind::elementwise, per_output<1>, slow_function({zero_0, maybe}, nowhere), modulo_vjp},
  {op::remainder, "remainder", kind::elementwise, per_output<1>, slow_function({zero_0, maybe}, nowhere), remainder_vjp},
  {op::hypot, "hypot", kind::elementwise, per_output<1>, aligned({zero_0 | zero_1}, {nonzero_0, nonzero_1}, not_linear), hypot_vjp},
  {op::atan2, "atan2", kind::elementwise, per_output<1>, slow_function({zero_0 | maybe}, nowhere), atan2_vjp},
};
// clang-format on

} // namespace detail
} // namespace tapeless
