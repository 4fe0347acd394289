// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Windows over planes, see window_extents.      x: (planes, h, w, inner)   y, positions: (planes, p, q, inner)
//   positions[z, i, j] = flat index in the plane of the first maximum of window (i, j); a NaN wins
//   window_max    y = that maximum                    window_gather    y = x at the positions
//   window_sum    y = factor * sum of the window      window_scatter, window_spread    the transposes of the two
// Elements of a window outside the plane do not exist; a window without elements gives 0. A thread an element of the result.
#pragma once
#include "../../core/geometry.hpp"
#include "../base/block.hpp"
#include "conv.hpp"
#include "../base/functions.hpp"
#include "../base/sums.hpp"

namespace tapeless::cuda {

// Element (z, i, j, c) of a row-major (planes, rows, columns, inner).
struct plane_index {
  index_t z, i, j, c;
  TAPELESS_KERNEL plane_index(count_t at, index_t rows, index_t columns, index_t inner) {
    // divided in 32 bits: none of the extents exceeds the number of elements
    const auto m = static_cast<count_t>(rows), n = static_cast<count_t>(columns),
               l = static_cast<count_t>(inner);
    c = at % l;
    at /= l;
    j = at % n;
    at /= n;
    i = at % m;
    z = at / m;
  }
};
// f(flat index in the plane) for each tap of window (i, j) inside the plane, in scan order.
template <class F> TAPELESS_KERNEL void each_tap(const window_extents& e, index_t i, index_t j, F&& f) {
  for (index_t r = 0; r < e.r; ++r) {
    const index_t h = i * e.stride_h - e.pad_top + r * e.dil_h;
    if (h < 0 || h >= e.h) continue;
    for (index_t s = 0; s < e.s; ++s) {
      const index_t w = j * e.stride_w - e.pad_left + s * e.dil_w;
      if (w >= 0 && w < e.w) f(h * e.w + w);
    }
  }
}
// f(window) for each window that has element (h, w).
template <class F> TAPELESS_KERNEL void each_window(const window_extents& e, index_t h, index_t w, F&& f) {
  for (index_t r = 0; r < e.r; ++r) {
    const index_t i = seen_by(h, r, e.dil_h, e.pad_top, e.stride_h, e.p);
    if (i < 0) continue;
    for (index_t s = 0; s < e.s; ++s) {
      const index_t j = seen_by(w, s, e.dil_w, e.pad_left, e.stride_w, e.q);
      if (j >= 0) f(i * e.q + j);
    }
  }
}

// y or positions: what is not wanted is nullptr
template <class T> struct window_max_kernel {
  const T* x;
  T* y;
  std::int32_t* positions;
  count_t items;
  window_extents e;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(items, [this](count_t k) {
      const plane_index at(k, e.p, e.q, e.inner);
      const T* const plane = x + at.z * e.h * e.w * e.inner + at.c;
      T best(0);
      index_t where = -1;
      each_tap(e, at.i, at.j, [&](index_t here) {
        const T v = plane[here * e.inner];
        if (where < 0 || v > best || (v != v && best == best)) best = v, where = here;
      });
      if (y != nullptr) y[k] = best;
      if (positions != nullptr) positions[k] = static_cast<std::int32_t>(where < 0 ? 0 : where);
    });
  }
};
template <class T> struct window_gather_kernel {
  const T* x;
  const std::int32_t* positions;
  T* y;
  count_t items;
  window_extents e;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(items, [this](count_t k) {
      const plane_index at(k, e.p, e.q, e.inner);
      y[k] = x[(at.z * e.h * e.w + positions[k]) * e.inner + at.c];
    });
  }
};
template <class T> struct window_sum_kernel {
  const T* x;
  T* y;
  T factor;
  count_t items;
  window_extents e;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(items, [this](count_t k) {
      const plane_index at(k, e.p, e.q, e.inner);
      const T* const plane = x + at.z * e.h * e.w * e.inner + at.c;
      long_sum<T> sum;
      each_tap(e, at.i, at.j, [&](index_t here) { sum.add(plane[here * e.inner]); });
      y[k] = factor * sum.value();
    });
  }
};
// Each element asks its windows. positions: of window_scatter; nullptr: window_spread
template <class T> struct window_transposed_kernel {
  const T* y;
  const std::int32_t* positions;
  T* x;
  T factor;
  count_t items;
  window_extents e;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(items, [this](count_t k) {
      const plane_index at(k, e.h, e.w, e.inner);
      const index_t here = at.i * e.w + at.j;
      long_sum<T> sum;
      each_window(e, at.i, at.j, [&](index_t window) {
        const index_t from = (at.z * e.p * e.q + window) * e.inner + at.c;
        if (positions == nullptr || positions[from] == here) sum.add(y[from]);
      });
      x[k] = factor * sum.value();
    });
  }
};

} // namespace tapeless::cuda
