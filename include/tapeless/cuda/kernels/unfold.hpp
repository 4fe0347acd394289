// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// unfold   y[n, o, c, t, :] = x[n, c, o * stride - front + t * dil, :], zero outside x      fold   its transpose
// A thread an element of the result.
#pragma once
#include "../../core/geometry.hpp"
#include "../base/block.hpp"
#include "../base/sums.hpp"

namespace tapeless::cuda {

template <class T> struct unfold_kernel {
  const T* x;
  T* y;
  count_t items;
  unfold_extents e;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(items, [this](count_t k) {
      const index_t i = k % e.area, t = k / e.area % e.taps, c = k / e.area / e.taps % e.c,
                    o = k / e.area / e.taps / e.c % e.out, n = k / e.area / e.taps / e.c / e.out,
                    at = o * e.stride - e.front + t * e.dil;
      y[k] = at < 0 || at >= e.d ? T{} : x[((n * e.c + c) * e.d + at) * e.area + i];
    });
  }
};
template <class T> struct fold_kernel {
  const T* y;
  T* x;
  count_t items;
  unfold_extents e;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(items, [this](count_t k) {
      const index_t i = k % e.area, at = k / e.area % e.d, c = k / e.area / e.d % e.c,
                    n = k / e.area / e.d / e.c;
      long_sum<T> sum;
      for (index_t o = 0; o < e.out; ++o) {
        const index_t t = at + e.front - o * e.stride;
        if (t >= 0 && t % e.dil == 0 && t / e.dil < e.taps)
          sum.add(y[(((n * e.out + o) * e.c + c) * e.taps + t / e.dil) * e.area + i]);
      }
      x[k] = sum.value();
    });
  }
};

} // namespace tapeless::cuda
