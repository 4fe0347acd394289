// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// argmax, argmin: row-major position, within the reduced axes, of the first maximum or minimum; a NaN counts as either. What is compared
// is x, or what stands in the reverse order.
// Reduced axes that are neighbours are one: x (before, n, after). after == 1: the maximum of a block of a row by lanes, then its place.
// Else neighbours after the axis are lanes.
#pragma once
#include <algorithm>
#include <cstring>
#include <type_traits>
#include "../../expr/op.hpp"
#include "../base/math/arithmetic.hpp"
#include "../base/operand.hpp"
#include "../base/simd.hpp"

namespace tapeless::cpu {

template <class T> inline constexpr bool is_mask = !std::is_arithmetic_v<T> || std::is_same_v<T, bool>;

// NaN stays NaN, 0 is -0, and no int32 overflows.
template <class T> T in_order(T x, bool least) {
  if constexpr (std::is_floating_point_v<T>) return least ? -x : x;
  else if constexpr (is_mask<T>) return T(bool(x) != least);
  else return least ? ~x : x;
}
// The bits in which x and what stands in the reverse order differ
template <class V> bit_lane<V> bits_in_order(bool least) {
  if (!least) return 0;
  return std::is_floating_point_v<typename V::value_type> ? format_of<V>::sign : ~bit_lane<V>(0);
}
template <class V>
[[gnu::always_inline]] inline V load_in_order(const typename V::value_type* p, bit_lane<V> flip) {
  return from_bits<V>(to_bits(load<V>(p)) ^ flip);
}
// Does x, which comes later, take the place of y? x != x is not said: xsimd 8.1's is false for a NaN on AVX
template <class T> bool is_better(T x, T y) { return !(x <= y) && y == y; }
template <class V> [[gnu::always_inline]] inline mask_of<V> is_better_in(const V& x, const V& y) {
  return (!(x <= y)) & (y == y);
}
template <class V> [[gnu::always_inline]] inline V better_one(const V& x, const V& y) {
  if constexpr (std::is_floating_point_v<typename V::value_type>) return nan_wins_max(x, y);
  else return xsimd::max(x, y);
}

// The first position of each maximum of x (n, columns), rows `stride` apart. One element after the other.
template <class T>
void argmax_of_columns(index_t n, index_t stride, index_t columns, bool least, const T* x, std::int32_t* y) {
  for (index_t j = 0; j < columns; ++j) {
    T best = in_order(x[j], least);
    index_t where = 0;
    for (index_t i = 1; i < n; ++i)
      if (const T v = in_order(x[i * stride + j], least); is_better(v, best)) best = v, where = i;
    y[j] = static_cast<std::int32_t>(where);
  }
}

// The first place of the maximum of the row x[0 .. n)        @pre n >= W
template <class V, class T = typename V::value_type>
std::int32_t argmax_of_row(index_t n, bool least, const T* x) {
  constexpr index_t W = static_cast<index_t>(V::size), chains = 4, block = 16 * chains * W;
  const bit_lane<V> flip = bits_in_order<V>(least);
  // whole vectors; the last one overlaps the one before, which changes neither a maximum nor the first place
  const auto at = [=](index_t i) __attribute__((always_inline)) {
    return load_in_order<V>(x + std::min(i, n - W), flip);
  };
  T best{};
  index_t from = 0;
  for (index_t lo = 0; lo < n; lo += block) {
    const index_t hi = std::min(n, lo + block);
    index_t i = lo;
    V m[chains];
    unroll<chains>([&](auto k) __attribute__((always_inline)) { m[k] = at(lo); });
    for (; i + chains * W <= hi; i += chains * W)
      unroll<chains>([&](auto k) __attribute__((always_inline)) {
        m[k] = better_one(m[k], load_in_order<V>(x + i + k * W, flip));
      });
    for (; i < hi; i += W) m[0] = better_one(m[0], at(i));
    unroll<chains - 1>([&](auto k) __attribute__((always_inline)) { m[0] = better_one(m[0], m[k + 1]); });
    if (lo > 0 && !xsimd::any(is_better_in(m[0], V(best)))) continue;
    alignas(64) T lane[V::size];
    m[0].store_aligned(lane);
    best = lane[0];
    for (const T& v : lane)
      if (is_better(v, best)) best = v;
    from = lo;
    if (!(best == best)) break;
  }
  for (index_t i = from;; i += W) {
    const V v = at(i);
    if (!xsimd::any(best == best ? v == V(best) : !(v == v))) continue;
    for (index_t j = std::min(i, n - W);; ++j)
      if (const T y = in_order(x[j], least); best == best ? y == best : !(y == y))
        return static_cast<std::int32_t>(j);
  }
}

// argmax_of_columns() of at most 16 vectors beside one another, the last of which may overlap the one before.   @pre columns >= W
template <class V, class T = typename V::value_type>
void argmax_of_lanes(index_t n, index_t stride, index_t columns, bool least, const T* x, std::int32_t* y) {
  constexpr index_t W = static_cast<index_t>(V::size);
  const bit_lane<V> flip = bits_in_order<V>(least);
  const index_t vectors = (columns + W - 1) / W;
  V best[16], where[16]; // the bits of `where` are positions
  for (index_t k = 0; k < vectors; ++k) {
    best[k] = load_in_order<V>(x + std::min(k * W, columns - W), flip);
    where[k] = from_bits<V>(bit_lanes<V>{});
  }
  for (index_t i = 1; i < n; ++i) {
    const T* const row = x + i * stride;
    const V here = from_bits<V>(bit_lanes<V>{} + static_cast<bit_lane<V>>(i));
    for (index_t k = 0; k < vectors; ++k) {
      const V v = load_in_order<V>(row + std::min(k * W, columns - W), flip);
      const auto is = is_better_in(v, best[k]);
      best[k] = select(is, v, best[k]);
      where[k] = select(is, here, where[k]);
    }
  }
  for (index_t k = 0; k < vectors; ++k) {
    bit_lane<V> lane[V::size];
    std::memcpy(lane, &where[k], sizeof lane);
    std::int32_t* const to = y + std::min(k * W, columns - W);
    for (index_t l = 0; l < W; ++l) to[l] = static_cast<std::int32_t>(lane[l]);
  }
}

// x (before, n, after), y (before, after)
template <class T, class Team>
void argmax_axis(const Team& team, index_t before, index_t n, index_t after, bool least, const T* x,
                 std::int32_t* y) {
  constexpr index_t W = static_cast<index_t>(64 / sizeof(T)), block = 16 * W, per_chunk = 1 << 14;
  if (after == 1) {
    const index_t rows = std::max<index_t>(1, per_chunk / n);
    return team.run((before + rows - 1) / rows, [=](index_t chunk, int) {
      for (index_t r = chunk * rows; r < std::min(before, (chunk + 1) * rows); ++r) {
        if constexpr (!is_mask<T>)
          if (n >= width<T>) {
            y[r] = argmax_of_row<simd<T>>(n, least, x + r * n);
            continue;
          }
        argmax_of_columns(n, 1, 1, least, x + r * n, y + r);
      }
    });
  }
  const index_t blocks = (after + block - 1) / block;
  team.run(before * blocks, [=](index_t chunk, int) {
    const index_t o = chunk / blocks, hi = std::min(after, (chunk % blocks + 1) * block);
    for (index_t lo = chunk % blocks * block, columns = 0; lo < hi; lo += columns) {
      const T* const from = x + o * n * after + lo;
      columns = hi - lo;
      if constexpr (!is_mask<T>)
        if (columns >= width<T>) {
          columns = std::min<index_t>(columns, 16 * width<T>);
          argmax_of_lanes<simd<T>>(n, after, columns, least, from, y + o * after + lo);
          continue;
        }
      argmax_of_columns(n, after, columns, least, from, y + o * after + lo);
    }
  });
}

// reduced: bit mask of the axes of x, of shape s. y has extent 1 there.   @pre they are not empty
template <class T, class Team>
void argmax_axes(const Team& team, const shape& s, unsigned reduced, bool least, const T* x,
                 std::int32_t* y) {
  struct axis {
    index_t extent, stride;
  };
  axis kept[max_rank], gone[max_rank]; // the reduced ones are gone
  int keeps = 0, goes = 0;
  index_t results = 1, stride = 1;
  for (int a = s.rank - 1; a >= 0; --a) { // last axis first; neighbours are one
    if (s.d[a] == 1) continue;
    const bool goes_away = ((reduced >> a) & 1u) != 0;
    axis* const list = goes_away ? gone : kept;
    int& count = goes_away ? goes : keeps;
    if (count > 0 && list[count - 1].extent * list[count - 1].stride == stride)
      list[count - 1].extent *= s.d[a];
    else list[count++] = {s.d[a], stride};
    if (!goes_away) results *= s.d[a];
    stride *= s.d[a];
  }
  if (results == 0) return;
  if (goes <= 1) {
    const axis one = goes == 1 ? gone[0] : axis{1, 1};
    return argmax_axis(team, stride / (one.extent * one.stride), one.extent, one.stride, least, x, y);
  }
  team.run(results, [&](index_t k, int) {
    const T* p = x;
    for (index_t a = 0, rest = k; a < keeps; rest /= kept[a++].extent)
      p += rest % kept[a].extent * kept[a].stride;
    index_t at[max_rank]{};
    T best = in_order(*p, least);
    std::int32_t where = 0;
    for (std::int32_t position = 0;; ++position) {
      if (const T v = in_order(*p, least); is_better(v, best)) best = v, where = position;
      int a = 0;
      for (; a < goes; ++a) { // the next position, the last axis fastest
        p += gone[a].stride;
        if (++at[a] < gone[a].extent) break;
        p -= gone[a].extent * gone[a].stride;
        at[a] = 0;
      }
      if (a == goes) break;
    }
    y[k] = where;
  });
}

template <> struct kernel_for<detail::op::argmax> {
  template <auto, class T, class Team> static void run(const Team& team, const kernel_call<T>& c) {
    argmax_axes(team, c.operand(0), static_cast<unsigned>(c.step.attr), c.step.attr2 != 0, c.in(0),
                c.template out<std::int32_t>());
  }
};

} // namespace tapeless::cpu
