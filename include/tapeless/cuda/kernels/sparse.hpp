// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Sparse matrices, line by line (lines.hpp): place p of line i is the entry e with the cross j.
//   line_products   Y[i, :] = sum_p values[e] * X[j, :]          A B by its rows, A^T B by its columns
//   spread          out[e] = l[i] * r[j]          sampled   out[e] = <L[i, :], R[j, :]>
//   triangle        out[e] = is (i, j) in it?
//   entries_of      out[e] = d[i, j]              dense_of   d[i, j] = values[e]
//   spgemm          the values of one of the matrices in c_ij = sum_k a_ik b_kj
//   solve           X = A^-1 B, of a triangle of A
#pragma once
#include "../base/block.hpp"
#include "lines.hpp"

namespace tapeless::cuda {

// The lines that have values: those where `of` is not zero, or where it is. nullptr: all.
template <class T> struct line_mask {
  const void* of;
  bool is_bool, passes_where_zero;
  TAPELESS_KERNEL bool passes(count_t i) const {
    if (of == nullptr) return true;
    const bool zero =
        is_bool ? static_cast<const unsigned char*>(of)[i] == 0 : static_cast<const T*>(of)[i] == T(0);
    return zero == passes_where_zero;
  }
};
// G threads for each element of Y, which is (lines, k), and each of the parts that its line is cut into. values, x: nullptr for
// ones. skips: where x is 0, entries do not count, infinite ones neither.
template <class T, int G> struct line_products_kernel {
  sparse_lines a;
  const T *values, *x;
  T* y; // (parts, lines, k)
  count_t items, k, parts;
  bool skips;
  line_mask<T> mask;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.template groups<G, sum_of_lane<T>>(
        items * parts,
        [this](count_t member, count_t lane) {
          const count_t item = member % items, part = member / items, i = item / k, c = item % k;
          if (!mask.passes(i)) return sum_of_lane<T>{};
          const count_t begin = a.begin(i), end = a.end_of(i), each = (end - begin + parts - 1) / parts,
                        from = begin + part * each;
          if (part * std::uint64_t{each} >= end - begin) return sum_of_lane<T>{};
          return sum_of_terms<G, T>(from, end - from > each ? from + each : end, lane, [this, c](count_t p) {
            const T factor = x == nullptr ? T(1) : x[static_cast<index_t>(a.cross[p]) * k + c];
            if (values == nullptr || (skips && factor == T(0))) return factor;
            return values[a.entry_of(p)] * factor;
          });
        },
        add_lanes<T>{}, [this](count_t member, const sum_of_lane<T>& sum) { y[member] = sum.x[0]; });
  }
};

// act(entry, line, cross) of all entries: some threads a line.
template <class Block, class Act>
TAPELESS_KERNEL void each_entry(const Block& block, const sparse_lines& a, count_t lines, Act act) {
  constexpr int G = 8;
  block.template groups<G, sum_of_lane<int>>(
      lines,
      [&a, act](count_t i, count_t lane) {
        for (count_t p = a.begin(i) + lane, end = a.end_of(i); p < end; p += G)
          act(a.entry_of(p), i, static_cast<count_t>(a.cross[p]));
        return sum_of_lane<int>{};
      },
      [](sum_of_lane<int>&, const sum_of_lane<int>&) {}, [](count_t, const sum_of_lane<int>&) {});
}
// l, r: nullptr for ones
template <class T> struct spread_kernel {
  sparse_lines a;
  const T *l, *r;
  T* out;
  count_t lines;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    each_entry(block, a, lines, [this](count_t e, count_t i, count_t j) {
      out[e] = r == nullptr ? l == nullptr ? T(1) : l[i] : l == nullptr ? r[j] : l[i] * r[j];
    });
  }
};
template <class T> struct triangle_kernel {
  sparse_lines a;
  T* out;
  count_t lines;
  bool upper, diagonal;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    each_entry(block, a, lines, [this](count_t e, count_t i, count_t j) {
      out[e] = (i == j ? diagonal : upper ? j > i : j < i) ? T(1) : T(0);
    });
  }
};
template <class T> struct entries_of_kernel {
  sparse_lines a;
  const T* d; // (lines, columns)
  T* out;
  count_t lines, columns;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    each_entry(block, a, lines, [this](count_t e, count_t i, count_t j) {
      out[e] = d[static_cast<index_t>(i) * columns + j];
    });
  }
};
template <class T> struct zero_kernel {
  T* y;
  count_t n;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(n, [this](count_t i) { y[i] = T(0); });
  }
};
// @pre d is zero
template <class T> struct dense_of_kernel {
  sparse_lines a;
  const T* values;
  T* d; // (lines, columns)
  count_t lines, columns;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    each_entry(block, a, lines, [this](count_t e, count_t i, count_t j) {
      d[static_cast<index_t>(i) * columns + j] = values[e];
    });
  }
};
// G threads an entry. l: (lines, k), r: (crosses, k)
template <class T, int G> struct sampled_kernel {
  sparse_lines a;
  const T *l, *r;
  T* out;
  count_t places, lines, k;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.template groups<G, sum_of_lane<T>>(
        places,
        [this](count_t p, count_t lane) {
          const T* const x = l + static_cast<index_t>(a.line_of(p, lines)) * k;
          const T* const y = r + static_cast<index_t>(a.cross[p]) * k;
          return sum_of_terms<G, T>(0, k, lane, [x, y](count_t c) { return x[c] * y[c]; });
        },
        add_lanes<T>{}, [this](count_t p, const sum_of_lane<T>& sum) { out[a.entry_of(p)] = sum.x[0]; });
  }
};

