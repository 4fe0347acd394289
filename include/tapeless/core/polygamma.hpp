// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// digamma(x) = Gamma'(x) / Gamma(x) and its derivatives polygamma(n, x), n >= 1, of one number. Math has the functions of
// the back end: floor, log, pow, tan.
//   digamma, x > 0: 1 / x is subtracted until x >= 10; then log x - 1 / (2x) - sum of B_2k / (2k x^2k)
//   digamma, x < 0: digamma(1 - x) - pi / tan(pi x)
//   polygamma, x > 0: (-1)^(n+1) n! zeta(n + 1, x), Hurwitz' zeta by the formula of Euler and Maclaurin
//   polygamma, x < 0: (-1)^(n+1) times the sum of n! / distance^(n+1) from poles left of x, plus that from poles right of x
// At 0 each is infinite. Its sign is that of -1 / x, for odd n plus. At -1, -2, ..: NaN, for odd n infinity, which is the
// limit from both sides.
#pragma once
#include <cstdint>

namespace tapeless::detail {

inline constexpr double no_number = __builtin_bit_cast(double, std::uint64_t{0x7ff8000000000000u}),
                        unbounded = __builtin_bit_cast(double, std::uint64_t{0x7ff0000000000000u});

template <class Math> constexpr double digamma_of(double x) {
  if (x == 0) return -1 / x;
  double terms = 0;
  if (x < 0) {
    if (Math::floor(x) == x) return no_number;
    constexpr double pi = 3.14159265358979323846;
    terms = pi / Math::tan(pi * (x - Math::floor(x + 0.5)));
    x = 1 - x;
  }
  if (x == unbounded) return x;
  for (; x < 10; x += 1) terms += 1 / x;
  const double u = 1 / (x * x);
  const double rest =
      u *
      (1.0 / 12 -
       u * (1.0 / 120 -
            u * (1.0 / 252 - u * (1.0 / 240 - u * (1.0 / 132 - u * (691.0 / 32760 -
                                                                    u * (1.0 / 12 - u * 3617.0 / 8160)))))));
  return (Math::log(x) - 0.5 / x - rest) - terms;
}

// n! zeta(n + 1, x), n >= 1, x > 0
template <class Math> constexpr double zeta_of_order(int n, double x) {
  if (x == unbounded) return 0;
  // n! x^-n (the sum of x^n / (x + k)^(n+1)), of which each part is a number of moderate size
  double sum = 0, last = x;
  for (; last < 10 + n; last += 1) sum += Math::pow(x / last, n) / last;
  const double u = 1 / (last * last), s = n + 1;
  double rest = 0, w = s * u;
  // B_2k / (2k)!, each with w = s (s + 1) .. (s + 2k - 2) / last^2k
  rest += w / 12;
  w *= (s + 1) * (s + 2) * u;
  rest -= w / 720;
  w *= (s + 3) * (s + 4) * u;
  rest += w / 30240;
  w *= (s + 5) * (s + 6) * u;
  rest -= w / 1209600;
  w *= (s + 7) * (s + 8) * u;
  rest += w / 47900160;
  w *= (s + 9) * (s + 10) * u;
  rest -= w * (691.0 / 1307674368000.0);
  w *= (s + 11) * (s + 12) * u;
  rest += w / 74724249600.0;
  w *= (s + 13) * (s + 14) * u;
  rest -= w * (3617.0 / 10670622842880000.0);
  sum += Math::pow(x / last, n) * (1.0 / n + (0.5 / last + rest));
  for (int k = 1; k <= n; ++k) sum *= k / x;
  return sum;
}
template <class Math> constexpr double polygamma_of(double order, double x) {
  const int n = static_cast<int>(order);
  if (x != x) return x;
  const bool odd = n % 2 == 1;
  if (x == 0) return odd ? unbounded : -1 / x;
  if (x > 0) return (odd ? 1 : -1) * zeta_of_order<Math>(n, x);
  const double f = -x - Math::floor(-x); // what x is below the nearest pole on its right
  if (!(f > 0)) return odd && x > -unbounded ? unbounded : no_number;
  // of the poles on the left, of those on the right, and of what the latter would be right of 0
  const double left = zeta_of_order<Math>(n, 1 - f), near = zeta_of_order<Math>(n, f),
               beyond = zeta_of_order<Math>(n, 1 - x);
  if (near == unbounded && (odd || left == unbounded)) // the nearer pole says the sign; two as near cancel
    return odd || f < 0.5 ? unbounded : f > 0.5 ? -unbounded : -beyond;
  const double right = near == unbounded ? near : near - beyond;
  return odd ? left + right : right - left;
}

} // namespace tapeless::detail
