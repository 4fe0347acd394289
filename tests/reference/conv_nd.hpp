#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// conv1d            y[n,k,p] = sum over c, r of w[k,c,r] * x[n, g C/G + c, p stride + r dilation - before]
// conv3d            the same over (d, h, w); planes of padding in front and at the back are multiplied as zeros
// conv_transpose2d  y[n, g C/G + c, p stride + r dilation - top, ...] += x[n,k,p,q] * w[k,c,r,s]
// conv_transpose1d, conv_transpose3d  the same over l and (d, h, w)
//   g = k / (K/G), x zero outside
// Flops: 2 for each tap that meets x or y; in depth for each tap, and 1 for each plane that conv_transpose3d adds.

#include "conv.hpp"

namespace ref {

struct axis_config {
  std::int64_t stride = 1, before = 0, after = 0, dilation = 1;
  std::int64_t count(std::int64_t extent, std::int64_t taps) const {
    return window_count(extent + before + after, taps, stride, dilation);
  }
  // the least extent that `count` windows cover
  std::int64_t covered(std::int64_t count, std::int64_t taps) const {
    return (count - 1) * stride - before - after + dilation * (taps - 1) + 1;
  }
  std::int64_t at(std::int64_t p, std::int64_t tap) const { return p * stride + tap * dilation - before; }
};

template <class T>
array<T> conv1d(const array<T>& x, const array<T>& w, const axis_config& a, std::int64_t groups) {
  array<T> y({x.shape[0], w.shape[0], a.count(x.shape[2], w.shape[2])});
  for (std::int64_t n = 0; n < y.shape[0]; ++n)
    for (std::int64_t k = 0; k < y.shape[1]; ++k)
      for (std::int64_t p = 0; p < y.shape[2]; ++p)
        for (std::int64_t c = 0; c < w.shape[1]; ++c)
          for (std::int64_t r = 0; r < w.shape[2]; ++r) {
            const std::int64_t at = a.at(p, r);
            if (at < 0 || at >= x.shape[2]) continue;
            y.at(dims{n, k, p}) +=
                x.at(dims{n, k / (w.shape[0] / groups) * w.shape[1] + c, at}) * w.at(dims{k, c, r});
          }
  return y;
}

template <class T>
array<T> conv3d(const array<T>& x, const array<T>& w, const axis_config (&a)[3], std::int64_t groups) {
  array<T> y({x.shape[0], w.shape[0], a[0].count(x.shape[2], w.shape[2]), a[1].count(x.shape[3], w.shape[3]),
              a[2].count(x.shape[4], w.shape[4])});
  const auto outside = [](std::int64_t at, std::int64_t extent) { return at < 0 || at >= extent; };
  for (std::int64_t n = 0; n < y.shape[0]; ++n)
    for (std::int64_t k = 0; k < y.shape[1]; ++k)
      for (std::int64_t o = 0; o < y.shape[2]; ++o)
        for (std::int64_t p = 0; p < y.shape[3]; ++p)
          for (std::int64_t q = 0; q < y.shape[4]; ++q)
            for (std::int64_t c = 0; c < w.shape[1]; ++c)
              for (std::int64_t t = 0; t < w.shape[2]; ++t)
                for (std::int64_t r = 0; r < w.shape[3]; ++r)
                  for (std::int64_t s = 0; s < w.shape[4]; ++s) {
                    const std::int64_t d = a[0].at(o, t), h = a[1].at(p, r), u = a[2].at(q, s);
                    if (outside(h, x.shape[3]) || outside(u, x.shape[4])) continue;
                    const T value = outside(d, x.shape[2])
                                        ? T(0)
                                        : x.at(dims{n, k / (w.shape[0] / groups) * w.shape[1] + c, d, h, u});
                    y.at(dims{n, k, o, p, q}) += value * w.at(dims{k, c, t, r, s});
                  }
  return y;
}

// x: (N, C, D, H, W)   result: (N D', C taps, H, W)
template <class T> array<T> unfold(const array<T>& x, const axis_config& a, std::int64_t taps) {
  const std::int64_t out = a.count(x.shape[2], taps);
  array<T> y({x.shape[0] * out, x.shape[1] * taps, x.shape[3], x.shape[4]});
  for (std::int64_t n = 0; n < y.shape[0]; ++n)
    for (std::int64_t c = 0; c < y.shape[1]; ++c)
      for (std::int64_t h = 0; h < y.shape[2]; ++h)
        for (std::int64_t w = 0; w < y.shape[3]; ++w)
          if (const std::int64_t d = a.at(n % out, c % taps); d >= 0 && d < x.shape[2])
            y.at(dims{n, c, h, w}) = x.at(dims{n / out, c / taps, d, h, w});
  return y;
}
// Its transpose: what each element of x was copied to, summed.
template <class T> array<T> unfold_transposed(const array<T>& y, const axis_config& a, std::int64_t taps,
                                              const dims& x_shape) {
  const std::int64_t out = a.count(x_shape[2], taps);
  array<T> x(x_shape);
  for (std::int64_t n = 0; n < y.shape[0]; ++n)
    for (std::int64_t c = 0; c < y.shape[1]; ++c)
      for (std::int64_t h = 0; h < y.shape[2]; ++h)
        for (std::int64_t w = 0; w < y.shape[3]; ++w)
          if (const std::int64_t d = a.at(n % out, c % taps); d >= 0 && d < x_shape[2])
            x.at(dims{n / out, c / taps, d, h, w}) += y.at(dims{n, c, h, w});
  return x;
}

// x: (N, K, P, Q)   w: (K, C/G, R, S)   c: of the convolution whose dgrad it is
template <class T> array<T> conv_transpose2d(const array<T>& x, const array<T>& w, const conv2d_config& c,
                                             std::int64_t more_h, std::int64_t more_w) {
  const std::int64_t height = (x.shape[2] - 1) * c.stride_y - c.top - c.bottom +
                              c.dilation_y * (w.shape[2] - 1) + 1,
                     width = (x.shape[3] - 1) * c.stride_x - c.left - c.right +
                             c.dilation_x * (w.shape[3] - 1) + 1;
  array<T> y({x.shape[0], w.shape[1] * c.groups, height + more_h, width + more_w});
  for_each_product(y.shape, w.shape, x.shape, c, [&](const dims& in_y, const dims& in_w, const dims& in_x) {
    y.at(in_y) += x.at(in_x) * w.at(in_w);
  });
  return y;
}

// x: (N, K, P)   w: (K, C/G, R)
template <class T> array<T> conv_transpose1d(const array<T>& x, const array<T>& w, const axis_config& a,
                                             std::int64_t more, std::int64_t groups) {
  array<T> y({x.shape[0], w.shape[1] * groups, a.covered(x.shape[2], w.shape[2]) + more});
  for (std::int64_t n = 0; n < x.shape[0]; ++n)
    for (std::int64_t k = 0; k < x.shape[1]; ++k)
      for (std::int64_t p = 0; p < x.shape[2]; ++p)
        for (std::int64_t c = 0; c < w.shape[1]; ++c)
          for (std::int64_t r = 0; r < w.shape[2]; ++r)
            if (const std::int64_t at = a.at(p, r); at >= 0 && at < y.shape[2])
              y.at(dims{n, k / (w.shape[0] / groups) * w.shape[1] + c, at}) +=
                  x.at(dims{n, k, p}) * w.at(dims{k, c, r});
  return y;
}

// x: (N, K, D', P, Q)   w: (K, C/G, T, R, S)
template <class T> array<T> conv_transpose3d(const array<T>& x, const array<T>& w, const axis_config (&a)[3],
                                             const dims& more, std::int64_t groups) {
  array<T> y({x.shape[0], w.shape[1] * groups, a[0].covered(x.shape[2], w.shape[2]) + more[0],
              a[1].covered(x.shape[3], w.shape[3]) + more[1],
              a[2].covered(x.shape[4], w.shape[4]) + more[2]});
  const std::int64_t height = y.shape[3], width = y.shape[4], filters = w.shape[0] / groups;
  for (std::int64_t n = 0; n < y.shape[0]; ++n)
    for (std::int64_t c = 0; c < y.shape[1]; ++c)
      for (std::int64_t o = 0; o < x.shape[2]; ++o)
        for (std::int64_t t = 0; t < w.shape[2]; ++t) {
          array<T> plane({height, width}); // what plane o of x and plane t of w make of channel c
          for (std::int64_t k = c / w.shape[1] * filters; k < (c / w.shape[1] + 1) * filters; ++k)
            for (std::int64_t p = 0; p < x.shape[3]; ++p)
              for (std::int64_t q = 0; q < x.shape[4]; ++q)
                for (std::int64_t r = 0; r < w.shape[3]; ++r)
                  for (std::int64_t s = 0; s < w.shape[4]; ++s) {
                    const std::int64_t h = a[1].at(p, r), u = a[2].at(q, s);
                    if (h < 0 || h >= height || u < 0 || u >= width) continue;
                    plane.at(dims{h, u}) +=
                        x.at(dims{n, k, o, p, q}) * w.at(dims{k, c % w.shape[1], t, r, s});
                  }
          const std::int64_t d = a[0].at(o, t);
          if (d < 0 || d >= y.shape[2]) continue;
          for (std::int64_t h = 0; h < height; ++h)
            for (std::int64_t u = 0; u < width; ++u) y.at(dims{n, c, d, h, u}) += plane.at(dims{h, u});
        }
  return y;
}

} // namespace ref