// out at (u, v) of `to` = sum of first(u, w) second(w, v) over line u of `first`; ByLine: of first(u, w) second(v, w).
// Crosses of `second` ascend in a line. Some threads an entry of `to`, in rows.
template <class T, bool ByLine> struct spgemm_kernel {
  sparse_lines to, first, second;
  const T *x, *y; // values of first and second
  T* out;
  count_t places, lines; // of `to`
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    constexpr int G = 8;
    block.template groups<G, sum_of_lane<T>>(
        places,
        [this](count_t place, count_t lane) {
          const count_t u = to.line_of(place, lines), v = static_cast<count_t>(to.cross[place]);
          return sum_of_terms<G, T>(first.begin(u), first.end_of(u), lane, [this, v](count_t p) {
            const auto w = static_cast<count_t>(first.cross[p]);
            const count_t line = ByLine ? v : w, cross = ByLine ? w : v, q = second.first_from(line, cross);
            const bool meets = q < second.end_of(line) && static_cast<count_t>(second.cross[q]) == cross;
            return meets ? x[first.entry_of(p)] * y[second.entry_of(q)] : T(0);
          });
        },
        add_lanes<T>{}, [this](count_t place, const sum_of_lane<T>& sum) { out[place] = sum.x[0]; });
  }
};

// b, x: (n, k). A group of threads a column of x, one row of A after another: each waits for those before it.
// upper: of the lines. unit: the diagonal is ones. A diagonal that is not stored is 0.
template <class T> struct solve_kernel {
  sparse_lines a;
  const T *values, *b;
  T* x;
  count_t n, k;
  bool upper, unit;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    constexpr int G = 32;
    block.template chains<G, sum_of_lane<T>>(
        k, n,
        [this](count_t c, count_t step, count_t lane) {
          const count_t i = line_of(step), from = a.first_from(i, upper ? i + 1 : i);
          return sum_of_terms<G, T>(
              upper ? from : a.begin(i), upper ? a.end_of(i) : from, lane, [this, c](count_t p) {
                return values[a.entry_of(p)] * x[static_cast<index_t>(a.cross[p]) * k + c];
              });
        },
        add_lanes<T>{},
        [this](count_t c, count_t step, const sum_of_lane<T>& sum) {
          const count_t i = line_of(step), at = a.first_from(i, i);
          const bool stored = at < a.end_of(i) && static_cast<count_t>(a.cross[at]) == i;
          const index_t here = static_cast<index_t>(i) * k + c;
          const T rest = b[here] - sum.x[0];
          x[here] = unit ? rest : rest / (stored ? values[a.entry_of(at)] : T(0));
        });
  }

private:
  TAPELESS_KERNEL count_t line_of(count_t step) const { return upper ? n - 1 - step : step; }
};

} // namespace tapeless::cuda
