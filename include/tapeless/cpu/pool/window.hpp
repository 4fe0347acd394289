// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// A window of a pool and its taps inside the plane.
#include <algorithm>
#include <type_traits>

#include "../../core/geometry.hpp"
#include "../../ops/window.hpp"
#include "../base/simd.hpp"

namespace tapeless::cpu {

/// The taps [first, last) of one axis that fall inside [0, extent); tap t is at origin + t * dilation.
struct tap_range {
  index_t first, last;
};
constexpr tap_range taps_inside(index_t origin, index_t dilation, index_t taps, index_t extent) {
  const index_t first = origin < 0 ? (-origin + dilation - 1) / dilation : 0;
  const index_t last = origin < extent ? std::min(taps, (extent - 1 - origin) / dilation + 1) : 0;
  return {first, std::max(first, last)};
}

/// The windows [first, last) of a row that have all their columns.
struct whole_windows {
  index_t first, last;
  constexpr explicit whole_windows(const window_extents& e)
      : first(std::min((e.pad_left + e.stride_w - 1) / e.stride_w, e.q)), last(first) {
    const index_t room = e.w + e.pad_left - (e.s - 1) * e.dil_w - 1;
    if (room >= 0) last = std::clamp(room / e.stride_w + 1, first, e.q);
  }
};

/// Taps of a window: those in its ranges, or all of R x S, unrolled.
struct some_taps {};
template <int R, int S> struct all_taps {};

/// A window, or the first of W neighbours that have the same taps: its flat number, its corner, which may lie outside
/// the plane, and the taps inside the plane.
struct window {
  index_t at, y, x;
  tap_range rows, cols;
  bool empty() const { return rows.first == rows.last || cols.first == cols.last; }
  index_t tap(const window_extents& e, index_t r, index_t s) const {
    return (y + r * e.dil_h) * e.w + x + s * e.dil_w;
  }
  static window alone(const window_extents& e, index_t i, index_t j) {
    const index_t y = i * e.stride_h - e.pad_top, x = j * e.stride_w - e.pad_left;
    return {i * e.q + j, y, x, taps_inside(y, e.dil_h, e.r, e.h), taps_inside(x, e.dil_w, e.s, e.w)};
  }
  /// f(flat index in the plane, whether the tap is the first of its row) for every tap, in scan order.
  template <class F> [[gnu::always_inline]] void each_tap(const window_extents& e, F&& f) const {
    for (index_t r = rows.first; r < rows.last; ++r) {
      if (cols.first < cols.last) f(tap(e, r, cols.first), std::true_type{});
      for (index_t s = cols.first + 1; s < cols.last; ++s) f(tap(e, r, s), std::false_type{});
    }
  }
  template <class F> [[gnu::always_inline]] void each_tap(const window_extents& e, some_taps, F&& f) const {
    each_tap(e, [&](index_t here, auto) __attribute__((always_inline)) { f(here); });
  }
  template <int R, int S, class F>
  [[gnu::always_inline]] void each_tap(const window_extents& e, all_taps<R, S>, F&& f) const {
    const index_t first = y * e.w + x, row = e.dil_h * e.w;
    unroll<R>([&](auto r) __attribute__((always_inline)) {
      unroll<S>([&](auto s) __attribute__((always_inline)) { f(first + r * row + s * e.dil_w); });
    });
  }
};

} // namespace tapeless::cpu
