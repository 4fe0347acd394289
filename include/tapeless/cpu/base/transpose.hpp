// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// The transpose of a matrix in memory, in blocks of W x W lanes.
#include <algorithm>
#include <utility>

#include "simd.hpp"

namespace tapeless::cpu {
// Rounds of H = 1, 2, 4, ...: each exchanges the H x H blocks beside the diagonal.
template <class V, int H = 1> [[gnu::always_inline]] inline void transpose_lanes(V (&v)[V::size]) {
  constexpr int W = static_cast<int>(V::size);
  if constexpr (H < W) {
    unroll<W>([&](auto i) __attribute__((always_inline)) {
      if constexpr ((i & H) == 0) {
        const auto a = v[i].data, b = v[i + H].data;
        [&]<int... L>(std::integer_sequence<int, L...>) __attribute__((always_inline)) {
          v[i] = V(__builtin_shufflevector(a, b, ((L & H) != 0 ? W + L - H : L)...));
          v[i + H] = V(__builtin_shufflevector(a, b, ((L & H) != 0 ? W + L : L + H)...));
        }(std::make_integer_sequence<int, W>{});
      }
    });
    transpose_lanes<V, 2 * H>(v);
  }
}

/// Transposes groups of rows, so that neighbours in a row of `to` are written together. Ahead: how many columns ahead
/// it prefetches. Wide: columns of a group that are read together, one vector or more.
template <class V, bool Padded, bool PastCaches, index_t Ahead, index_t Wide, class T>
void transpose_by_groups(index_t rows, index_t cols, const T* from, index_t from_row, T* to, index_t to_row,
                         index_t group) {
  constexpr index_t W = static_cast<index_t>(V::size);
  const auto whole = [&](const T* f, T* t) __attribute__((always_inline)) {
    V v[V::size];
    unroll<V::size>([&](auto r) __attribute__((always_inline)) {
      if constexpr (Ahead > 0) __builtin_prefetch(f + r * from_row + Ahead);
      v[r] = load<V>(f + r * from_row);
    });
    transpose_lanes(v);
    unroll<V::size>([&](auto r) __attribute__((always_inline)) {
      if constexpr (PastCaches) store_past_caches(t + r * to_row, v[r]);
      else store(t + r * to_row, v[r]);
    });
  };
  const auto edge = [&](index_t m, index_t n, const T* f, T* t) __attribute__((always_inline)) {
    const first_lanes<V> of_row(n), of_column(m);
    V v[V::size];
    unroll<V::size>([&](auto r) __attribute__((always_inline)) {
      v[r] = r >= m ? V(T(0)) : n == W ? load<V>(f + r * from_row) : of_row.load(f + r * from_row);
    });
    transpose_lanes(v);
    unroll<V::size>([&](auto r) __attribute__((always_inline)) {
      if (r >= n) return;
      if (m == W || Padded) store(t + r * to_row, v[r]);
      else of_column.store(t + r * to_row, v[r]);
    });
  };
  for (index_t i0 = 0; i0 < rows; i0 += group)
    for (index_t j = 0; j < cols; j += Wide) {
      const index_t end = std::min(rows, i0 + group), n = std::min(Wide, cols - j);
      index_t i = i0;
      if (n == Wide)
        for (; i + W <= end; i += W)
          for (index_t x = 0; x < Wide; x += W) whole(from + i * from_row + j + x, to + (j + x) * to_row + i);
      for (; i < end; i += W)
        for (index_t x = 0; x < n; x += W)
          edge(std::min(W, end - i), std::min(W, n - x), from + i * from_row + j + x,
               to + (j + x) * to_row + i);
    }
}

/// to[j * to_row + i] = from[i * from_row + j] for i < rows, j < cols. With Padded every row of `to` is written up to
/// a whole vector, with zeros after its `rows` elements.
template <class V, bool Padded = false, class T>
void transpose(index_t rows, index_t cols, const T* from, index_t from_row, T* to, index_t to_row) {
  constexpr index_t W = static_cast<index_t>(V::size), line = 64 / static_cast<index_t>(sizeof(T));
  // rows a page apart share sets of L1: take few at a time
  const bool crowded = W < line && from_row * static_cast<index_t>(sizeof(T)) % 4096 == 0;
  transpose_by_groups<V, Padded, false, W == line ? 0 : line, std::max(W, line)>(
      rows, cols, from, from_row, to, to_row, crowded ? W : 4 * W);
}
/// transpose() of a matrix that is larger than the nearest caches.
/// PastCaches: `to` is larger than all of them and not read soon.
template <class V, bool PastCaches = false, class T>
[[gnu::noinline]] void transpose_blocks(index_t rows, index_t cols, const T* from, index_t from_row, T* to,
                                        index_t to_row) {
  constexpr index_t W = static_cast<index_t>(V::size), line = 64 / static_cast<index_t>(sizeof(T));
  if (PastCaches && lines_up(to) && to_row % line == 0)
    transpose_by_groups<V, false, PastCaches, 2 * line, W>(rows, cols, from, from_row, to, to_row,
                                                           std::max(2 * line, W));
  else
    transpose_by_groups<V, false, false, 2 * line, W>(rows, cols, from, from_row, to, to_row,
                                                      std::max(4 * line, W));
}

/// to[j * rows + i] = from[i * from_row + j] for i < rows, j < cols: a transpose without gaps between the rows of
/// `to`.
///   @pre rows > 0
template <class V, class T>
void interleave(index_t rows, index_t cols, const T* from, index_t from_row, T* to) {
  constexpr index_t W = static_cast<index_t>(V::size);
  // Whole vectors are written even where fewer lanes are left. What is too much is overwritten: by the next columns,
  // or by the groups of rows before this one, which come later.
  for (index_t i = (rows - 1) / W * W; i >= 0; i -= W) {
    const index_t m = std::min(W, rows - i);
    const first_lanes<V> lanes(m);
    const index_t room = (W + i - 1) / rows; // columns whose whole vectors would end past `to`
    index_t j = 0;
    for (; j + W + room <= cols; j += W) {
      const T* const f = from + i * from_row + j;
      T* const t = to + j * rows + i;
      V v[V::size];
      unroll<V::size>([&](auto r) __attribute__((always_inline)) {
        v[r] = load<V>(f + std::min<index_t>(r, m - 1) * from_row);
      });
      transpose_lanes(v);
      unroll<V::size>([&](auto r) __attribute__((always_inline)) { store(t + r * rows, v[r]); });
    }
    for (; j < cols; j += W) {
      const index_t n = std::min(W, cols - j);
      const first_lanes<V> columns(n);
      const T* const f = from + i * from_row + j;
      T* const t = to + j * rows + i;
      V v[V::size];
      unroll<V::size>([&](auto r) __attribute__((always_inline)) {
        v[r] = columns.load(f + std::min<index_t>(r, m - 1) * from_row);
      });
      transpose_lanes(v);
      unroll<V::size>([&](auto r) __attribute__((always_inline)) {
        if (r < n) lanes.store(t + r * rows, v[r]);
      });
    }
  }
}

/// even[i], odd[i] = elements 2 i, 2 i + 1 of a and b side by side
template <class V> [[gnu::always_inline]] inline void take_apart(const V& a, const V& b, V& even, V& odd) {
  [&]<int... L>(std::integer_sequence<int, L...>) __attribute__((always_inline)) {
    even = V(__builtin_shufflevector(a.data, b.data, (2 * L)...));
    odd = V(__builtin_shufflevector(a.data, b.data, (2 * L + 1)...));
  }(std::make_integer_sequence<int, static_cast<int>(V::size)>{});
}
/// The inverse of take_apart.
template <class V> [[gnu::always_inline]] inline void put_together(const V& even, const V& odd, V& a, V& b) {
  constexpr int W = static_cast<int>(V::size);
  [&]<int... L>(std::integer_sequence<int, L...>) __attribute__((always_inline)) {
    a = V(__builtin_shufflevector(even.data, odd.data, (L / 2 + L % 2 * W)...));
    b = V(__builtin_shufflevector(even.data, odd.data, ((L + W) / 2 + L % 2 * W)...));
  }(std::make_integer_sequence<int, W>{});
}
/// r[f][j] = from[j * N + f], N is 2 or 4
template <class V, int N, class T> [[gnu::always_inline]] inline void load_apart(const T* from, V (&r)[N]) {
  static_assert(N == 2 || N == 4);
  constexpr index_t W = static_cast<index_t>(V::size);
  if constexpr (N == 2) take_apart(load<V>(from), load<V>(from + W), r[0], r[1]);
  else {
    V even[2], odd[2];
    take_apart(load<V>(from), load<V>(from + W), even[0], odd[0]);
    take_apart(load<V>(from + 2 * W), load<V>(from + 3 * W), even[1], odd[1]);
    take_apart(even[0], even[1], r[0], r[2]);
    take_apart(odd[0], odd[1], r[1], r[3]);
  }
}
/// to[j * N + f] = v[f][j], N is 2 or 4
template <class V, int N, class T> [[gnu::always_inline]] inline void store_apart(T* to, const V (&v)[N]) {
  static_assert(N == 2 || N == 4);
  constexpr index_t W = static_cast<index_t>(V::size);
  V a, b;
  if constexpr (N == 2) {
    put_together(v[0], v[1], a, b);
    store(to, a);
    store(to + W, b);
  } else {
    V even[2], odd[2];
    put_together(v[0], v[2], even[0], even[1]);
    put_together(v[1], v[3], odd[0], odd[1]);
    unroll<2>([&](auto i) __attribute__((always_inline)) {
      put_together(even[i], odd[i], a, b);
      store(to + 2 * i * W, a);
      store(to + (2 * i + 1) * W, b);
    });
  }
}

} // namespace tapeless::cpu
