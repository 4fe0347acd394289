// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Kernels that move elements: pad, concat, flip, gather, scatter_add, scatter_argmax.
// Every tensor is dense; (outer, axis, inner) are the extents before, at and after the axis.
#pragma once
#include <algorithm>
#include <type_traits>
#include "../../expr/op.hpp"
#include "../base/long_sums.hpp"
#include "../base/operand.hpp"
#include "../base/team.hpp"
#include "../../plan/ir/step.hpp"
#include "argmax.hpp"

namespace tapeless::cpu {

// y[o, lo + j, i] = x[o, j, i], zero elsewhere       x: (outer, n, inner)   y: (outer, m, inner)
template <class T, class Team> void pad_axis(const Team& team, index_t outer, index_t n, index_t m,
                                             index_t inner, index_t lo, const T* x, T* y) {
  team.run(outer, [=](index_t o, int) {
    T* const q = y + o * m * inner;
    std::fill(q, q + lo * inner, T{});
    std::copy(x + o * n * inner, x + (o + 1) * n * inner, q + lo * inner);
    std::fill(q + (lo + n) * inner, q + m * inner, T{});
  });
}

// y = a and b side by side along the axis            a: (outer, n, inner)   b: (outer, m, inner)
template <class T, class Team> void concat_axis(const Team& team, index_t outer, index_t n, index_t m,
                                                index_t inner, const T* a, const T* b, T* y) {
  team.run(outer, [=](index_t o, int) {
    T* const q = y + o * (n + m) * inner;
    std::copy(a + o * n * inner, a + (o + 1) * n * inner, q);
    std::copy(b + o * m * inner, b + (o + 1) * m * inner, q + n * inner);
  });
}

// y[o, j, i] = x[o, n - 1 - j, i]                    x, y: (outer, n, inner)
template <class T, class Team> void flip_axis(const Team& team, index_t outer, index_t n, index_t inner,
                                              const T* x, T* y) {
  team.run(outer, [=](index_t o, int) {
    const T* const p = x + o * n * inner;
    T* const q = y + o * n * inner;
    if (inner == 1) std::reverse_copy(p, p + n, q);
    else
      for (index_t j = 0; j < n; ++j) std::copy_n(p + (n - 1 - j) * inner, inner, q + j * inner);
  });
}

/// The number of moved elements that is about worth a chunk.
inline constexpr index_t elements_per_chunk = 1 << 14;

// y[j, i] = x[at[j], i]. Width is that of the rows, 0 where the compiler does not know it.
template <int Width, class T> void gather_rows(index_t count, index_t inner, const T* x,
                                               const std::int32_t* at, T* y) {
  constexpr index_t line = 64 / static_cast<index_t>(sizeof(T)), lines = 128; // in flight
  const index_t ahead = std::max<index_t>(1, lines * line / std::max<index_t>(inner, 1));
  const bool is_long = inner >= 64 * line; // the hardware prefetches it
  for (index_t j = 0; j < count; ++j)
    if constexpr (Width == 0) {
      if (!is_long && j + ahead < count)
        for (index_t i = 0; i < inner; i += line) __builtin_prefetch(x + at[j + ahead] * inner + i);
      if constexpr (std::is_floating_point_v<T>)
        if (is_long) {
          copy_row<simd<T>>(y + j * inner, x + at[j] * inner, inner);
          continue;
        }
      std::copy_n(x + at[j] * inner, inner, y + j * inner);
    } else
      for (int i = 0; i < Width; ++i) y[j * Width + i] = x[index_t(at[j]) * Width + i];
}
template <class T> void gather_rows(index_t count, index_t inner, const T* x, const std::int32_t* at, T* y) {
  if (inner == 1) gather_rows<1>(count, inner, x, at, y); // a call per row would cost more than the row
  else if (inner == 2) gather_rows<2>(count, inner, x, at, y);
  else if (inner == 3) gather_rows<3>(count, inner, x, at, y);
  else if (inner == 4) gather_rows<4>(count, inner, x, at, y);
  else gather_rows<0>(count, inner, x, at, y);
}

// y[o, j, i] = x[o, at[j], i]                         x: (outer, n, inner)   at: (count)   y: (outer, count, inner)
// Where n is 0 there is nothing to read: y is 0. y may be x where at[j] == j.   @pre 0 <= at[j] < n, or n == 0
template <class T, class Team> void gather_axis(const Team& team, index_t outer, index_t n, index_t count,
                                                index_t inner, const T* x, const std::int32_t* at, T* y) {
  if (n == 0) return void(std::fill(y, y + outer * count * inner, T{}));
  if (x == y) return;
  // a chunk is `block` rows (o, j) of y
  const index_t rows = outer * count;
  const index_t block = std::max<index_t>(1, elements_per_chunk / std::max<index_t>(1, inner));
  team.run((rows + block - 1) / block, [=](index_t chunk, int) {
    const index_t end = std::min(rows, (chunk + 1) * block);
    for (index_t r = chunk * block; r < end;) {
      const index_t o = r / count, j = r % count, run = std::min(count - j, end - r);
      gather_rows(run, inner, x + o * n * inner, at + j, y + r * inner);
      r += run;
    }
  });
}

// x[o, k, i] = base[o, k, i] + sum of y[o, j, i] over at[j] == k, in the order of j     @pre 0 <= at[j] < n, or n == 0
// base: nullptr for zeros; it may be x. lost (as large as x) and hits (a byte for each of its rows) are used where
// sums of floating-point numbers may be long. The first terms of a row are one chain. Later terms are added with
// compensation.
template <class T, class Team> void scatter_add_axis(const Team& team, index_t outer, index_t n,
                                                     index_t count, index_t inner, const T* y,
                                                     const std::int32_t* at,
                                                     const std::type_identity_t<T>* base, T* x,
                                                     std::type_identity_t<T>* lost, std::uint8_t* hits) {
  if (n == 0) return;
  constexpr std::uint8_t chain = 32;
  const bool is_long = std::is_floating_point_v<T> && count > short_sum;
  // A chunk is some rows k of one o: all that is added to them, in the order of j. So the cut may depend on the team,
  // and a single thread reads `at` once. Columns would be worse: one core prefetches what another one writes.
  const index_t members = team.size();
  const bool is_cut =
      outer > 0 && outer < 4 * members && inner >= 32 && (n + count) * inner > elements_per_chunk;
  const index_t cuts = is_cut ? std::min(n, (members + outer - 1) / outer) : 1;
  team.run(outer * cuts, [=](index_t chunk, int) {
    const index_t o = chunk / cuts, c = chunk % cuts, lo = n * c / cuts, hi = n * (c + 1) / cuts;
    T* const to = x + o * n * inner;
    if (!base) std::fill(to + lo * inner, to + hi * inner, T{});
    else if (base != x) std::copy(base + (o * n + lo) * inner, base + (o * n + hi) * inner, to + lo * inner);
    if (is_long) std::fill(hits + o * n + lo, hits + o * n + hi, std::uint8_t{0});
    for (index_t j = 0; j < count; ++j) {
      const index_t k = at[j];
      if (k < lo || k >= hi) continue;
      T* const q = to + k * inner;
      const T* const p = y + (o * count + j) * inner;
      if constexpr (std::is_floating_point_v<T>)
        if (is_long) {
          std::uint8_t& hit = hits[o * n + k];
          T* const l = lost + (o * n + k) * inner;
          if (hit == chain) std::fill_n(l, inner, T(0));
          if (hit <= chain) ++hit;
          if (hit > chain) {
            add_compensated<simd<T>>(inner, p, q, l);
            continue;
          }
        }
      for (index_t i = 0; i < inner; ++i)
        if constexpr (std::is_arithmetic_v<T>) q[i] += p[i];
        else q[i] = q[i] || p[i]; // masks
    }
  });
}

// w[k]: the first position of the largest d[j] over at[j] == k, or -1 if no such d[j] is larger than base[k]; a NaN is the largest
// d, at: (count)   base, w: (n)
template <class T> void scatter_argmax(index_t n, index_t count, const T* d, const std::int32_t* at,
                                       const T* base, std::int32_t* w) {
  if (n == 0) return; // an index into nothing is clamped to 0
  std::fill_n(w, n, std::int32_t{-1});
  for (index_t j = 0; j < count; ++j) {
    std::int32_t& best = w[at[j]];
    const T x = d[j], y = best < 0 ? base[at[j]] : d[best];
    if (is_better(x, y)) best = static_cast<std::int32_t>(j);
  }
}

// ---- steps
template <> struct kernel_for<detail::op::pad> {
  template <auto, class T, class Team> static void run(const Team& team, const kernel_call<T>& c) {
    const shape &x = c.operand(0), &y = c.result();
    pad_axis(team, c.before_axis(x), x.d[c.axis()], y.d[c.axis()], c.after_axis(x),
             static_cast<index_t>(c.step.attr2), c.in(0), c.out());
  }
};
template <> struct kernel_for<detail::op::concat> {
  template <auto, class T, class Team> static void run(const Team& team, const kernel_call<T>& c) {
    const shape &a = c.operand(0), &b = c.operand(1);
    concat_axis(team, c.before_axis(a), a.d[c.axis()], b.d[c.axis()], c.after_axis(a), c.in(0), c.in(1),
                c.out());
  }
};
template <> struct kernel_for<detail::op::flip> {
  template <auto, class T, class Team> static void run(const Team& team, const kernel_call<T>& c) {
    const shape& x = c.operand(0);
    flip_axis(team, c.before_axis(x), x.d[c.axis()], c.after_axis(x), c.in(0), c.out());
  }
};
template <> struct kernel_for<detail::op::gather> {
  template <auto, class T, class Team> static void run(const Team& team, const kernel_call<T>& c) {
    const shape &x = c.operand(0), &i = c.operand(1);
    gather_axis(team, c.before_axis(x), x.d[c.axis()], product(i, 0, i.rank), c.after_axis(x), c.in(0),
                c.index(1), c.out());
  }
};
template <> struct kernel_for<detail::op::scatter_add> {
  template <auto, class T, class Team> static void run(const Team& team, const kernel_call<T>& c) {
    const shape &y = c.result(), &i = c.operand(1);
    T* const lost = c.step.carries > 0 ? static_cast<T*>(c.frame.slot[c.step.loads + 1].data()) : nullptr;
    scatter_add_axis(team, c.before_axis(y), y.d[c.axis()], product(i, 0, i.rank), c.after_axis(y), c.in(0),
                     c.index(1), c.step.loads > 2 ? c.in(2) : nullptr, c.out(), lost,
                     lost ? reinterpret_cast<std::uint8_t*>(lost + product(y, 0, y.rank)) : nullptr);
  }
};
template <> struct kernel_for<detail::op::scatter_argmax> {
  template <auto, class T, class Team> static void run(const Team&, const kernel_call<T>& c) {
    const shape &d = c.operand(0), &base = c.operand(2);
    scatter_argmax(product(base, 0, base.rank), product(d, 0, d.rank), c.in(0), c.index(1), c.in(2),
                   c.template out<std::int32_t>());
  }
};

} // namespace tapeless::cpu
