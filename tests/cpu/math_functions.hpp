// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The functions of cpu/base/math/, each with the C library's in the next larger type, and their error in ulp: for the tests and
// for exhaustive/math.cpp.
#pragma once
#include <tapeless/cpu/base/math.hpp>

#include <reference/gamma.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace reference {

template <class T> using wider = std::conditional_t<sizeof(T) == 4, double, long double>;
template <class T> using bits_of = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

// |y - exact| in units of the last place of T at the exact value, also below the normal numbers. An infinite y counts as the next
// number after the largest one, if the exact value is finite. Infinite: where one is NaN and not the other, an infinity is wrong,
// or a zero has the wrong sign.
template <class T> double error_in_ulp(T y, wider<T> exact) {
  using W = wider<T>;
  using limits = std::numeric_limits<T>;
  constexpr double wrong = std::numeric_limits<double>::infinity();
  if (std::isnan(exact) || std::isnan(y)) return std::isnan(exact) && std::isnan(y) ? 0 : wrong;
  if (std::isinf(exact)) return static_cast<W>(y) == exact ? 0 : wrong;
  if (exact == 0) return y == 0 && std::signbit(y) == std::signbit(exact) ? 0 : wrong;
  const T rounded = static_cast<T>(exact);
  if (y == rounded && std::isinf(y)) return 0;
  const W beyond = std::ldexp(W(1), limits::max_exponent);
  const W value = std::isinf(y) ? std::copysign(beyond, static_cast<W>(y)) : static_cast<W>(y);
  int exponent = limits::min_exponent;
  if (std::abs(exact) >= static_cast<W>(limits::min())) std::frexp(exact, &exponent);
  if (exponent > limits::max_exponent) exponent = limits::max_exponent;
  return static_cast<double>(std::abs(value - exact) / std::ldexp(W(1), exponent - limits::digits));
}

// visit(name, f, exact, bound in ulp) for each function of one argument. V is a batch of any width. exp, erf and sigmoid, which
// may be 0 below the normal numbers, are in math.cpp; lgamma and digamma below.
template <class V, class Visit> void each_function(Visit visit) {
  namespace cpu = tapeless::cpu;
  using W = wider<typename V::value_type>;
  visit("sin", [](V x) { return cpu::sin(x); }, [](W x) { return std::sin(x); }, 2);
  visit("cos", [](V x) { return cpu::cos(x); }, [](W x) { return std::cos(x); }, 2);
  visit("tan", [](V x) { return cpu::tan(x); }, [](W x) { return std::tan(x); }, 2);
  visit("asin", [](V x) { return cpu::asin(x); }, [](W x) { return std::asin(x); }, 2);
  visit("acos", [](V x) { return cpu::acos(x); }, [](W x) { return std::acos(x); }, 2);
  visit("atan", [](V x) { return cpu::atan(x); }, [](W x) { return std::atan(x); }, 2);
  visit("sinh", [](V x) { return cpu::sinh(x); }, [](W x) { return std::sinh(x); }, 2);
  visit("cosh", [](V x) { return cpu::cosh(x); }, [](W x) { return std::cosh(x); }, 2);
  visit("tanh", [](V x) { return cpu::tanh(x); }, [](W x) { return std::tanh(x); }, 2);
  visit("asinh", [](V x) { return cpu::asinh(x); }, [](W x) { return std::asinh(x); }, 2);
  visit("acosh", [](V x) { return cpu::acosh(x); }, [](W x) { return std::acosh(x); }, 2);
  visit("atanh", [](V x) { return cpu::atanh(x); }, [](W x) { return std::atanh(x); }, 2);
  visit("exp2", [](V x) { return cpu::exp2(x); }, [](W x) { return std::exp2(x); }, 2);
  visit("expm1", [](V x) { return cpu::expm1(x); }, [](W x) { return std::expm1(x); }, 2);
  visit("log", [](V x) { return cpu::log(x); }, [](W x) { return std::log(x); }, 2);
  visit("log1p", [](V x) { return cpu::log1p(x); }, [](W x) { return std::log1p(x); }, 2);
  visit("log2", [](V x) { return cpu::log2(x); }, [](W x) { return std::log2(x); }, 2);
  visit("log10", [](V x) { return cpu::log10(x); }, [](W x) { return std::log10(x); }, 2);
  visit("rsqrt", [](V x) { return cpu::rsqrt(x); }, [](W x) { return 1 / std::sqrt(x); }, 2);
  visit("cbrt", [](V x) { return cpu::cbrt(x); }, [](W x) { return std::cbrt(x); }, 2);
  visit(
      "softplus", [](V x) { return cpu::softplus(x); },
      [](W x) { return (x > 0 ? x : W(0)) + std::log1p(std::exp(-std::abs(x))); }, 2);
  visit("erfc", [](V x) { return cpu::erfc(x); }, [](W x) { return std::erfc(x); }, 2);
  visit("erfinv", [](V x) { return cpu::erfinv(x); }, [](W x) { return static_cast<W>(ref::erfinv(x)); }, 4);
  visit("abs", [](V x) { return cpu::abs(x); }, [](W x) { return std::abs(x); }, 0);
  visit("sign", [](V x) { return cpu::sign(x); }, [](W x) { return x > 0 ? W(1) : x < 0 ? W(-1) : x; }, 0);
  visit("floor", [](V x) { return cpu::floor(x); }, [](W x) { return std::floor(x); }, 0);
  visit("ceil", [](V x) { return cpu::ceil(x); }, [](W x) { return std::ceil(x); }, 0);
  visit("round", [](V x) { return cpu::round(x); }, [](W x) { return std::nearbyint(x); }, 0);
}

// visit(name, f, exact, bound, bound of x < 0 or 0), each in eps max(1, |exact|): near a root the error is absolute. 0: x < 0 has
// the bound of x > 0 in eps max(1, |exact|, lgamma(-x)), for the reflection subtracts numbers of that size.
template <class V, class Visit> void each_function_of_gamma(Visit visit) {
  namespace cpu = tapeless::cpu;
  using W = wider<typename V::value_type>;
  visit("lgamma", [](V x) { return cpu::lgamma(x); }, [](W x) { return std::lgamma(x); }, 3, 0);
  visit(
      "digamma", [](V x) { return cpu::digamma(x); },
      [](W x) { return static_cast<W>(ref::polygamma(0, x)); }, 3, 8);
}

} // namespace reference
