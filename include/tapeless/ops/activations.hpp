// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// y[i] = f(a[i])      activations of networks, and functions that keep numbers in a range
//
// They are written with ops of elementwise.hpp and functions.hpp, so that they and their derivatives fuse with what is
// around them. relu, sigmoid and tanh stand in elementwise.hpp, softplus in functions.hpp.
#pragma once
#include <limits>
#include <numbers>
#include "elementwise.hpp"
#include "functions.hpp"

namespace tapeless {

// Errors: compile errors, those of the ops within. The element type is float or double.
// Cost: stated with each, flops an element.
// clang-format off

// clamp(a, lo, hi) = min(max(a, lo), hi): hi where hi < lo. lo, hi: numbers or tensors; int32 too. A NaN of a stays. The
// cotangent passes where lo <= a <= hi, at both ends too. 2 flops
template <detail::handle A, detail::operand L, detail::operand H>
constexpr auto clamp(const A& a, const L& lo, const H& hi) { return min(max(a, lo), hi); }
// hardtanh(a) = clamp(a, -1, 1). 2 flops
template <detail::function_operand A> constexpr auto hardtanh(const A& a) { return clamp(a, -1.0, 1.0); }
// reciprocal(a) = 1 / a. 1 flop
template <detail::function_operand A> constexpr auto reciprocal(const A& a) { return 1.0 / a; }

// leaky_relu(a, slope): a where a > 0, elsewhere slope a; at 0 the derivative is slope. 2 flops
template <detail::function_operand A> constexpr auto leaky_relu(const A& a, double slope = 0.01) { return where(a > 0.0, a, slope * a); }
// elu(a, alpha): a where a > 0, elsewhere alpha (exp(a) - 1); at 0 the derivative is alpha. 3 flops
//   Clevert, Unterthiner, Hochreiter, "Fast and accurate deep network learning by exponential linear units", ICLR 2016
template <detail::function_operand A> constexpr auto elu(const A& a, double alpha = 1) { return where(a > 0.0, a, alpha * expm1(a)); }
// selu(a) = s elu(a, alpha), s = 1.0507.., alpha = 1.6733..; at 0 the derivative is s alpha. 4 flops
//   Klambauer, Unterthiner, Mayr, Hochreiter, "Self-normalizing neural networks", NeurIPS 2017
template <detail::function_operand A> constexpr auto selu(const A& a) {
  constexpr double s = 1.0507009873554804934193349852946, alpha = 1.6732632423543772848170429916717;
  return where(a > 0.0, s * a, (s * alpha) * expm1(a));
}
// gelu(a) = a P(Z <= a), Z a standard normal variable; exact far below 0, too. 4 flops
// gelu_tanh(a): a P approximated, a (1 + tanh(sqrt(2 / pi) (a + 0.044715 a^3))) / 2. 11 flops
//   Hendrycks, Gimpel, "Gaussian error linear units", arXiv:1606.08415
template <detail::function_operand A> constexpr auto gelu(const A& a) { return a * (0.5 * erfc(-std::numbers::sqrt2 / 2 * a)); }
template <detail::function_operand A> constexpr auto gelu_tanh(const A& a) {
  constexpr double twice = 2 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi; // (1 + tanh(u)) / 2 = sigmoid(2 u)
  const auto b = clamp(a, -40.0, 40.0); // beyond it is a or 0, and a^3 might overflow
  return a * sigmoid(b * (twice + twice * 0.044715 * square(b)));
}
// silu(a) = a sigmoid(a), also called swish. 5 flops
template <detail::function_operand A> constexpr auto silu(const A& a) { return a * sigmoid(a); }
// mish(a) = a tanh(softplus(a)). 8 flops    Misra, "Mish: a self regularized non-monotonic activation", BMVC 2020
template <detail::function_operand A> constexpr auto mish(const A& a) { return a * tanh(softplus(a)); }
// hardswish(a) = a clamp(a + 3, 0, 6) / 6. 5 flops    Howard et al., "Searching for MobileNetV3", ICCV 2019
template <detail::function_operand A> constexpr auto hardswish(const A& a) { return a * (clamp(a + 3.0, 0.0, 6.0) * (1.0 / 6)); }
// log_sigmoid(a) = log(sigmoid(a)), which does not overflow. 8 flops
template <detail::function_operand A> constexpr auto log_sigmoid(const A& a) { return -softplus(-a); }

// trunc(a): the integer next to a towards 0. Its derivative is 0. 3 flops
template <detail::function_operand A> constexpr auto trunc(const A& a) { return where(a < 0.0, ceil(a), floor(a)); }

// isnan, isinf, isfinite: bool, no derivative. 1, 2 and 2 flops
template <detail::function_operand A> constexpr auto isnan(const A& a) { return a != a; }
template <detail::function_operand A> constexpr auto isinf(const A& a) { return abs(a) == std::numeric_limits<double>::infinity(); }
template <detail::function_operand A> constexpr auto isfinite(const A& a) { return abs(a) < std::numeric_limits<double>::infinity(); }
// clang-format on

// nan_to_num(a, nan, inf, minus_inf): a, with these numbers for NaN and the infinities; without the last two the largest and the
// least number of a's type. The cotangent of a number that is replaced is 0. 3 flops
template <detail::function_operand A>
constexpr auto nan_to_num(const A& a, double nan = 0, double inf = std::numeric_limits<double>::infinity(),
                          double minus_inf = -std::numeric_limits<double>::infinity()) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double most = detail::dtype_among(a) == dtype::f32 ? double{std::numeric_limits<float>::max()}
                                                           : std::numeric_limits<double>::max();
  return where(a != a, nan,
               where(a == infinity, inf == infinity ? most : inf,
                     where(a == -infinity, minus_inf == -infinity ? -most : minus_inf, a)));
}

} // namespace tapeless
