#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// erfinv, digamma and its derivatives of one long double.
//   erfinv: steps of Newton on erf, or on erfc where that is exact
//   polygamma(n, x), x >= 40: n! times the sum of B_2k (2k + n - 1)! / ((2k)! n! x^(2k + n)) and the terms ahead of it; below, (-1)^n n! / x^(n
//     + 1) is subtracted until x is there, from x < 0 on, too

#include <cmath>
#include <limits>

namespace ref {

inline long double erfinv(long double x) {
  const long double a = std::abs(x);
  if (!(a < 1))
    return a == 1 ? std::copysign(std::numeric_limits<long double>::infinity(), x) : std::nanl("");
  long double y = a < 0.5L ? 0.9L * a : std::sqrt(-std::log(1 - a));
  for (int k = 0; k < 12; ++k) {
    const long double error = a < 0.5L ? std::erf(y) - a : (1 - a) - std::erfc(y),
                      step = error * std::exp(y * y) * 0.886226925452758013649083741670572591L;
    y -= step / (1 + y * step);
  }
  return std::copysign(y, x);
}

inline long double polygamma(int n, long double x) {
  if (x != x || x == -std::numeric_limits<long double>::infinity()) return std::nanl("");
  if (x == 0 && n % 2 == 0) return -1 / x;
  if (x <= 0 && std::floor(x) == x)
    return n % 2 == 1 ? std::numeric_limits<long double>::infinity() : std::nanl("");
  if (x == std::numeric_limits<long double>::infinity()) return n == 0 ? x : 0;
  constexpr long double bernoulli[] = {1.0L / 6,       -1.0L / 30, 1.0L / 42,      -1.0L / 30,    5.0L / 66,
                                       -691.0L / 2730, 7.0L / 6,   -3617.0L / 510, 43867.0L / 798};
  long double factorial = 1;
  for (int k = 2; k <= n; ++k) factorial *= k;
  const long double sign = n % 2 == 1 ? 1 : -1; // (-1)^(n + 1)
  long double below = 0, end = x;
  for (; end < 40; end += 1) below += factorial / std::pow(end, n + 1);
  long double far = n == 0 ? -std::log(end) : factorial / n / std::pow(end, n);
  far += factorial / (2 * std::pow(end, n + 1));
  long double ratio = 1; // (2k + n - 1)! / (2k)!
  for (int j = 1; j <= n + 1; ++j) ratio *= j;
  ratio /= 2;
  for (int k = 1; k <= 9; ++k) {
    far += bernoulli[k - 1] * ratio / std::pow(end, 2 * k + n);
    ratio *= static_cast<long double>(2 * k + n) * (2 * k + n + 1) /
             (static_cast<long double>(2 * k + 1) * (2 * k + 2));
  }
  return sign * (below + far);
}

} // namespace ref
