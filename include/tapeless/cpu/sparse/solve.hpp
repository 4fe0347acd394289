// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Substitution with a triangle of a square CSR matrix A: A x = b, or A^T x = b with the rows in place.
#pragma once
#include <algorithm>
#include "../../expr/op.hpp"
#include "../../ops/sparse_solve.hpp"
#include "../../ops/spmm.hpp"
#include "../base/long_sums.hpp"
#include "../base/operand.hpp"
#include "csr.hpp"
#include "../../plan/ir/step.hpp"

namespace tapeless::cpu {

struct triangular_solve {
  index_t n, k; // A: (n, n)   b, x: (n, k)
  bool upper, unit, transposed;
};

// Entries e of row i that lie in the triangle, without the diagonal: [begin, end). diagonal: its entry, or -1.
struct triangle_of_row {
  index_t begin, end, diagonal;
};
template <class Ends> triangle_of_row triangle_of(const csr_rows<Ends>& a, index_t i, bool upper) {
  const index_t first = a.begin(i), last = a.end[i];
  if (first == last) return {first, first, -1};
  const index_t at = a.column[last - 1] < i    ? last // columns ascend, and a triangle alone is not searched
                     : a.column[last - 1] == i ? last - 1
                     : a.column[first] >= i
                         ? first
                         : std::lower_bound(a.column + first, a.column + last, i) - a.column;
  const bool stored = at < last && a.column[at] == i;
  if (upper) return {at + (stored ? 1 : 0), last, stored ? at : -1};
  return {first, at, stored ? at : -1};
}

// A diagonal that is not stored is 0.
template <class T, class Ends> void solve(const triangular_solve& s, const csr_rows<Ends>& a, const T* values,
                                          const T* b, T* x) {
  std::copy(b, b + s.n * s.k, x);
  // By rows, x_i waits for the rows that row i names. Transposed, x_i is final before it is added to those.
  const bool ascending = s.upper == s.transposed;
  for (index_t step = 0; step < s.n; ++step) {
    const index_t i = ascending ? step : s.n - 1 - step;
    const triangle_of_row row = triangle_of(a, i, s.upper);
    T* const mine = x + i * s.k;
    if (s.k == 1 && !s.transposed) { // with the sum in a register: twice as fast at 20 entries a row
      T sum = *mine, lost(0);
      if (row.end - row.begin > short_sum)
        for (index_t e = row.begin; e < row.end; ++e) add_compensated(sum, lost, -values[e] * x[a.column[e]]);
      else
        for (index_t e = row.begin; e < row.end; ++e) sum -= values[e] * x[a.column[e]];
      *mine = sum;
    } else if (!s.transposed)
      for (index_t e = row.begin; e < row.end; ++e)
        for (index_t j = 0; j < s.k; ++j) mine[j] -= values[e] * x[a.column[e] * s.k + j];
    const T pivot = s.unit ? T(1) : row.diagonal >= 0 ? values[row.diagonal] : T(0);
    if (!s.unit)
      for (index_t j = 0; j < s.k; ++j) mine[j] /= pivot;
    if (s.k == 1 && s.transposed) {
      const T mine_now = *mine;
      for (index_t e = row.begin; e < row.end; ++e) x[a.column[e]] -= values[e] * mine_now;
    } else if (s.transposed)
      for (index_t e = row.begin; e < row.end; ++e)
        for (index_t j = 0; j < s.k; ++j) x[a.column[e] * s.k + j] -= values[e] * mine[j];
  }
}

// Clears the entries of the rows [lo, hi) that lie outside the triangle.
template <class T, class Ends> void keep_triangle(const csr_rows<Ends>& a, bool upper, bool diagonal,
                                                  index_t lo, index_t hi, T* y) {
  for (index_t i = lo; i < hi; ++i) {
    const triangle_of_row row = triangle_of(a, i, upper);
    std::fill(y + a.begin(i), y + row.begin, T(0));
    std::fill(y + row.end, y + a.end[i], T(0));
    if (diagonal && row.diagonal >= 0) y[row.diagonal] = T(1);
  }
}

// ---- steps
template <> struct kernel_for<detail::op::sparse_solve> {
  template <auto, class T, class Team> static void run(const Team&, const kernel_call<T>& c) {
    const auto has = [&](std::uint64_t attribute) { return (c.step.attr & attribute) != 0; };
    const shape& x = c.result();
    const triangular_solve how{x.d[0], product(x, 1, x.rank), has(detail::solves_upper),
                               has(detail::solves_unit), has(detail::spmm_transposed)};
    if (!has(detail::solves_wide)) solve<T>(how, csr_rows{c.index(1), c.index(0)}, c.in(2), c.in(3), c.out());
    else {
      const auto* const end = static_cast<const std::int64_t*>(c.frame.slot[1].data());
      solve<T>(how, csr_rows{end, c.index(0)}, c.in(2), c.in(3), c.out());
    }
  }
};

} // namespace tapeless::cpu
