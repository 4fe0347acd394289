// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Windows over planes.                  x, dx: (planes, h, w)   y, dy, idx: (planes, p, q)
//   window_argmax   idx[z, i, j] = flat index in the plane of the first maximum of window (i, j)
//   window_gather   y[z, i, j] = x[z, idx[z, i, j]]        window_scatter   its transpose
//   window_max      y[z, i, j] = that maximum
//   window_sum      y[z, i, j] = factor * sum of window (i, j)         window_spread    its transpose
// With e.inner > 1 an element is a row of so many channels: see nhwc.hpp.
// Elements of a window outside the plane do not exist: they never win and add nothing. One chunk is one plane. V names
// the architecture, so that objects built with different flags hold different functions.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "../../expr/op.hpp"
#include "../../ops/window.hpp"
#include "../../plan/ir/step.hpp"
#include "../base/long_sums.hpp"
#include "../base/operand.hpp"
#include "../base/team.hpp"
#include "nhwc.hpp"
#include "nhwc_pull.hpp"
#include "pull.hpp"
#include "window.hpp"
#include "window_lanes.hpp"

namespace tapeless::cpu {

/// The first maximum of every window: its position, its value, or both. A NaN wins; of several NaNs the first.
template <class V, bool Positions, bool Values, class Team, class T>
void window_first_max(const Team& team, const window_extents& e, const T* x, std::int32_t* idx, T* y) {
  if (e.inner > 1) return rows_first_max<V, Positions, Values>(team, e, x, idx, y);
  each_window<V>(team, e, [=](index_t z, const window& t, auto how) __attribute__((always_inline)) {
    using H = decltype(how);
    const T* const plane = x + z * e.h * e.w;
    const index_t out = z * e.p * e.q + t.at;
    if (t.empty()) {
      if constexpr (Positions) idx[out] = 0;
      if constexpr (Values) y[out] = T(0);
      return;
    }
    const index_t start = t.tap(e, t.rows.first, t.cols.first), step = H::each * e.stride_w;
    typename H::values best[H::count];
    typename H::positions winner[H::count];
    unroll<H::count>([&](auto u) __attribute__((always_inline)) {
      best[u] = typename H::values(-std::numeric_limits<T>::infinity());
      winner[u] = H::at(start);
    });
    t.each_tap(e, [&](index_t here, auto first) __attribute__((always_inline)) {
      unroll<H::count>([&](auto u) __attribute__((always_inline)) {
        if constexpr (first) how.prefetch(plane + here + u * step);
        const typename H::values v = how.load(plane + here + u * step, e.stride_w, first);
        const auto stays = v <= best[u], number_so_far = best[u] == best[u]; // v <= NaN is false
        if constexpr (Positions)
          winner[u] = how.pick_at(number_so_far, how.pick_at(stays, winner[u], H::at(here)), winner[u]);
        best[u] = how.pick(number_so_far, how.pick(stays, best[u], v), best[u]);
      });
    });
    unroll<H::count>([&](auto u) __attribute__((always_inline)) {
      if constexpr (Positions)
        how.store(idx + out + u * H::each, how.ordered(winner[u]) + H::at(u * step) + H::ramp(e.stride_w));
      if constexpr (Values) how.store(y + out + u * H::each, how.ordered(best[u]));
    });
  });
}

/// window_scatter in one plane: each element asks the windows that see it.   @pre windows_meet_plane(e)
template <class V, class T>
bool pull_maxima(const window_extents& e, const std::int32_t* position, const T* dy, T* dx) {
  return pull<V>(e, dx, [=](auto how, index_t at, index_t here) __attribute__((always_inline)) {
    using H = decltype(how);
    return how.pick(how.holds(position + at, here, e.stride_w), how.load(dy + at), typename H::values(T(0)));
  });
}

/// Every window has an element.
constexpr bool windows_meet_plane(const window_extents& e) {
  const auto meets = [](index_t n, index_t stride, index_t pad, index_t dil, index_t taps, index_t extent) {
    for (index_t i = 0; i < n; ++i) {
      const tap_range t = taps_inside(i * stride - pad, dil, taps, extent);
      if (t.first == t.last) return false;
    }
    return true;
  };
  return meets(e.p, e.stride_h, e.pad_top, e.dil_h, e.r, e.h) &&
         meets(e.q, e.stride_w, e.pad_left, e.dil_w, e.s, e.w);
}

/// A NaN wins; of several the first. A window without elements gives 0.
template <class T, team Team, class V = simd<T>>
void window_argmax(const Team& team, const window_extents& e, const T* x, std::int32_t* idx) {
  window_first_max<V, true, false>(team, e, x, idx, static_cast<T*>(nullptr));
}
/// y[z, i, j] = x[z, idx[z, i, j]] where idx is that of window_argmax. A window without elements gives 0.
template <class T, team Team, class V = simd<T>>
void window_max(const Team& team, const window_extents& e, const T* x, T* y) {
  window_first_max<V, false, true>(team, e, x, nullptr, y);
}
/// Both.
template <class T, team Team, class V = simd<T>>
void window_argmax_and_max(const Team& team, const window_extents& e, const T* x, std::int32_t* idx, T* y) {
  window_first_max<V, true, true>(team, e, x, idx, y);
}

/// Every idx lies in [0, h * w).
template <class T, team Team, class V = simd<T>>
void window_gather(const Team& team, const window_extents& e, const T* x, const std::int32_t* idx, T* y) {
  if (e.inner > 1) return rows_gather(team, e, x, idx, y);
  const index_t out = e.p * e.q;
  team.run(e.planes, [&](index_t z, int) {
    for (index_t i = z * out; i < (z + 1) * out; ++i) y[i] = x[z * e.h * e.w + idx[i]];
  });
}

/// dx is overwritten; elements of no window become zero. idx is that of window_argmax.
template <class T, team Team, class V = simd<T>>
void window_scatter(const Team& team, const window_extents& e, const std::int32_t* idx, const T* dy, T* dx) {
  if (e.inner > 1) return rows_scatter<V>(team, e, idx, dy, dx);
  const index_t out = e.p * e.q, bytes = e.h * e.w * index_t{sizeof(T)};
  // each element asks its windows where zeros would leave the cache before windows are added
  const bool is_long = most_windows_of_element(e) > short_sum;
  const bool asks =
      (is_long || ((e.planes * bytes >= larger_than_caches || bytes > (1 << 18)) && e.r * e.s <= 12)) &&
      windows_meet_plane(e);
  team.run(e.planes, [&](index_t z, int) {
    T* const plane = dx + z * e.h * e.w;
    const std::int32_t* const position = idx + z * out;
    const T* const from = dy + z * out;
    if (asks && pull_maxima<V>(e, position, from, plane)) return;
    if (is_long)
      return pull_one_by_one(
          e, plane, [=](index_t at, index_t here) { return position[at] == here ? from[at] : T(0); });
    std::fill_n(plane, e.h * e.w, T(0));
    for (index_t i = 0; i < out; ++i) plane[position[i]] += from[i];
  });
}

template <class V, bool Long, class T, class Team>
void sum_windows(const Team& team, const window_extents& e, T factor, const T* x, T* y) {
  each_window<V>(team, e, [=](index_t z, const window& t, auto how) __attribute__((always_inline)) {
    using H = decltype(how);
    const T* const plane = x + z * e.h * e.w;
    T* const out = y + z * e.p * e.q + t.at;
    const index_t step = H::each * e.stride_w;
    long_window_sum<typename H::values, H::count, Long> sum;
    t.each_tap(e, [&](index_t here, auto first) __attribute__((always_inline)) {
      unroll<H::count>([&](auto u) __attribute__((always_inline)) {
        if constexpr (first) how.prefetch(plane + here + u * step);
        sum.chain[u] += how.load(plane + here + u * step, e.stride_w, first);
      });
      sum.end_tap();
    });
    sum.end();
    unroll<H::count>([&](auto u) __attribute__((always_inline)) {
      how.store(out + u * H::each, how.ordered(sum.chain[u]) * typename H::values(factor));
    });
  });
}
/// y is the sum over the elements of a window, in scan order, times the factor.
template <class T, team Team, class V = simd<T>> void window_sum(const Team& team, const window_extents& e,
                                                                 T factor, const T* x, T* y) {
  const bool is_long = e.r * e.s > short_sum;
  if (e.inner > 1)
    is_long ? rows_sum<V, true>(team, e, factor, x, y) : rows_sum<V, false>(team, e, factor, x, y);
  else if (is_long) sum_windows<V, true>(team, e, factor, x, y);
  else sum_windows<V, false>(team, e, factor, x, y);
}

/// dx is overwritten; elements of no window become zero.
template <class T, team Team, class V = simd<T>> void window_spread(const Team& team, const window_extents& e,
                                                                    T factor, const T* dy, T* dx) {
  if (e.inner > 1) return rows_spread<V>(team, e, factor, dy, dx);
  team.run(e.planes, [&](index_t z, int) {
    T* const plane = dx + z * e.h * e.w;
    const T* const from = dy + z * e.p * e.q;
    if (pull<V>(e, plane, [=](auto how, index_t at, index_t) __attribute__((always_inline)) {
          using H = decltype(how);
          return typename H::values(factor) * how.load(from + at);
        }))
      return;
    if (most_windows_of_element(e) > short_sum)
      return pull_one_by_one(e, plane, [=](index_t at, index_t) { return factor * from[at]; });
    std::fill_n(plane, e.h * e.w, T(0));
    for (index_t i = 0; i < e.p; ++i)
      for (index_t j = 0; j < e.q; ++j) {
        const auto t = window::alone(e, i, j);
        t.each_tap(e, [&](index_t here, auto) { plane[here] += factor * from[t.at]; });
      }
  });
}

// ---- steps
template <class T> constexpr window_extents window_down(const kernel_call<T>& c) {
  return window_of(c.step, c.operand(0), c.result());
}
template <class T> constexpr window_extents window_up(const kernel_call<T>& c) {
  return window_of(c.step, c.result(), c.operand(0));
}
template <> struct kernel_for<detail::op::window_max> {
  template <auto, class T, class Team> static void run(const Team& team, const kernel_call<T>& c) {
    window_max<T>(team, window_down(c), c.in(0), c.out());
  }
};
template <> struct kernel_for<detail::op::window_argmax> {
  template <auto, class T, class Team> static void run(const Team& team, const kernel_call<T>& c) {
    window_argmax<T>(team, window_down(c), c.in(0), c.template out<std::int32_t>());
  }
};
template <> struct kernel_for<detail::op::window_gather> {
  template <auto, class T, class Team> static void run(const Team& team, const kernel_call<T>& c) {
    window_gather<T>(team, window_down(c), c.in(0), c.index(1), c.out());
  }
};
template <> struct kernel_for<detail::op::window_scatter> {
  template <auto, class T, class Team> static void run(const Team& team, const kernel_call<T>& c) {
    window_scatter<T>(team, window_up(c), c.index(1), c.in(0), c.out());
  }
};
template <> struct kernel_for<detail::op::window_sum> {
  template <auto, class T, class Team> static void run(const Team& team, const kernel_call<T>& c) {
    window_sum<T>(team, window_down(c), window_factor<T>(c.step), c.in(0), c.out());
  }
};
template <> struct kernel_for<detail::op::window_spread> {
  template <auto, class T, class Team> static void run(const Team& team, const kernel_call<T>& c) {
    window_spread<T>(team, window_up(c), window_factor<T>(c.step), c.in(0), c.out());
  }
};

} // namespace tapeless::cpu
