// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Windows over planes.                  x, dx: (planes, h, w)   y, dy, idx: (planes, p, q)
//   window_argmax   idx[z, i, j] = flat index in the plane of the first maximum of window (i, j)
//   window_gather   y[z, i, j] = x[z, idx[z, i, j]]        window_scatter   its transpose
//   window_max      y[z, i, j] = that maximum
//   window_sum      y[z, i, j] = factor * sum of window (i, j)         window_spread    its transpose
// With e.inner > 1 an element is a row of so many channels, see cpu/pool/nhwc.hpp.
// Elements of a window outside the plane do not exist: they never win and add nothing. One chunk is one
// plane. V names the architecture, so that objects built with different flags hold different functions.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

#include "../../core/geometry.hpp"
#include "../base/long_sums.hpp"
#include "../base/team.hpp"
#include "nhwc.hpp"
#include "window.hpp"

namespace tapeless::cpu {
/// The even lanes, or the odd ones, of a and b behind it. A vector of 32 bytes is left as its halves give it, and
/// in_order puts it in order: once for all taps.
template <int Odd, class V> [[gnu::always_inline]] inline V every_second(const V& a, const V& b) {
  constexpr int W = static_cast<int>(V::size), Q = W / (sizeof(V) == 32 ? 2 : 1);
  return [&]<int... L>(std::integer_sequence<int, L...>) __attribute__((always_inline)) {
    return V(__builtin_shufflevector(a.data, b.data,
                                     (L / Q * Q + L % (Q / 2) * 2 + Odd + (L % Q < Q / 2 ? 0 : W))...));
  }(std::make_integer_sequence<int, W>{});
}
template <class V> [[gnu::always_inline]] inline V in_order(const V& v) {
  if constexpr (sizeof(V) == 32) {
    const auto quarter = std::bit_cast<typename vector_of<std::int64_t, 4>::type>(v.data);
    return V(std::bit_cast<typename V::register_type>(__builtin_shufflevector(quarter, quarter, 0, 2, 1, 3)));
  } else return v;
}

/// How windows are computed: one, or `count` vectors of neighbours. Stride: of the columns; 0: any.
template <class T> struct one_window {
  static constexpr int count = 1, each = 1;
  using values = T;
  using positions = std::int32_t;
  static T load(const T* p, index_t, auto) { return *p; }
  static T load(const T* p) { return *p; }
  static void prefetch(const T*) {}
  static bool holds(const std::int32_t* p, index_t here, index_t) { return *p == here; }
  static positions at(index_t i) { return static_cast<positions>(i); }
  static positions ramp(index_t) { return 0; }
  static auto pick(bool m, auto a, auto b) { return m ? a : b; }
  static positions pick_at(bool m, positions a, positions b) { return m ? a : b; }
  static auto ordered(auto v) { return v; }
  static void store(auto* p, auto v) { *p = v; }
};
template <class V, int Stride, int Count> struct window_lanes {
  static constexpr int count = Count, each = static_cast<int>(V::size);
  using values = V;
  using positions = int_of<V>;
  using T = typename V::value_type;
  using P = typename positions::value_type;
  template <bool First>
  [[gnu::always_inline]] static V load(const T* p, index_t stride, std::bool_constant<First>) {
    if constexpr (Stride == 1) return cpu::load<V>(p);
    else if constexpr (Stride == 2) { // one element more is read on the side where the next tap is
      const T* const from = p - (First ? 0 : 1);
      return every_second<First ? 0 : 1>(cpu::load<V>(from), cpu::load<V>(from + each));
    } else return load_strided<V>(p, stride);
  }
  static V load(const T* p) { return cpu::load<V>(p); }
  /// No hardware sees two rows that end so soon.
  static void prefetch(const T* p) { __builtin_prefetch(p + 2048 / sizeof(T)); }
  /// Whether lane i of p is here + i * stride.
  static mask_of<V> holds(const std::int32_t* p, index_t here, index_t stride) {
    return mask_cast<T>(load_int<V>(p) == at(here) + ramp(stride));
  }
  static positions at(index_t i) { return positions(static_cast<P>(i)); }
  static positions ramp(index_t stride) { return iota<positions>() * at(stride); }
  static V pick(const mask_of<V>& m, const V& a, const V& b) { return select(m, a, b); }
  static positions pick_at(const mask_of<V>& m, const positions& a, const positions& b) {
    return select(mask_cast<P>(m), a, b);
  }
  template <class L> static L ordered(const L& v) {
    if constexpr (Stride == 2) return in_order(v);
    else return v;
  }
  static void store(T* p, const V& v) { cpu::store(p, v); }
  static void store(std::int32_t* p, const positions& v) { store_int(p, v); }
};

/// The first n lanes of one vector.   @pre 0 < n < V::size
template <class V, int Stride> class some_window_lanes : public window_lanes<V, Stride, 1> {
  using all = window_lanes<V, Stride, 1>;
  using typename all::P, typename all::T;
  static constexpr index_t W = static_cast<index_t>(V::size);
  index_t n_;

public:
  using typename all::positions;
  explicit some_window_lanes(index_t n) : n_(n) {}
  template <bool First>
  [[gnu::always_inline]] V load(const T* p, index_t stride, std::bool_constant<First>) const {
    if constexpr (Stride == 1) return load_n<V>(p, n_);
    else if constexpr (Stride == 2) {
      const T* const from = p - (First ? 0 : 1);
      const V rest = 2 * n_ > W ? load_n<V>(from + W, 2 * n_ - W) : V(T(0));
      return every_second<First ? 0 : 1>(load_n<V>(from, std::min(2 * n_, W)), rest);
    } else return load_strided_n<V>(p, stride, n_);
  }
  V load(const T* p) const { return load_n<V>(p, n_); }
  mask_of<V> holds(const std::int32_t* p, index_t here, index_t stride) const {
    return mask_cast<T>(load_int_n<V>(p, n_) == all::at(here) + all::ramp(stride));
  }
  void store(T* p, const V& v) const { store_n(p, v, n_); }
  void store(std::int32_t* p, const positions& v) const { store_int_n(p, v, n_); }
};

/// f(window, how) for every window of a plane, some of them more than once.
template <class V, int Stride, class F> void each_window(const window_extents& e, F&& f) {
  constexpr index_t W = static_cast<index_t>(V::size);
  const auto [inner, inner_end] = whole_windows(e);
  for (index_t i = 0; i < e.p; ++i) {
    const auto one_by_one = [&](index_t j, index_t end) {
      for (; j < end; ++j) f(window::alone(e, i, j), one_window<typename V::value_type>{});
    };
    const window t = window::alone(e, i, inner);
    if (inner_end - inner < 2 || t.rows.first == t.rows.last) {
      one_by_one(0, e.q);
      continue;
    }
    one_by_one(0, inner);
    const auto in_lanes = [&](index_t j, auto how) __attribute__((always_inline)) {
      f(window{i * e.q + j, t.y, j * e.stride_w - e.pad_left, t.rows, {0, e.s}}, how);
    };
    constexpr int vectors = Stride == 0 ? 1 : 4; // the loops over taps are short: several vectors share them
    if (inner_end - inner < W) in_lanes(inner, some_window_lanes<V, Stride>(inner_end - inner));
    else if (inner_end - inner >= vectors * W)
      for (index_t j = inner; j < inner_end; j += vectors * W)
        in_lanes(std::min(j, inner_end - vectors * W), window_lanes<V, Stride, vectors>{});
    else
      for (index_t j = inner; j < inner_end; j += W)
        in_lanes(std::min(j, inner_end - W), window_lanes<V, Stride, 1>{});
    one_by_one(inner_end, e.q);
  }
}
/// The same, for every plane; f(z, window, how).
template <class V, class Team, class F>
void each_window(const Team& team, const window_extents& e, const F& f) {
  team.run(e.planes, [&](index_t z, int) {
    const auto g = [&](const window& t, auto how) __attribute__((always_inline)) { f(z, t, how); };
    if (e.stride_w == 1) each_window<V, 1>(e, g);
    else if (e.stride_w == 2 && e.s > 1) each_window<V, 2>(e, g);
    else each_window<V, 0>(e, g);
  });
}

/// The first maximum of every window: its position, itself, or both. A NaN wins, the first of several.
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

/// dx[y, x] = sum over the windows that see it, in their order, of term(how, window, y * e.w + x). Lanes are every
/// Stride-th element. False where no two lanes have all windows, and then nothing is written.
template <class V, int Stride, class T, class F>
bool pull_in_lanes(const window_extents& e, T* dx, const F& term) {
  constexpr index_t W = static_cast<index_t>(V::size);
  // column Stride * a + f - pad_left sees window a - (t - f) / Stride through the tap at t: for a in [low, high) all
  // of those exist
  const index_t low = std::max((e.s - 1) * e.dil_w / Stride, (e.pad_left + Stride - 1) / Stride);
  const index_t high = std::min(e.q, (e.w + e.pad_left) / Stride);
  if (high - low < 2) return false;
  const index_t step = e.dil_h / std::gcd(e.stride_h, e.dil_h);
  const bool is_long = most_windows_of_element(e) > short_sum;
  const auto add = [=](auto& sum, auto& lost, const auto& v) __attribute__((always_inline)) {
    if (is_long) add_compensated(sum, lost, v);
    else sum += v;
  };
  // every vector of a row is whole lines of its own
  const bool past_caches = e.planes * e.h * e.w * index_t{sizeof(T)} >= larger_than_caches &&
                           e.w * index_t{sizeof(T)} % 64 == 0 && (high - low) % W == 0 &&
                           lines_up(dx + Stride * low - e.pad_left);
  const auto put = [=](T* p, const V& v) __attribute__((always_inline)) {
    if (past_caches) store_past_caches(p, v);
    else store(p, v);
  };
  for (index_t y = 0; y < e.h; ++y) {
    const index_t top = y + e.pad_top; // rows of windows that see y: first, first + step, ... below last
    index_t first = std::max<index_t>((top - (e.r - 1) * e.dil_h + e.stride_h - 1) / e.stride_h, 0);
    const index_t last = std::min(top / e.stride_h + 1, e.p);
    while (first < last && (top - first * e.stride_h) % e.dil_h != 0) ++first;
    const auto one_by_one = [&](index_t x, index_t end) {
      for (; x < end; ++x) {
        T sum(0), lost(0);
        for (index_t i = first; i < last; i += step)
          for (index_t s = e.s - 1; s >= 0; --s)
            if (const index_t at = x + e.pad_left - s * e.dil_w;
                at >= 0 && at % Stride == 0 && at / Stride < e.q)
              add(sum, lost, term(one_window<T>{}, i * e.q + at / Stride, y * e.w + x));
        dx[y * e.w + x] = sum;
      }
    };
    // to(column, vector) stores one
    const auto in_lanes = [&](index_t a, const auto& how, const auto& to) __attribute__((always_inline)) {
      const index_t x = Stride * a - e.pad_left;
      V sum[2] = {V(T(0)), V(T(0))}, lost[2] = {V(T(0)), V(T(0))}; // of even t, of odd t
      for (index_t i = first; i < last; i += step)
        for (index_t t = (e.s - 1) * e.dil_w; t >= 0; t -= e.dil_w) {
          const index_t f = t % Stride;
          const V v = term(how, i * e.q + a - t / Stride, y * e.w + x + f);
          if (f != 0) add(sum[1], lost[1], v);
          else add(sum[0], lost[0], v);
        }
      if constexpr (Stride == 1) to(x, sum[0]);
      else
        [&]<int... L>(std::integer_sequence<int, L...>) {
          constexpr int half = static_cast<int>(W);
          to(x, V(__builtin_shufflevector(sum[0].data, sum[1].data, (L / 2 + L % 2 * half)...)));
          to(x + W, V(__builtin_shufflevector(sum[0].data, sum[1].data, ((L + half) / 2 + L % 2 * half)...)));
        }(std::make_integer_sequence<int, static_cast<int>(W)>{});
    };
    T* const row = dx + y * e.w;
    one_by_one(0, Stride * low - e.pad_left);
    if (high - low < W) {
      const index_t end = Stride * high - e.pad_left;
      in_lanes(low, some_window_lanes<V, Stride>(high - low), [&](index_t x, const V& v) {
        if (x < end) store_n(row + x, v, std::min(W, end - x));
      });
    } else
      for (index_t block = low; block < high; block += W)
        in_lanes(std::min(block, high - W), window_lanes<V, Stride, 1>{},
                 [&](index_t x, const V& v) __attribute__((always_inline)) { put(row + x, v); });
    one_by_one(Stride * high - e.pad_left, e.w);
  }
  if (past_caches) end_stores_past_caches();
  return true;
}
template <class V, class T, class F> bool pull(const window_extents& e, T* dx, const F& term) {
  return (e.stride_w == 1 && pull_in_lanes<V, 1>(e, dx, term)) ||
         (e.stride_w == 2 && pull_in_lanes<V, 2>(e, dx, term));
}

/// dx[y, x] = sum of term(window, y * e.w + x) over the windows that see it, of which there are many.
template <class T, class F> void pull_one_by_one(const window_extents& e, T* dx, const F& term) {
  for (index_t y = 0; y < e.h; ++y) {
    const seeing_windows rows(y, e.pad_top, e.r, e.dil_h, e.stride_h, e.p);
    for (index_t x = 0; x < e.w; ++x) {
      const seeing_windows cols(x, e.pad_left, e.s, e.dil_w, e.stride_w, e.q);
      T sum(0), lost(0);
      for (index_t i = rows.first; i < rows.last; i += rows.step)
        for (index_t j = cols.first; j < cols.last; j += cols.step)
          add_compensated(sum, lost, term(i * e.q + j, y * e.w + x));
      dx[y * e.w + x] = sum;
    }
  }
}

/// Of window_scatter's positions and dy of a plane.   @pre windows_meet_plane(e)
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

/// A NaN wins, the first of several. A window without elements gives 0.
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
  // where zeros would leave the cache before windows are added, each element asks its windows
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

} // namespace tapeless::cpu
