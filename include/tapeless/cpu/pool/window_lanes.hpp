// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Windows of a plane as lanes: a vector holds neighbours of one row of windows. each_window calls a function for every
// window of a plane, with one_window, window_lanes or some_window_lanes as the way to load and store.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "../../core/geometry.hpp"
#include "../base/simd.hpp"
#include "../base/team.hpp"
#include "window.hpp"

namespace tapeless::cpu {

/// The even (Odd: odd) lanes of a followed by those of b. In a vector of 32 bytes they are out of order, by quarters:
/// in_order mends that once for all taps.
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

/// How windows are computed: one at a time, or `count` vectors of neighbours. Stride is that of the columns; 0: any.
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
    else if constexpr (Stride == 2) { // reads one element more, on the side of the next tap
      const T* const from = p - (First ? 0 : 1);
      return every_second<First ? 0 : 1>(cpu::load<V>(from), cpu::load<V>(from + each));
    } else return load_strided<V>(p, stride);
  }
  static V load(const T* p) { return cpu::load<V>(p); }
  /// No hardware prefetcher follows rows this short.
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

/// Calls f(window, how) for every window of a plane, for some of them more than once.
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

} // namespace tapeless::cpu
