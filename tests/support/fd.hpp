#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Finite differences of a scalar function f of a flat vector, in double.
//   gradient:    (f(x + h e_i) - f(x - h e_i)) / 2h for every i        error about h^2 + eps |f| / h
//   directional: d/dt f(x + t v) at 0, D(h) and D(h/2) extrapolated    error about h^4 + eps |f| / h
// f takes a `const std::vector<double>&` and must be smooth within the step.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace support {

// The step for x_i is step * max(1, |x_i|).
template <class F>
std::vector<double> finite_difference_gradient(F&& f, const std::vector<double>& x, double step = 5e-6) {
  std::vector<double> gradient(x.size());
  std::vector<double> moved = x;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double h = step * std::max(1.0, std::abs(x[i]));
    moved[i] = x[i] + h;
    const double above = f(moved);
    const double step_above = moved[i] - x[i]; // what was really added, after rounding
    moved[i] = x[i] - h;
    const double below = f(moved);
    gradient[i] = (above - below) / (step_above + (x[i] - moved[i]));
    moved[i] = x[i];
  }
  return gradient;
}

struct estimate {
  double value = 0;
  double error = 0; // what the extrapolation and the rounding of f may amount to
};

// Along v, which a caller draws at random: one number that a wrong component of the gradient changes.
template <class F>
estimate finite_difference_directional(F&& f, const std::vector<double>& x, const std::vector<double>& v,
                                       double step = 1e-4) {
  double largest = 0; // |f|, for the rounding error
  const auto at = [&](double t) {
    std::vector<double> moved = x;
    for (std::size_t i = 0; i < x.size(); ++i) moved[i] += t * v[i];
    const double value = f(moved);
    largest = std::max(largest, std::abs(value));
    return value;
  };
  const double coarse = (at(step) - at(-step)) / (2 * step);
  const double fine = (at(step / 2) - at(-step / 2)) / step;
  // The extrapolation is trusted to what it changed, and f to 64 roundings.
  const double extrapolated = fine + (fine - coarse) / 3;
  const double rounding = 64 * std::numeric_limits<double>::epsilon() * largest / step;
  return {extrapolated, std::abs(fine - coarse) / 3 + rounding};
}

} // namespace support
