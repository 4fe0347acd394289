// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// cumsum along an axis: x, y (before, n, after); to_end: the sums begin at the end. A thread a line.
#pragma once
#include "../base/block.hpp"
#include "../base/sums.hpp"

namespace tapeless::cuda {

template <class T> struct cumsum_kernel {
  const T* x;
  T* y;
  count_t items, n, after; // items: before * after
  counted_rows rows;       // 0 where they are not there
  bool to_end;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(items, [this](count_t e) {
      const index_t first = static_cast<index_t>(e / after) * n * after + e % after;
      long_sum<T> sum;
      for (count_t i = 0; i < n; ++i) {
        const index_t at = first + static_cast<index_t>(to_end ? n - 1 - i : i) * after;
        sum.add(x[at]);
        y[at] = rows.has(to_end ? n - 1 - i : i) ? sum.value() : T(0);
      }
    });
  }
};

} // namespace tapeless::cuda
