// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The trilinear form of a product of sparse matrices: all a_ik, b_kj and c_ij that meet. Each c_ij is found by a
// search in row i of C that continues from the column before. lost: as many elements as the result; what rounding of
// its sums has lost.
#pragma once
#include <algorithm>
#include "../../expr/op.hpp"
#include "../../ops/spgemm.hpp"
#include "../base/long_sums.hpp"
#include "../base/operand.hpp"
#include "csr.hpp"
#include "../../plan/ir/step.hpp"

namespace tapeless::cpu {

template <class Ends> struct spgemm_patterns {
  csr_rows<Ends> a, b, c;
  index_t rows; // of A and C
};

// act(entry of A, entry of B, entry of C) for rows [lo, hi) of A
template <class F, class Ends>
void each_meeting(const spgemm_patterns<Ends>& p, index_t lo, index_t hi, F act) {
  for (index_t i = lo; i < hi; ++i)
    for (index_t e = p.a.begin(i); e < p.a.end[i]; ++e) {
      const index_t k = p.a.column[e];
      const std::int32_t* at = p.c.column + p.c.begin(i);
      const std::int32_t* const end = p.c.column + p.c.end[i];
      for (index_t f = p.b.begin(k); f < p.b.end[k] && at != end; ++f) {
        at = std::lower_bound(at, end, p.b.column[f]);
        if (at != end && *at == p.b.column[f]) act(e, f, at - p.c.column);
      }
    }
}

// `to`, the entries of `of`, gets what act adds for every pair of entries of A and B that meet in an entry of C, in
// blocks of rows of A and C.
template <class T, class Team, class Ends, class F>
void sum_by_rows(const Team& team, const spgemm_patterns<Ends>& p, const csr_rows<Ends>& of, T* to, T* lost,
                 F act) {
  constexpr index_t rows = 64;
  team.run((p.rows + rows - 1) / rows, [&](index_t chunk, int) {
    const index_t lo = chunk * rows, hi = std::min(p.rows, lo + rows);
    for (T* const q : {to, lost}) std::fill(q + of.begin(lo), q + of.begin(hi), T(0));
    each_meeting(p, lo, hi, act);
  });
}
// Rows of C and of A are independent. b is a sum over rows of A, in their order.
template <class T, class Team, class Ends>
void spgemm_a(const Team& team, const spgemm_patterns<Ends>& p, const T* b, const T* c, T* a, T* lost) {
  sum_by_rows(team, p, p.a, a, lost,
              [=](index_t i, index_t j, index_t k) { add_compensated(a[i], lost[i], b[j] * c[k]); });
}
template <class T, class Team, class Ends>
void spgemm_c(const Team& team, const spgemm_patterns<Ends>& p, const T* a, const T* b, T* c, T* lost) {
  sum_by_rows(team, p, p.c, c, lost,
              [=](index_t i, index_t j, index_t k) { add_compensated(c[k], lost[k], a[i] * b[j]); });
}
template <class T, class Ends>
void spgemm_b(const spgemm_patterns<Ends>& p, index_t nnz, const T* a, const T* c, T* b, T* lost) {
  for (T* const to : {b, lost}) std::fill(to, to + nnz, T(0));
  each_meeting(p, 0, p.rows,
               [&](index_t i, index_t j, index_t k) { add_compensated(b[j], lost[j], a[i] * c[k]); });
}

// ---- steps
template <> struct kernel_for<detail::op::spgemm> {
  template <auto, class T, class Team> static void run(const Team& team, const kernel_call<T>& c) {
    const index_t n = c.operand(1).d[0];
    const std::uint64_t attr = c.step.attr;
    const auto run = [&](const auto& p) {
      const auto makes = detail::made_by_spgemm(attr);
      T* const lost = static_cast<T*>(c.frame.slot[c.step.loads + 1].data());
      if (makes == detail::spgemm_a) spgemm_a<T>(team, p, c.in(6), c.in(7), c.out(), lost);
      else if (makes == detail::spgemm_c) spgemm_c<T>(team, p, c.in(6), c.in(7), c.out(), lost);
      else spgemm_b<T>(p, c.result().d[0], c.in(6), c.in(7), c.out(), lost);
    };
    const auto rows = [&](int k) {
      const bool wide = (attr & detail::spgemm_wide(k)) != 0;
      return csr_rows{row_ends{c.frame.slot[2 * k + 1].data(), wide}, c.index(2 * k)};
    };
    if (detail::made_by_spgemm(attr) != attr) run(spgemm_patterns<row_ends>{rows(0), rows(1), rows(2), n});
    else
      run(spgemm_patterns<const std::int32_t*>{
          {c.index(1), c.index(0)}, {c.index(3), c.index(2)}, {c.index(5), c.index(4)}, n});
  }
};

} // namespace tapeless::cpu
