// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The functions of one or two numbers, by op: those of the device's library, or of the host's.
#pragma once
#include "../../core/bf16.hpp"
#include "../../core/polygamma.hpp"
#include "../../expr/op.hpp"
#include "block.hpp"
#if defined(__CUDACC_RTC__)
#define TAPELESS_MATH ::
#else
#include <cmath>
#include <limits>
#define TAPELESS_MATH std::
#endif

namespace tapeless::cuda {

template <class T> TAPELESS_KERNEL T infinity() {
  if constexpr (sizeof(T) == 4) return __builtin_bit_cast(T, std::uint32_t{0x7f800000u});
  else return __builtin_bit_cast(T, std::uint64_t{0x7ff0000000000000u});
}
// Does x take the place of the maximum y? The first of equal ones stays, and the first NaN.
template <class T> TAPELESS_KERNEL bool wins(T x, T y) { return x > y || (x != x && y == y); }
// A NaN wins.
template <class T> TAPELESS_KERNEL T larger(T x, T y) { return x >= y || x != x ? x : y; }
template <class T> TAPELESS_KERNEL T smaller(T x, T y) { return x <= y || x != x ? x : y; }

#if defined(__CUDACC_RTC__)
template <class T> TAPELESS_KERNEL T inverse_erf(T x) { return ::erfinv(x); }
template <class T> TAPELESS_KERNEL T log_of_gamma(T x) { return ::lgamma(x); }
#else
// The C library has none: steps of Newton on erf, or on erfc where that is exact.
template <class T> TAPELESS_KERNEL T inverse_erf(T x) {
  const double a = std::fabs(static_cast<double>(x));
  if (!(a < 1)) return a == 1 ? std::copysign(infinity<T>(), x) : std::numeric_limits<T>::quiet_NaN();
  double y = a < 0.5 ? 0.9 * a : std::sqrt(-std::log(1 - a));
  for (int k = 0; k < 9; ++k) {
    const double error = a < 0.5 ? std::erf(y) - a : (1 - a) - std::erfc(y),
                 step = error * std::exp(y * y) * 0.88622692545275801365;
    y -= step / (1 + y * step);
  }
  return std::copysign(static_cast<T>(y), x);
}
// lgamma of C writes a global variable.
template <class T> TAPELESS_KERNEL T log_of_gamma(T x) {
#if defined(__GLIBC__) || defined(__APPLE__)
  int sign = 0;
  return static_cast<T>(::lgamma_r(static_cast<double>(x), &sign));
#else
  return std::lgamma(x);
#endif
}
#endif
struct numbers_of_the_device {
  TAPELESS_KERNEL static double floor(double x) { return TAPELESS_MATH floor(x); }
  TAPELESS_KERNEL static double log(double x) { return TAPELESS_MATH log(x); }
  TAPELESS_KERNEL static double pow(double x, double y) { return TAPELESS_MATH pow(x, y); }
  TAPELESS_KERNEL static double tan(double x) { return TAPELESS_MATH tan(x); }
};
TAPELESS_CALLED_BY_KERNELS double digamma(double x) { return detail::digamma_of<numbers_of_the_device>(x); }
TAPELESS_CALLED_BY_KERNELS double polygamma(double order, double x) {
  return detail::polygamma_of<numbers_of_the_device>(order, x);
}

// y = f(x)
template <detail::op O, class T> TAPELESS_KERNEL T function(T x) {
  using detail::op;
  if constexpr (O == op::sqrt) return TAPELESS_MATH sqrt(x);
  else if constexpr (O == op::exp) return TAPELESS_MATH exp(x);
  else if constexpr (O == op::log) return TAPELESS_MATH log(x);
  else if constexpr (O == op::tanh) return TAPELESS_MATH tanh(x);
  else if constexpr (O == op::erf) return TAPELESS_MATH erf(x);
  else if constexpr (O == op::erfc) return TAPELESS_MATH erfc(x);
  else if constexpr (O == op::erfinv) return inverse_erf(x);
  else if constexpr (O == op::lgamma) return log_of_gamma(x);
  else if constexpr (O == op::digamma) return static_cast<T>(digamma(static_cast<double>(x)));
  else if constexpr (O == op::sigmoid) {
    // exp of what is not positive does not overflow
    const T e = TAPELESS_MATH exp(x < 0 ? x : -x), small = e / (T(1) + e);
    return x < 0 ? small : T(1) / (T(1) + e);
  } else if constexpr (O == op::relu) return x <= 0 ? T(0) : x; // a NaN stays
  else if constexpr (O == op::abs) return TAPELESS_MATH fabs(x);
  else if constexpr (O == op::sign) return x > 0 ? T(1) : x < 0 ? T(-1) : x;
  else if constexpr (O == op::sin) return TAPELESS_MATH sin(x);
  else if constexpr (O == op::cos) return TAPELESS_MATH cos(x);
  else if constexpr (O == op::tan) return TAPELESS_MATH tan(x);
  else if constexpr (O == op::asin) return TAPELESS_MATH asin(x);
  else if constexpr (O == op::acos) return TAPELESS_MATH acos(x);
  else if constexpr (O == op::atan) return TAPELESS_MATH atan(x);
  else if constexpr (O == op::sinh) return TAPELESS_MATH sinh(x);
  else if constexpr (O == op::cosh) return TAPELESS_MATH cosh(x);
  else if constexpr (O == op::asinh) return TAPELESS_MATH asinh(x);
  else if constexpr (O == op::acosh) return TAPELESS_MATH acosh(x);
  else if constexpr (O == op::atanh) return TAPELESS_MATH atanh(x);
  else if constexpr (O == op::exp2) return TAPELESS_MATH exp2(x);
  else if constexpr (O == op::expm1) return TAPELESS_MATH expm1(x);
  else if constexpr (O == op::log1p) return TAPELESS_MATH log1p(x);
  else if constexpr (O == op::log2) return TAPELESS_MATH log2(x);
  else if constexpr (O == op::log10) return TAPELESS_MATH log10(x);
  else if constexpr (O == op::rsqrt) return T(1) / TAPELESS_MATH sqrt(x);
  else if constexpr (O == op::cbrt) return TAPELESS_MATH cbrt(x);
  else if constexpr (O == op::floor) return TAPELESS_MATH floor(x);
  else if constexpr (O == op::ceil) return TAPELESS_MATH ceil(x);
  else if constexpr (O == op::round) return TAPELESS_MATH rint(x);
  else if constexpr (O == op::softplus)
    return larger(x, T(0)) + TAPELESS_MATH log1p(TAPELESS_MATH exp(-TAPELESS_MATH fabs(x)));
  else if constexpr (O == op::narrow) return static_cast<T>(static_cast<float>(bf16(static_cast<float>(x))));
  else static_assert(O == op::count_, "tapeless: an elementwise op has a line in cuda/base/functions.hpp");
}
// z = f(x, y)
template <detail::op O, class T> TAPELESS_KERNEL T function(T x, T y) {
  using detail::op;
  if constexpr (O == op::div) return x / y;
  else if constexpr (O == op::max) return larger(x, y);
  else if constexpr (O == op::min) return smaller(x, y);
  else if constexpr (O == op::pow) return TAPELESS_MATH pow(x, y);
  else if constexpr (O == op::fmod) return TAPELESS_MATH fmod(x, y);
  else if constexpr (O == op::remainder) {
    const T r = TAPELESS_MATH fmod(x, y);
    return r == 0 ? TAPELESS_MATH copysign(r, y) : (r < 0) == (y < 0) ? r : r + y;
  } else if constexpr (O == op::hypot) return TAPELESS_MATH hypot(x, y);
  else if constexpr (O == op::polygamma)
    return static_cast<T>(polygamma(static_cast<double>(x), static_cast<double>(y)));
  else if constexpr (O == op::atan2) return TAPELESS_MATH atan2(x, y);
  else static_assert(O == op::count_, "tapeless: an elementwise op has a line in cuda/base/functions.hpp");
}

} // namespace tapeless::cuda
