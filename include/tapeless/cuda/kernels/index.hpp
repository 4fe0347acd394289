// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// gather, scatter_add, scatter_argmax, argmax. (outer, axis, inner) are the extents before, at and after the axis.
#pragma once
#include "../base/block.hpp"
#include "../base/functions.hpp"
#include "../base/sums.hpp"
#include "select.hpp"

namespace tapeless::cuda {

// y[o, j, i] = x[o, at[j], i]                         x: (outer, n, inner)   at: (count)   y: (outer, count, inner)
// 0 where at[j] is not in [0, n), and where row j is not there. y may be x where at[j] == j.
template <class T> struct gather_kernel {
  const T* x;
  const std::int32_t* at;
  T* y;
  count_t items, n, count, inner;
  counted_rows rows;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(items, [this](count_t e) {
      const count_t i = e % inner, row = e / inner, j = row % count, o = row / count;
      const auto from = rows.has(j) ? static_cast<count_t>(at[j]) : n; // below 0: beyond n
      y[e] = from < n ? x[(static_cast<index_t>(o) * n + from) * inner + i] : T{};
    });
  }
};

// x[o, k, i] = base[o, k, i] + sum of y[o, j, i] over at[j] == k, in the order of j
// base: nullptr for zeros; it may be x. A thread an element of x. sorted: the j by their rows, end: where each row ends
// (sort.hpp); nullptr: a thread looks at each at[j].
template <class T> struct scatter_add_kernel {
  const T* y;
  const std::int32_t* at;
  const T* base;
  T* x;
  const count_t *sorted, *end;
  count_t items, n, count, inner;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(items, [this](count_t e) {
      const count_t i = e % inner, row = e / inner, o = row / n, k = row % n;
      const index_t first = static_cast<index_t>(o) * count * inner + i;
      long_sum<T> sum;
      if (base != nullptr) sum.add(base[e]);
      if (sorted != nullptr)
        for (count_t p = k == 0 ? 0 : end[k - 1]; p < end[k]; ++p)
          sum.add(y[first + static_cast<index_t>(sorted[p]) * inner]);
      else
        for (count_t j = 0; j < count; ++j)
          if (at[j] == static_cast<std::int32_t>(k)) sum.add(y[first + static_cast<index_t>(j) * inner]);
      x[e] = sum.value();
    });
  }
};

// w[k]: the first position of the largest d[j] over at[j] == k, or -1 if no such d[j] is larger than base[k]; a NaN is the largest
// d, at: (count)   base, w: (items). sorted, end: as above; those of a row ascend
template <class T> struct scatter_argmax_kernel {
  const T* d;
  const std::int32_t* at;
  const T* base;
  std::int32_t* w;
  const count_t *sorted, *end;
  count_t items, count;
  counted_rows rows; // of d
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(items, [this](count_t k) {
      T y = base[k];
      std::int32_t best = -1;
      const auto take = [&](count_t j) {
        if (!rows.has(j)) return;
        const T x = d[j];
        if (!wins(x, y)) return;
        y = x;
        best = static_cast<std::int32_t>(j);
      };
      if (sorted != nullptr)
        for (count_t p = k == 0 ? 0 : end[k - 1]; p < end[k]; ++p) take(sorted[p]);
      else
        for (count_t j = 0; j < count; ++j)
          if (at[j] == static_cast<std::int32_t>(k)) take(j);
      w[k] = best;
    });
  }
};

// Row-major position, within the reduced axes, of the first maximum, or minimum (least); a NaN counts as either. Axes: the last one
// first.
template <class T> struct argmax_kernel {
  static constexpr int lanes = 32;
  using U = key_type<T>;
  struct best_of_lane {
    U x[2]; // its key; its position
  };
  const T* x;
  std::int32_t* y;
  count_t items, positions;
  bool least;
  int kept, reduced; // axes
  count_t kept_extent[6], reduced_extent[6];
  index_t kept_stride[6], reduced_stride[6];
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.template groups<lanes, best_of_lane>(
        items,
        [this](count_t e, count_t lane) {
          const T* const from = x + place(e, kept, kept_extent, kept_stride);
          best_of_lane best{{0, ~U(0)}}; // loses to every value
          for (count_t p = lane; p < positions; p += lanes)
            take(best, {{key_of_extreme(from[place(p, reduced, reduced_extent, reduced_stride)]), U(p)}});
          return best;
        },
        [](best_of_lane& a, const best_of_lane& b) { take(a, b); },
        [this](count_t e, const best_of_lane& best) { y[e] = static_cast<std::int32_t>(best.x[1]); });
  }

private:
  TAPELESS_KERNEL U key_of_extreme(T v) const { return v != v ? ~U(0) : key_of(v, least); }
  TAPELESS_KERNEL static void take(best_of_lane& a, const best_of_lane& b) {
    if (b.x[0] > a.x[0] || (b.x[0] == a.x[0] && b.x[1] < a.x[1])) a = b;
  }
  TAPELESS_KERNEL static index_t place(count_t i, int axes, const count_t* extent, const index_t* stride) {
    index_t at = 0;
    for (int a = 0; a < axes; ++a) {
      at += static_cast<index_t>(i % extent[a]) * stride[a];
      i /= extent[a];
    }
    return at;
  }
};

} // namespace tapeless::cuda
