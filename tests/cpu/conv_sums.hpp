#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The sums of a convolution in double, for all passes and both layouts.

#include <tapeless/cpu/conv/conv.hpp>

#include <type_traits>
#include <vector>

#include "products.hpp"

namespace conv_sums {

using namespace tapeless;
using namespace tapeless::cpu;
using products::exact_sums;

inline index_t x_size(const conv_extents& e) { return e.n * e.c * e.h * e.w; }
inline index_t w_size(const conv_extents& e) { return e.k * (e.c / e.groups) * e.r * e.s; }
inline index_t y_size(const conv_extents& e) { return e.n * e.k * e.p * e.q; }

// f(x, w, y) with flat numbers over every product of the trilinear form y . (x * w)
template <class F> void each_product(const conv_extents& e, F&& f) {
  const index_t cg = e.c / e.groups, kg = e.k / e.groups;
  for (index_t n = 0; n < e.n; ++n)
    for (index_t k = 0; k < e.k; ++k)
      for (index_t c = 0; c < cg; ++c)
        for (index_t p = 0; p < e.p; ++p)
          for (index_t q = 0; q < e.q; ++q)
            for (index_t r = 0; r < e.r; ++r)
              for (index_t s = 0; s < e.s; ++s) {
                const index_t i = p * e.stride_h - e.pad_top + r * e.dil_h;
                const index_t j = q * e.stride_w - e.pad_left + s * e.dil_w;
                if (i < 0 || i >= e.h || j < 0 || j >= e.w) continue;
                f(((n * e.c + k / kg * cg + c) * e.h + i) * e.w + j, ((k * cg + c) * e.r + r) * e.s + s,
                  ((n * e.k + k) * e.p + p) * e.q + q);
              }
}

// (n, h, w, c) of (n, c, h, w), of vectors of any kind
template <class Vector> Vector nhwc(index_t n, index_t c, index_t area, const Vector& v) {
  Vector to = v;
  for (index_t i = 0; i < n; ++i)
    for (index_t j = 0; j < c; ++j)
      for (index_t x = 0; x < area; ++x) to[(i * area + x) * c + j] = v[(i * c + j) * area + x];
  return to;
}
template <class Vector> Vector x_nhwc(const conv_extents& e, const Vector& v) {
  return nhwc(e.n, e.c, e.h * e.w, v);
}
template <class Vector> Vector y_nhwc(const conv_extents& e, const Vector& v) {
  return nhwc(e.n, e.k, e.p * e.q, v);
}

// p and q from padding at the bottom and on the right; false where no window fits
inline bool complete(conv_extents& e, index_t bottom, index_t right) {
  const index_t span_h = (e.r - 1) * e.dil_h + 1, span_w = (e.s - 1) * e.dil_w + 1;
  if (e.h + e.pad_top + bottom < span_h || e.w + e.pad_left + right < span_w) return false;
  e.p = (e.h + e.pad_top + bottom - span_h) / e.stride_h + 1;
  e.q = (e.w + e.pad_left + right - span_w) / e.stride_w + 1;
  return true;
}

// f(pass, extents, exact sums, a, b) for each pass, in NCHW, and of the same numbers in NHWC.
template <class Values, class F>
void each_pass(const conv_extents& e, const Values& x, const Values& w, const Values& dy, F&& f) {
  CAPTURE(e.n);
  CAPTURE(e.c);
  CAPTURE(e.h);
  CAPTURE(e.w);
  CAPTURE(e.k);
  CAPTURE(e.r);
  CAPTURE(e.s);
  CAPTURE(e.p);
  CAPTURE(e.q);
  CAPTURE(e.stride_h);
  CAPTURE(e.stride_w);
  CAPTURE(e.pad_top);
  CAPTURE(e.pad_left);
  CAPTURE(e.dil_h);
  CAPTURE(e.dil_w);
  CAPTURE(e.groups);
  exact_sums y(y_size(e)), dx(x_size(e)), dw(w_size(e));
  const auto number = [](const auto& v) { // float is how a bf16 becomes a number
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(v)>, bf16>)
      return double{static_cast<float>(v)};
    else return double{v};
  };
  each_product(e, [&](index_t i, index_t j, index_t k) {
    y.add(k, number(x[i]), number(w[j]));
    dx.add(i, number(dy[k]), number(w[j]));
    dw.add(j, number(x[i]), number(dy[k]));
  });
  constexpr std::integral_constant<conv_pass, conv_pass::fprop> fprop;
  constexpr std::integral_constant<conv_pass, conv_pass::dgrad> dgrad;
  constexpr std::integral_constant<conv_pass, conv_pass::wgrad> wgrad;
  f(fprop, e, y, x, w);
  f(dgrad, e, dx, dy, w);
  f(wgrad, e, dw, x, dy);
  const conv_extents of_nhwc = in_nhwc(e);
  const auto in_x = [&](exact_sums s) {
    for (auto* v : {&s.sum, &s.size, &s.terms}) *v = x_nhwc(e, *v);
    return s;
  };
  const auto in_y = [&](exact_sums s) {
    for (auto* v : {&s.sum, &s.size, &s.terms}) *v = y_nhwc(e, *v);
    return s;
  };
  f(fprop, of_nhwc, in_y(y), x_nhwc(e, x), w);
  f(dgrad, of_nhwc, in_x(dx), y_nhwc(e, dy), w);
  f(wgrad, of_nhwc, dw, x_nhwc(e, x), y_nhwc(e, dy));
}

} // namespace conv_sums
