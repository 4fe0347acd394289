// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Predicates of convolution extents, for several kernels and for their choice.
#include "../../../core/geometry.hpp"

namespace tapeless::cpu {

/// 1 x 1 without stride or padding: a matrix product for each image
constexpr bool pointwise(const conv_extents& e) {
  return e.r == 1 && e.s == 1 && e.stride_h == 1 && e.stride_w == 1 && e.pad_top == 0 && e.pad_left == 0 &&
         e.p == e.h && e.q == e.w;
}

/// One matrix product for all images at once, in NHWC.
constexpr bool is_product(const conv_extents& e) { return pointwise(e) && e.groups == 1; }

/// Tap (r, s) meets element (r, s) and no other.
constexpr bool filters_cover_image(const conv_extents& e) {
  return e.groups == 1 && e.p == 1 && e.q == 1 && e.pad_top == 0 && e.pad_left == 0 && e.r == e.h &&
         e.s == e.w && (e.dil_h == 1 || e.r == 1) && (e.dil_w == 1 || e.s == 1);
}

constexpr bool three_by_three(const conv_extents& e) {
  return e.r == 3 && e.s == 3 && e.stride_h == 1 && e.stride_w == 1;
}

/// dgrad of a 3 x 3 convolution without stride as an fprop: taps reversed, filters and channels exchanged.
constexpr conv_extents transposed(const conv_extents& e) {
  conv_extents r = e;
  r.c = e.k;
  r.k = e.c;
  r.h = e.p;
  r.p = e.h;
  r.w = e.q;
  r.q = e.w;
  r.pad_top = 2 * e.dil_h - e.pad_top;
  r.pad_left = 2 * e.dil_w - e.pad_left;
  return r;
}

} // namespace tapeless::cpu
