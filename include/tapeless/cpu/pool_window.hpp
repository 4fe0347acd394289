// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// A window of a pool and its taps inside the plane.
#include <algorithm>
#include <type_traits>

#include "../core/geometry.hpp"
#include "simd.hpp"

namespace tapeless::cpu::detail {

/// The taps [first, last) of one axis that fall inside [0, extent); tap t is at origin + t * dilation.
struct tap_range {
  index_t first, last;
};
constexpr tap_range taps_inside(index_t origin, index_t dilation, index_t taps, index_t extent) {
  const index_t first = origin < 0 ? (-origin + dilation - 1) / dilation : 0;
  const index_t last = origin < extent ? std::min(taps, (extent - 1 - origin) / dilation + 1) : 0;
  return {first, std::max(first, last)};
}

/// A window, or the first of W neighbours that have the same taps: flat number, corner, which may lie outside the
/// plane, and the taps that do not.
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
};

} // namespace tapeless::cpu::detail
