#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Windows over the images of each channel.                  x: (N, C, H, W)   y, d, idx: (N, C, P, Q)
//   max_pool2d:     y[n,c,p,q] = max of the window, a NaN wins
//   window_argmax:  its place iy W + ix; the first maximum, the first NaN
//   window_gather:  y[n,c,p,q] = x[n,c,idx[n,c,p,q]]          window_scatter: its transpose
//   window_sum:     y[n,c,p,q] = sum of the window            window_sum_transpose: its transpose
//   avg_pool2d:     window_sum / taps inside the image, or / (height width) with count_include_pad
// Padding takes no part in any of them.
// Flops: max, argmax, sum and its transpose 1 for each tap that meets the image (N C P Q height width without
// padding), avg_pool2d 1 per window more; gather 0, scatter 1 per element of d. Where avg_pool2d divides by the taps
// inside the image, and there is padding, these are a window_sum of ones over one plane.

#include "array.hpp"
#include "conv.hpp"
#include "elementwise.hpp"
#include "reduce.hpp"

namespace ref {

struct pool2d_config {
  std::int64_t height = 1, width = 1;
  std::int64_t stride_y = 1, stride_x = 1;
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;
  std::int64_t dilation_y = 1, dilation_x = 1;
};

inline dims pool2d_shape(const dims& x, const pool2d_config& c) {
  if (x.size() != 4) throw std::invalid_argument("reference: pooling wants rank 4");
  return {x[0], x[1], window_count(x[2] + c.top + c.bottom, c.height, c.stride_y, c.dilation_y),
          window_count(x[3] + c.left + c.right, c.width, c.stride_x, c.dilation_x)};
}

// Calls f(x index, y index) for every tap of every window, row by row, those in the padding left out.
template <class F>
void for_each_tap(const dims& x, const dims& y, const pool2d_config& c, F f) {
  for_each_index(y, [&](const dims& i) {
    for (std::int64_t r = 0; r < c.height; ++r)
      for (std::int64_t s = 0; s < c.width; ++s) {
        const std::int64_t iy = i[2] * c.stride_y + r * c.dilation_y - c.top;
        const std::int64_t ix = i[3] * c.stride_x + s * c.dilation_x - c.left;
        if (iy < 0 || iy >= x[2] || ix < 0 || ix >= x[3]) continue;
        f(dims{i[0], i[1], iy, ix}, i);
      }
  });
}

// How many taps of each window meet the image.                                       (N, C, P, Q)
inline array<std::int32_t> taps_inside(const dims& x, const pool2d_config& c) {
  array<std::int32_t> count(pool2d_shape(x, c));
  for_each_tap(x, count.shape, c, [&](const dims&, const dims& in_y) { ++count.at(in_y); });
  return count;
}

// Throws where a window holds nothing but padding.
template <class T>
array<std::int32_t> window_argmax(const array<T>& x, const pool2d_config& c) {
  array<std::int32_t> idx(pool2d_shape(x.shape, c), -1);
  array<T> best(idx.shape, lowest<T>());
  for_each_tap(x.shape, idx.shape, c, [&](const dims& in_x, const dims& in_y) {
    const bool wins = beats(x.at(in_x), best.at(in_y));
    if (!wins && idx.at(in_y) >= 0) return; // the first tap stays where nothing beats the lowest value
    best.at(in_y) = x.at(in_x);
    idx.at(in_y) = static_cast<std::int32_t>(in_x[2] * x.shape[3] + in_x[3]);
  });
  for (std::int32_t place : idx.data)
    if (place < 0) throw std::invalid_argument("reference: window of padding only");
  return idx;
}

// Throws where a window holds nothing but padding.
template <class T>
array<T> max_pool2d(const array<T>& x, const pool2d_config& c) {
  for (std::int32_t taps : taps_inside(x.shape, c).data)
    if (taps == 0) throw std::invalid_argument("reference: window of padding only");
  array<T> y(pool2d_shape(x.shape, c), lowest<T>());
  for_each_tap(x.shape, y.shape, c,
               [&](const dims& in_x, const dims& in_y) { y.at(in_y) = larger(y.at(in_y), x.at(in_x)); });
  return y;
}

template <class T>
array<T> window_gather(const array<T>& x, const array<std::int32_t>& idx) {
  array<T> y(idx.shape);
  for_each_index(idx.shape, [&](const dims& i) {
    y.at(i) = x(i[0], i[1], idx.at(i) / x.shape[3], idx.at(i) % x.shape[3]);
  });
  return y;
}

// x_bar: (N, C, height, width) of zeros plus each d at its place.
template <class T>
array<T> window_scatter(const array<T>& d, const array<std::int32_t>& idx, std::int64_t height,
                        std::int64_t width) {
  if (d.shape != idx.shape) throw std::invalid_argument("reference: places of another shape");
  array<T> x_bar(dims{d.shape[0], d.shape[1], height, width});
  for_each_index(idx.shape,
                 [&](const dims& i) { x_bar(i[0], i[1], idx.at(i) / width, idx.at(i) % width) += d.at(i); });
  return x_bar;
}

template <class T>
array<T> window_sum(const array<T>& x, const pool2d_config& c) {
  array<T> y(pool2d_shape(x.shape, c));
  for_each_tap(x.shape, y.shape, c, [&](const dims& in_x, const dims& in_y) { y.at(in_y) += x.at(in_x); });
  return y;
}

template <class T>
array<T> window_sum_transpose(const array<T>& d, const dims& x_shape, const pool2d_config& c) {
  if (d.shape != pool2d_shape(x_shape, c))
    throw std::invalid_argument("reference: cotangent of another shape");
  array<T> x_bar(x_shape);
  for_each_tap(x_shape, d.shape, c,
               [&](const dims& in_x, const dims& in_y) { x_bar.at(in_x) += d.at(in_y); });
  return x_bar;
}

// What avg_pool2d divides by: rank 0, or (1, 1, P, Q).
template <class T>
array<T> divisor(const dims& x, const pool2d_config& c, bool count_include_pad) {
  const bool padded = c.top != 0 || c.bottom != 0 || c.left != 0 || c.right != 0;
  if (count_include_pad || !padded) return constant(T(static_cast<double>(c.height * c.width)));
  return window_sum(array<T>(dims{1, 1, x[2], x[3]}, T(1)), c);
}
template <class T>
array<T> avg_pool2d(const array<T>& x, const pool2d_config& c, bool count_include_pad = false) {
  return window_sum(x, c) / divisor<T>(x.shape, c, count_include_pad);
}

} // namespace ref
