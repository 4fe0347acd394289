#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The naive formulas in double, as loops that a workload can wait for: those of tests/reference walk index lists,
// 50 times slower. reference_agrees() compares the two on small shapes.

#include "session.hpp"

#include <algorithm>
#include <numeric>

namespace bench {

// x: (n, c, h, w)   w: (k, c / groups, r, r)   y: (n, k, p(), q())
struct conv_layer {
  std::int64_t n = 1, c = 1, h = 1, w = 1, k = 1, r = 1, stride = 1, pad = 0, dil = 1, groups = 1;
  std::int64_t p() const { return (h + 2 * pad - dil * (r - 1) - 1) / stride + 1; }
  std::int64_t q() const { return (w + 2 * pad - dil * (r - 1) - 1) / stride + 1; }
  std::size_t x_size() const { return static_cast<std::size_t>(n * c * h * w); }
  std::size_t w_size() const { return static_cast<std::size_t>(k * (c / groups) * r * r); }
  std::size_t y_size() const { return static_cast<std::size_t>(n * k * p() * q()); }
  // the longest sums
  double fprop_terms() const { return static_cast<double>(c / groups * r * r); }
  double dgrad_terms() const { return static_cast<double>(k / groups * r * r); }
  double wgrad_terms() const { return static_cast<double>(n * p() * q()); }
};
values conv_fprop(const conv_layer& l, const values& x, const values& w);
values conv_dgrad(const conv_layer& l, const values& y_bar, const values& w);
values conv_wgrad(const conv_layer& l, const values& x, const values& y_bar);

// y[n, c, ..] += b[c], and what this gives for y_bar: b_bar[c] = sum over the rest.   inner: elements behind c
void add_channel(values& y, const values& b, std::int64_t inner);
values sum_channel(const values& y_bar, std::int64_t channels, std::int64_t inner);

// op(a) op(b): (m, k) (k, n), transposed where ta, tb
values matmul(std::int64_t m, std::int64_t n, std::int64_t k, const values& a, const values& b,
              bool ta = false, bool tb = false);

// mean((relu(y) - t)^2) and the cotangent of y
struct relu_loss {
  values value, y_bar;
};
relu_loss mean_square_of_relu(const values& y, const values& t);

// Random targets t, but 0 where y is so near to 0 that rounding may decide its sign: there relu(y) - t vanishes with
// y, so the cotangent is continuous and both signs are right.
template <class View> void fill_targets(std::uint64_t seed, const View& t, const values& y) {
  fill(seed, t);
  double size = 0;
  for (const double v : y) size = std::max(size, std::abs(v));
  for (std::size_t i = 0; i < y.size(); ++i)
    if (std::abs(y[i]) < 1e-4 * size) t[static_cast<std::int64_t>(i)] = 0;
}

// 0 to n - 1 by falling loss_of(i), the first of equal ones first
template <class F> std::vector<int> hardest_first(int n, const F& loss_of) {
  std::vector<int> order(static_cast<std::size_t>(n));
  std::vector<double> loss;
  for (int i = 0; i < n; ++i) loss.push_back(loss_of(i));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int i, int j) {
    return loss[static_cast<std::size_t>(i)] > loss[static_cast<std::size_t>(j)];
  });
  return order;
}

bool reference_agrees();

} // namespace bench
