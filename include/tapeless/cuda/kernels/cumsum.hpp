// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// cumsum along an axis: x, y (before, n, after); to_end: the sums begin at the end. A line is cut into chunks, a thread each:
//   chunk_sums_kernel     the sum of each chunk
//   chunk_begins_kernel   the sum before each chunk, in its place
//   cumsum_kernel         the results. y may be x
#pragma once
#include "../base/block.hpp"
#include "../base/sums.hpp"

namespace tapeless::cuda {

template <class T> struct cumsum_lines {
  const T* x;
  T* y;
  long_sum<T>* kept;                     // chunk k of line l at k lines + l; nullptr: one chunk
  count_t lines, n, after, chunks, each; // lines: before * after; each: elements of a chunk
  counted_rows rows;                     // 0 where they are not there
  bool to_end;

  // act(where it is, its row) for the elements of a chunk
  template <class Act> TAPELESS_KERNEL void of_chunk(count_t c, Act act) const {
    const count_t line = c % lines, lo = c / lines * each, end = n - lo < each ? n : lo + each;
    const index_t first = static_cast<index_t>(line / after) * n * after + line % after;
    for (count_t i = lo; i < end; ++i) {
      const count_t row = to_end ? n - 1 - i : i;
      act(first + static_cast<index_t>(row) * after, row);
    }
  }
};
template <class T> struct chunk_sums_kernel : cumsum_lines<T> {
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(this->lines * this->chunks, [this](count_t c) {
      long_sum<T> sum;
      this->of_chunk(c, [&](index_t at, count_t) { sum.add(this->x[at]); });
      this->kept[c] = sum;
    });
  }
};
template <class T> struct chunk_begins_kernel : cumsum_lines<T> {
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(this->lines, [this](count_t line) {
      long_sum<T> before;
      for (count_t k = 0; k < this->chunks; ++k) {
        long_sum<T>& here = this->kept[k * this->lines + line];
        const long_sum<T> chunk = here;
        here = before;
        before.add(chunk.high);
        if (chunk.low == chunk.low) before.add(chunk.low); // of an infinite sum it is NaN
      }
    });
  }
};
template <class T> struct cumsum_kernel : cumsum_lines<T> {
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(this->lines * this->chunks, [this](count_t c) {
      long_sum<T> sum;
      if (this->kept != nullptr) sum = this->kept[c];
      this->of_chunk(c, [&](index_t at, count_t row) {
        sum.add(this->x[at]);
        this->y[at] = this->rows.has(row) ? sum.value() : T(0);
      });
    });
  }
};

} // namespace tapeless::cuda
