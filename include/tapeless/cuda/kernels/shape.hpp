// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// store: a number of the host. pad, concat, flip: a thread an element of the result. (outer, axis, inner) are the extents before, at and after the axis.
#pragma once
#include "../base/block.hpp"

namespace tapeless::cuda {

// *to = value, the bits of an argument that is a number
struct store_kernel {
  std::uint64_t *to, value;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(1, [this](count_t) { *to = value; });
  }
};

// y[o, lo + j, i] = x[o, j, i], zero elsewhere       x: (outer, n, inner)   y: (outer, m, inner)
template <class T> struct pad_kernel {
  const T* x;
  T* y;
  count_t items, n, m, inner, lo;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(items, [this](count_t e) {
      const count_t i = e % inner, row = e / inner, j = row % m - lo, o = row / m; // j wraps around below 0
      y[e] = j < n ? x[(static_cast<index_t>(o) * n + j) * inner + i] : T{};
    });
  }
};
// y = a and b side by side along the axis            a: (outer, n, inner)   b: (outer, m, inner)
template <class T> struct concat_kernel {
  const T *a, *b;
  T* y;
  count_t items, n, m, inner;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(items, [this](count_t e) {
      const count_t i = e % inner, row = e / inner, j = row % (n + m), o = row / (n + m);
      y[e] = j < n ? a[(static_cast<index_t>(o) * n + j) * inner + i]
                   : b[(static_cast<index_t>(o) * m + (j - n)) * inner + i];
    });
  }
};
// y[o, j, i] = x[o, n - 1 - j, i]                    x, y: (outer, n, inner)
template <class T> struct flip_kernel {
  const T* x;
  T* y;
  count_t items, n, inner;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(items, [this](count_t e) {
      const count_t i = e % inner, row = e / inner, j = row % n, o = row / n;
      y[e] = x[(static_cast<index_t>(o) * n + (n - 1 - j)) * inner + i];
    });
  }
};

} // namespace tapeless::cuda
