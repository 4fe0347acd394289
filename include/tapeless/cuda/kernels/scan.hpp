// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Running ops along an axis: operands and y (before, n, after); to_end: they begin at the end. A line is cut into chunks, a thread each:
//   chunk_ends_kernel     what each chunk makes of its elements alone
//   chunk_begins_kernel   what the chunks before each one make, in its place
//   scan_kernel           the results
// Op: a detail::op, as a number: names of kernels have types and numbers.
#pragma once
#include "../../expr/op.hpp"
#include "../base/block.hpp"
#include "../base/functions.hpp"
#include "../base/sums.hpp"

namespace tapeless::cuda {

template <int Op> inline constexpr bool is_linear = Op == static_cast<int>(detail::op::linear_scan);

// What is kept from one element to the next: next(a, b, row), and join(what a later chunk has made)
template <class T, int Op> struct scan_state {
  static constexpr count_t none = ~count_t{0};
  T product{1}, y{};
  count_t at = none; // of a maximum its row; none: nothing has come
  TAPELESS_KERNEL void next(T a, T b, count_t row) {
    if (at == none) {
      product = a;
      y = b;
      at = row;
    } else if constexpr (Op == static_cast<int>(detail::op::cumprod)) y *= b;
    else if constexpr (is_linear<Op>) {
      product *= a;
      y = y == 0 ? b : a * y + b; // 0 times a coefficient is 0, whatever that is
    } else if (wins(b, y)) {
      y = b;
      at = row;
    }
  }
  TAPELESS_KERNEL void join(const scan_state& later) {
    if (later.at == none) return;
    if (at == none) *this = later;
    else if constexpr (is_linear<Op>) {
      product *= later.product;
      y = y == 0 ? later.y : later.product * y + later.y;
    } else next(T{}, later.y, later.at);
  }
  TAPELESS_KERNEL T value() const { return y; }
  TAPELESS_KERNEL std::int32_t place() const { return static_cast<std::int32_t>(at); }
};
template <class T> struct scan_state<T, static_cast<int>(detail::op::cumsum)> {
  long_sum<T> sum;
  TAPELESS_KERNEL void next(T, T b, count_t) { sum.add(b); }
  TAPELESS_KERNEL void join(const scan_state& later) {
    sum.add(later.sum.high);
    if (later.sum.low == later.sum.low) sum.add(later.sum.low); // of an infinite sum it is NaN
  }
  TAPELESS_KERNEL T value() const { return sum.value(); }
};

template <class T, int Op> struct scan_lines {
  using state = scan_state<T, Op>;
  const T *a, *b; // a: the coefficients of a linear scan
  void* y;
  state* kept;                           // chunk k of line l at k lines + l; nullptr: one chunk
  count_t lines, n, after, chunks, each; // lines: before * after; each: elements of a chunk
  counted_rows rows;                     // nothing comes of those that are not there; they are 0 in y
  bool to_end;

  // s takes the elements of chunk c; put(where it is, is it there?) follows each
  template <class Put> TAPELESS_KERNEL void of_chunk(count_t c, state& s, Put put) const {
    const count_t line = c % lines, lo = c / lines * each, end = n - lo < each ? n : lo + each;
    const index_t first = static_cast<index_t>(line / after) * n * after + line % after;
    for (count_t i = lo; i < end; ++i) {
      const count_t row = to_end ? n - 1 - i : i;
      const index_t at = first + static_cast<index_t>(row) * after;
      const bool is_there = rows.has(row);
      if (is_there) {
        T coefficient{};
        // from the end that from i + 1 to i is the one of i + 1; that of a line's first element is not read
        if constexpr (is_linear<Op>)
          if (i > 0) coefficient = a[to_end ? at + after : at];
        s.next(coefficient, b[at], row);
      }
      put(at, is_there);
    }
  }
};
template <class T, int Op> struct chunk_ends_kernel : scan_lines<T, Op> {
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(this->lines * this->chunks, [this](count_t c) {
      scan_state<T, Op> s;
      this->of_chunk(c, s, [](index_t, bool) {});
      this->kept[c] = s;
    });
  }
};
template <class T, int Op> struct chunk_begins_kernel : scan_lines<T, Op> {
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(this->lines, [this](count_t line) {
      scan_state<T, Op> before;
      for (count_t k = 0; k < this->chunks; ++k) {
        scan_state<T, Op>& here = this->kept[k * this->lines + line];
        const scan_state<T, Op> chunk = here;
        here = before;
        before.join(chunk);
      }
    });
  }
};
template <class T, int Op> struct scan_kernel : scan_lines<T, Op> {
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(this->lines * this->chunks, [this](count_t c) {
      scan_state<T, Op> s;
      if (this->kept != nullptr) s = this->kept[c];
      this->of_chunk(c, s, [this, &s](index_t at, bool is_there) {
        if constexpr (Op == static_cast<int>(detail::op::cumargmax))
          static_cast<std::int32_t*>(this->y)[at] = is_there ? s.place() : 0;
        else static_cast<T*>(this->y)[at] = is_there ? s.value() : T(0);
      });
    });
  }
};

} // namespace tapeless::cuda
