// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Windows over planes.                  x, dx: (planes, h, w)   y, dy, idx: (planes, p, q)
//   window_argmax   idx[z, i, j] = flat index in the plane of the first maximum of window (i, j)
//   window_gather   y[z, i, j] = x[z, idx[z, i, j]]        window_scatter   its transpose
//   window_sum      y[z, i, j] = sum of window (i, j)      window_spread    its transpose
// Elements of a window outside the plane do not exist: they never win and add nothing. One chunk is one
// plane. V names the architecture, so that objects built with different flags hold different functions.
#include <algorithm>
#include <cstdint>

#include "../core/geometry.hpp"
#include "simd.hpp"
#include "team.hpp"

namespace tapeless::cpu {
namespace detail {

/// The taps [first, last) of one axis that fall inside [0, extent); tap t is at origin + t * dilation.
struct tap_range {
  index_t first, last;
};
constexpr tap_range taps_inside(index_t origin, index_t dilation, index_t taps, index_t extent) {
  const index_t first = origin < 0 ? (-origin + dilation - 1) / dilation : 0;
  const index_t last = origin < extent ? std::min(taps, (extent - 1 - origin) / dilation + 1) : 0;
  return {first, std::max(first, last)};
}

/// f(at, y, x, rows, columns) for every window: its flat number, its corner, which may lie outside the plane,
/// and the taps that do not.
template <class F> void each_window(const window_extents& e, F&& f) {
  for (index_t i = 0; i < e.p; ++i) {
    const index_t y = i * e.stride_h - e.pad_top;
    const tap_range rows = taps_inside(y, e.dil_h, e.r, e.h);
    for (index_t j = 0; j < e.q; ++j) {
      const index_t x = j * e.stride_w - e.pad_left;
      f(i * e.q + j, y, x, rows, taps_inside(x, e.dil_w, e.s, e.w));
    }
  }
}

} // namespace detail

/// A NaN wins, the first of several. A window without elements gives 0.
template <class T, team Team, class V = simd<T>>
void window_argmax(const Team& team, const window_extents& e, const T* x, std::int32_t* idx) {
  team.run(e.planes, [&](index_t z, int) {
    const T* const plane = x + z * e.h * e.w;
    detail::each_window(
        e, [&](index_t at, index_t y0, index_t x0, detail::tap_range rows, detail::tap_range cols) {
          index_t winner = -1;
          T best{};
          for (index_t r = rows.first; r < rows.last; ++r)
            for (index_t s = cols.first; s < cols.last; ++s) {
              const index_t here = (y0 + r * e.dil_h) * e.w + x0 + s * e.dil_w;
              const T v = plane[here];
              if (winner < 0 || v > best || (v != v && best == best))
                best = v, winner = here; // v > NaN is false
            }
          idx[z * e.p * e.q + at] = static_cast<std::int32_t>(std::max<index_t>(winner, 0));
        });
  });
}

/// Every idx lies in [0, h * w).
template <class T, team Team, class V = simd<T>>
void window_gather(const Team& team, const window_extents& e, const T* x, const std::int32_t* idx, T* y) {
  const index_t out = e.p * e.q;
  team.run(e.planes, [&](index_t z, int) {
    for (index_t i = z * out; i < (z + 1) * out; ++i) y[i] = x[z * e.h * e.w + idx[i]];
  });
}

/// dx is overwritten; elements of no window become zero.
template <class T, team Team, class V = simd<T>>
void window_scatter(const Team& team, const window_extents& e, const std::int32_t* idx, const T* dy, T* dx) {
  const index_t out = e.p * e.q;
  team.run(e.planes, [&](index_t z, int) {
    T* const plane = dx + z * e.h * e.w;
    std::fill_n(plane, e.h * e.w, T(0));
    for (index_t i = z * out; i < (z + 1) * out; ++i) plane[idx[i]] += dy[i];
  });
}

/// y is the sum over the elements of a window, in scan order.
template <class T, team Team, class V = simd<T>> void window_sum(const Team& team, const window_extents& e,
                                                                 const T* x, T* y) {
  team.run(e.planes, [&](index_t z, int) {
    const T* const plane = x + z * e.h * e.w;
    detail::each_window(
        e, [&](index_t at, index_t y0, index_t x0, detail::tap_range rows, detail::tap_range cols) {
          T sum(0);
          for (index_t r = rows.first; r < rows.last; ++r)
            for (index_t s = cols.first; s < cols.last; ++s)
              sum += plane[(y0 + r * e.dil_h) * e.w + x0 + s * e.dil_w];
          y[z * e.p * e.q + at] = sum;
        });
  });
}

/// dx is overwritten; elements of no window become zero.
template <class T, team Team, class V = simd<T>> void window_spread(const Team& team, const window_extents& e,
                                                                    const T* dy, T* dx) {
  team.run(e.planes, [&](index_t z, int) {
    T* const plane = dx + z * e.h * e.w;
    std::fill_n(plane, e.h * e.w, T(0));
    detail::each_window(
        e, [&](index_t at, index_t y0, index_t x0, detail::tap_range rows, detail::tap_range cols) {
          const T v = dy[z * e.p * e.q + at];
          for (index_t r = rows.first; r < rows.last; ++r)
            for (index_t s = cols.first; s < cols.last; ++s)
              plane[(y0 + r * e.dil_h) * e.w + x0 + s * e.dil_w] += v;
        });
  });
}

} // namespace tapeless::cpu
