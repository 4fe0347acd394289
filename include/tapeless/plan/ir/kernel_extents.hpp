// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The extents of a kernel step, or of a node: what its attributes and the shapes of its operands and result say, as the
// kernels of all back ends take it (core/geometry.hpp).
#pragma once
#include "../../core/geometry.hpp" // IWYU pragma: export
#include "../../core/shape.hpp"
#include "../../expr/op.hpp"
#include "../../ops/conv.hpp"
#include "../../ops/matmul.hpp"
#include "../../ops/pool.hpp"
#include "../../ops/unfold.hpp"
#include "../../ops/window.hpp"

namespace tapeless::detail {

// The extent of axes [from, to).
constexpr extent_t product(const shape& s, int from, int to) {
  extent_t n = 1;
  for (int i = from; i < to; ++i) n *= s.d[i];
  return n;
}

// a, b, c: shapes of the operands and the result, as numbers
template <class Step> constexpr matmul_extents matmul_of(const Step& s, const shape& a, const shape& b,
                                                         const shape& c) {
  matmul_extents e;
  e.ta = (s.attr & 1u) != 0;
  e.tb = (s.attr & 2u) != 0;
  e.batch = product(c, 0, c.rank - 2);
  e.m = c.d[c.rank - 2];
  e.n = c.d[c.rank - 1];
  e.k = cols(a, e.ta);
  e.a_batched = e.batch != 1 && product(a, 0, a.rank - 2) == e.batch;
  e.b_batched = e.batch != 1 && product(b, 0, b.rank - 2) == e.batch;
  return e;
}

// The extents that convolution and pooling share: of image x, output y and the sliding window.
template <class Extents, class Step> constexpr Extents sliding(const Step& s, const shape& x,
                                                               const shape& y) {
  const window_attributes a = unpack(s.attr);
  Extents e;
  e.h = x.d[2];
  e.w = x.d[3];
  e.p = y.d[2];
  e.q = y.d[3];
  e.stride_h = a.stride.h;
  e.stride_w = a.stride.w;
  e.pad_top = a.padding.top;
  e.pad_left = a.padding.left;
  e.dil_h = a.dilation.h;
  e.dil_w = a.dilation.w;
  return e;
}
// image, w, result: of fprop, whichever of them the step computes
template <class Step> constexpr conv_extents conv_of(const Step& s, const shape& image, const shape& w,
                                                     const shape& result) {
  const shape x = image_of(image, s.attr2), y = image_of(result, s.attr2);
  auto e = sliding<conv_extents>(s, x, y);
  e.n = x.d[0];
  e.c = x.d[1];
  e.k = w.d[0];
  e.r = w.d[2];
  e.s = w.d[3];
  e.groups = groups_of(s.attr2);
  e.winograd = winograd_of(s.attr2);
  e.nhwc = is_nhwc(s.attr2);
  return e;
}
// q: operands and result
template <class Step> constexpr conv_extents conv_of(const Step& s, const shape (&q)[3]) {
  return s.o == op::conv_fprop   ? conv_of(s, q[0], q[1], q[2])
         : s.o == op::conv_dgrad ? conv_of(s, q[2], q[1], q[0])
                                 : conv_of(s, q[0], q[2], q[1]);
}

template <class Step> constexpr window_extents window_of(const Step& s, const shape& image,
                                                         const shape& result) {
  const shape x = image_of(image, s.attr2), y = image_of(result, s.attr2);
  const pair2 k = unpack_kernel(s.attr2);
  auto e = sliding<window_extents>(s, x, y);
  const bool nhwc = is_nhwc(s.attr2);
  e.planes = nhwc ? x.d[0] : x.d[0] * x.d[1];
  e.inner = nhwc ? x.d[1] : 1;
  e.r = k.h;
  e.s = k.w;
  return e;
}
// What the sum of a window is multiplied by.
template <class T, class Step> constexpr T window_factor(const Step& s) {
  const pair2 k = unpack_kernel(s.attr2);
  return is_mean(s.attr2) ? static_cast<T>(1.0 / (k.h * k.w)) : T(1);
}

// x: the operand of unfold, the result of fold
template <class Step> constexpr unfold_extents unfold_of(const Step& s, const shape& x) {
  const axis_window a = unpack_axis(s.attr);
  return {.n = x.d[0],
          .c = x.d[1],
          .d = x.d[2],
          .area = x.d[3] * x.d[4],
          .taps = a.taps,
          .out = a.count(x.d[2]),
          .stride = a.stride,
          .front = a.front,
          .dil = a.dilation};
}

} // namespace tapeless::detail
