// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// From the shapes of a step to the extents of its kernel.
#include "../../ops/conv.hpp"
#include "../../ops/pool.hpp"
#include "../../ops/unfold.hpp"
#include "../../ops/window.hpp"
#include "../../plan/analysis/batch_tiles.hpp"
#include "frame.hpp"

namespace tapeless::cpu {

// A shape with 1 for each named extent: for scratch sizes, which do not depend on those.
constexpr shape assumed(const shape& s) {
  shape r = s;
  for (int i = 0; i < s.rank; ++i)
    if (!detail::is_static(r.d[i])) r.d[i] = 1;
  return r;
}

// The extents that convolution and pooling share: of image x, output y and the sliding window.
template <class Extents, class Step> constexpr Extents sliding(const Step& s, const shape& x,
                                                               const shape& y) {
  const detail::window_attributes a = detail::unpack(s.attr);
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
// image, w, result: of fprop, whichever of them the step (or node) computes
template <class Step> constexpr conv_extents conv_of(const Step& s, const shape& image, const shape& w,
                                                     const shape& result) {
  const shape x = detail::image_of(image, s.attr2), y = detail::image_of(result, s.attr2);
  auto e = sliding<conv_extents>(s, x, y);
  e.n = x.d[0];
  e.c = x.d[1];
  e.k = w.d[0];
  e.r = w.d[2];
  e.s = w.d[3];
  e.groups = detail::groups_of(s.attr2);
  e.winograd = detail::winograd_of(s.attr2);
  e.nhwc = detail::is_nhwc(s.attr2);
  return e;
}
template <class Step> constexpr conv_extents conv_of(const Step& s, const shape (&q)[3]) {
  return s.o == op::conv_fprop   ? conv_of(s, q[0], q[1], q[2])
         : s.o == op::conv_dgrad ? conv_of(s, q[2], q[1], q[0])
                                 : conv_of(s, q[0], q[2], q[1]);
}
constexpr window_extents window_of(const step& s, const shape& image, const shape& result) {
  using detail::image_of;
  const shape x = image_of(image, s.attr2), y = image_of(result, s.attr2);
  const pair2 k = detail::unpack_kernel(s.attr2);
  auto e = sliding<window_extents>(s, x, y);
  const bool last = detail::is_nhwc(s.attr2);
  e.planes = last ? x.d[0] : x.d[0] * x.d[1];
  e.inner = last ? x.d[1] : 1;
  e.r = k.h;
  e.s = k.w;
  return e;
}
template <class T> constexpr T window_factor(const step& s) {
  const pair2 k = detail::unpack_kernel(s.attr2);
  return detail::is_mean(s.attr2) ? static_cast<T>(1.0 / (k.h * k.w)) : T(1);
}
// x: the operand of unfold, the result of fold
constexpr unfold_extents unfold_of(const step& s, const shape& x) {
  const detail::axis_window a = detail::unpack_axis(s.attr);
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

using detail::is_batch_tiled;
using detail::is_conv;

} // namespace tapeless::cpu
