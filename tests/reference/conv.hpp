#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// y[n,k,p,q] = sum over c, r, s of w[k,c,r,s] * x[n, g C/G + c, p stride_y + r dilation_y - top,
//              q stride_x + s dilation_x - left],   g = k / (K/G),   x zero outside
// x: (N, C, H, W)   w: (K, C/G, R, S)   y: (N, K, P, Q)
// P = (H + top + bottom - dilation_y (R-1) - 1) / stride_y + 1, Q alike
// fprop, dgrad and wgrad are one trilinear form t[x, w, y], summed by one loop.
// Flops of each: 2 for each tap that meets the image, 2 N K P Q (C/G) R S without padding.

#include "array.hpp"

namespace ref {

struct conv2d_config {
  std::int64_t stride_y = 1, stride_x = 1;
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;
  std::int64_t dilation_y = 1, dilation_x = 1;
  std::int64_t groups = 1;
};

// Number of positions of a window of `taps` taps; throws where it does not fit once.
inline std::int64_t window_count(std::int64_t padded, std::int64_t taps, std::int64_t stride,
                                 std::int64_t dilation) {
  const std::int64_t reach = dilation * (taps - 1) + 1;
  if (taps < 1 || stride < 1 || dilation < 1 || reach > padded)
    throw std::invalid_argument("reference: window does not fit");
  return (padded - reach) / stride + 1;
}

inline dims conv2d_shape(const dims& x, const dims& w, const conv2d_config& c) {
  if (x.size() != 4 || w.size() != 4) throw std::invalid_argument("reference: conv2d wants rank 4");
  if (c.groups < 1 || x[1] != w[1] * c.groups || w[0] % c.groups != 0)
    throw std::invalid_argument("reference: channels and groups disagree");
  return {x[0], w[0], window_count(x[2] + c.top + c.bottom, w[2], c.stride_y, c.dilation_y),
          window_count(x[3] + c.left + c.right, w[3], c.stride_x, c.dilation_x)};
}

// Calls f(x index, w index, y index) for every product, those with the padding left out.
template <class F>
void for_each_product(const dims& x, const dims& w, const dims& y, const conv2d_config& c, F f) {
  const std::int64_t filters_per_group = w[0] / c.groups;
  for (std::int64_t n = 0; n < y[0]; ++n)
    for (std::int64_t k = 0; k < y[1]; ++k)
      for (std::int64_t p = 0; p < y[2]; ++p)
        for (std::int64_t q = 0; q < y[3]; ++q)
          for (std::int64_t ch = 0; ch < w[1]; ++ch)
            for (std::int64_t r = 0; r < w[2]; ++r)
              for (std::int64_t s = 0; s < w[3]; ++s) {
                const std::int64_t iy = p * c.stride_y + r * c.dilation_y - c.top;
                const std::int64_t ix = q * c.stride_x + s * c.dilation_x - c.left;
                if (iy < 0 || iy >= x[2] || ix < 0 || ix >= x[3]) continue;
                f(dims{n, k / filters_per_group * w[1] + ch, iy, ix}, dims{k, ch, r, s}, dims{n, k, p, q});
              }
}

template <class T>
array<T> conv2d(const array<T>& x, const array<T>& w, const conv2d_config& c = {}) {
  array<T> y(conv2d_shape(x.shape, w.shape, c));
  for_each_product(x.shape, w.shape, y.shape, c, [&](const dims& in_x, const dims& in_w, const dims& in_y) {
    y.at(in_y) += x.at(in_x) * w.at(in_w);
  });
  return y;
}

// x_bar from y_bar and w; x_shape tells the extents that a stride leaves open.
template <class T>
array<T> conv2d_dgrad(const array<T>& y_bar, const array<T>& w, const dims& x_shape,
                      const conv2d_config& c = {}) {
  if (y_bar.shape != conv2d_shape(x_shape, w.shape, c))
    throw std::invalid_argument("reference: y_bar's shape");
  array<T> x_bar(x_shape);
  for_each_product(x_shape, w.shape, y_bar.shape, c,
                   [&](const dims& in_x, const dims& in_w, const dims& in_y) {
                     x_bar.at(in_x) += y_bar.at(in_y) * w.at(in_w);
                   });
  return x_bar;
}

// w_bar from x and y_bar.
template <class T>
array<T> conv2d_wgrad(const array<T>& x, const array<T>& y_bar, const dims& w_shape,
                      const conv2d_config& c = {}) {
  if (y_bar.shape != conv2d_shape(x.shape, w_shape, c))
    throw std::invalid_argument("reference: y_bar's shape");
  array<T> w_bar(w_shape);
  for_each_product(x.shape, w_shape, y_bar.shape, c,
                   [&](const dims& in_x, const dims& in_w, const dims& in_y) {
                     w_bar.at(in_w) += y_bar.at(in_y) * x.at(in_x);
                   });
  return w_bar;
}

} // namespace ref
