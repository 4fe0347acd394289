// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// The steps of a CSR sweep on some rows: products, fused loops, the rows that masks keep, and long rows in pieces.
#include "../../../core/element_type.hpp"
#include "../../../ops/spmm.hpp"
#include "../../../plan/ir/step.hpp"
#include "../../fused/lanes.hpp"
#include "../../fused/loop.hpp"
#include "../../sparse/csr.hpp"
#include "../../sparse/product.hpp"
#include "../../sparse/solve.hpp"
#include "../../sparse/tiles.hpp"
#include "../frame.hpp"
#include "../sweep.hpp"
#include "form.hpp"

namespace tapeless::cpu {

// f(lo, hi) for each run of nonzero rows of C (.., K).
template <class T, class F> void each_run_of_nonzero_rows(const T* C, index_t K, index_t lo, index_t hi,
                                                          F f) {
  const auto is_zero = [&](index_t i) {
    const T* const row = C + i * K;
    index_t j = 0;
    while (j < K && row[j] == T(0)) ++j;
    return j == K;
  };
  while (lo < hi) {
    while (lo < hi && is_zero(lo)) ++lo;
    const index_t first = lo;
    while (lo < hi && !is_zero(lo)) ++lo;
    if (first < lo) f(first, lo++); // row lo is zero or the end
  }
}

template <class Arch, const auto& P, int First> struct csr_sweep_steps : csr_sweep_form<P, First> {
  using form = csr_sweep_form<P, First>;
  using form::columns_of, form::cuts_rows, form::gathers, form::is_triangle, form::is_vector,
      form::list_bytes, form::masks, form::multiplies, form::of_result, form::own_scratch, form::partial,
      form::partner, form::results, form::slot_of, form::steps, form::sums, form::tiled;
  using T = typename form::T;
  using V = simd<T>;
  using cut = typename form::cut;

  // ---- rows in pieces
  struct long_rows {
    index_t count = 0, row[most_long_rows];
    bool visited[most_long_rows];
    T factor[steps][most_long_rows];           // of step First + k: its operand in row `row[n]`
    T sum[steps][most_long_rows * row_pieces]; // the sums of its pieces
  };
  // Some rows, or the long row `which`.
  struct rows_at_hand : sweep_rows {
    long_rows* cut;
    index_t which = -1;
    index_t until = 0;               // the end of the consecutive rows
    index_t column = 0, columns = 0; // has_slices: the slice
  };
  template <int I, int Operand> static auto all_of_factor(const frame<P>& f) {
    if constexpr (Operand == 1 ? form::first_is_ones(I) : form::second_is_ones(I)) return ones{};
    else return static_cast<const T*>(f.step[I].slot[slot_of(I, Operand)].data());
  }
  template <int I> static void sum_piece(const frame<P>& f, const cut& c, long_rows& l, index_t n,
                                         index_t piece) {
    if constexpr (multiplies(I) && P.step_[I].o == op::spmm)
      spmv<V>(pieces_of_row(c.a, l.row[n]), every_row{},
              starting_at(all_of_factor<I, 1>(f), c.a.begin(l.row[n])), all_of_factor<I, 2>(f), piece,
              piece + 1, l.sum[I - First] + n * row_pieces);
  }
  template <int I> static void add_piece(const frame<P>& f, const cut& c, const long_rows& l, index_t n,
                                         index_t piece) {
    constexpr bool spreads = P.step_[I].o == op::sddmm && !is_triangle(I);
    if constexpr (sums(I) || spreads) {
      const index_t begin = c.a.begin(l.row[n]);
      const csr_rows<piece_ends> a = pieces_of_row(c.a, l.row[n]);
      T* const y = static_cast<T*>(f.step[I].slot[of_result(I)].data());
      T same[row_pieces];
      std::fill_n(same, row_pieces, l.factor[I - First][n]);
      const auto mine = [&] {
        if constexpr (spreads ? form::first_is_ones(I) : form::second_is_ones(I)) return ones{};
        else return static_cast<const T*>(same);
      }();
      if constexpr (spreads)
        spread<V>(a, every_row{}, mine, all_of_factor<I, 2>(f), piece, piece + 1, y + begin);
      else
        spmv_transposed<V>(a, every_row{}, starting_at(all_of_factor<I, 1>(f), begin), mine, piece, piece + 1,
                           y);
    }
  }
  // Step I on a long row.   first, second: as in run_rows
  template <int I, class L, class R> [[gnu::noinline, gnu::cold]] static void run_long_row(
      const rows_at_hand& r, L first, R second, T* y) {
    long_rows& l = *r.cut;
    l.visited[r.which] = true;
    if constexpr (P.step_[I].o == op::sddmm) l.factor[I - First][r.which] = entry<T>(first, r.lo);
    else if constexpr (sums(I)) l.factor[I - First][r.which] = entry<T>(second, r.lo);
    else {
      const T* const sum = l.sum[I - First] + r.which * row_pieces;
      y[r.lo] = sum[0];
      for (index_t p = 1; p < row_pieces; ++p) y[r.lo] += sum[p];
    }
  }

  // Returns how many of the rows [lo, hi) all masks keep, and lists them.
  static index_t keep_rows(const frame<P>& f, index_t lo, index_t hi, std::int32_t* list) {
    index_t kept = 0;
    const auto keep = [&](auto k) {
      constexpr int at = P.step_[First].mask + k;
      constexpr bool zeros = (P.step_[First].passes_where_zero >> k & 1u) != 0;
      using E = element_of_slot<P.step_[First].slot0 + at>;
      const E* const m = static_cast<const E*>(f.step[First].slot[at].data());
      if constexpr (k == 0) kept = compact_rows<E, zeros>(m, lo, hi, list);
      else kept = thin_rows<E, zeros>(m, kept, list);
    };
    unroll<masks>(keep);
    return kept;
  }

  // base: the address of row 0 of load K of step I. If it is gathered: that of its copy.
  template <int I, int K, class Rows> static void gather(const Rows& rows, const sweep_rows& r, void*& base) {
    if constexpr (gathers(I, K) && !std::is_same_v<Rows, every_row>) {
      using E = element_of_slot<P.step_[I].slot0 + K>;
      E* const to = reinterpret_cast<E*>(r.scratch + own_scratch + list_bytes + form::gathered_before(I, K));
      const E* const from = static_cast<const E*>(base);
      for (index_t n = r.lo; n < r.hi; ++n) to[n - r.lo] = from[rows(n)];
      base = before(to, r.lo * index_t{sizeof(E)});
    }
  }
  template <int I, class Rows, int... K> static void gather_all(const Rows& rows, const sweep_rows& r,
                                                                void** base,
                                                                std::integer_sequence<int, K...>) {
    (gather<I, K>(rows, r, base[K]), ...);
  }
  template <int I, class Rows> [[gnu::always_inline]] static inline void run_fused_rows(const frame<P>& f,
                                                                                        const Rows& rows,
                                                                                        const sweep_rows& r) {
    constexpr step s = P.step_[I];
    const frame_step& g = f.step[I];
    void* base[s.loads + s.stores];
    for (int k = 0; k < s.loads + s.stores; ++k) base[k] = base_of<P, I>(f, k, r);
    gather_all<I>(rows, r, base, std::make_integer_sequence<int, s.loads>{});
    if constexpr (s.partials > 0) stores_of_step<P, I>::redirect(g, r.chunk, base);
    const typename stores_of_step<P, I>::carried carry(g, s.carries > 0 ? r.chunk : 0);
    fused_kernel<code_of<P, I>(), simd<lanes_of_step<P, I>>>::run(
        {base, g.slot, g.loop, g.extent, 0, r.done, carry.of}, r.lo, r.hi);
  }
  template <int Slot> static constexpr auto zero_of_slot() {
    constexpr dtype t = P.slot_[Slot].t;
    if constexpr (t == dtype::f64) return double{};
    else if constexpr (t == dtype::f32) return float{};
    else if constexpr (t == dtype::bf16) return bf16{};
    else if constexpr (t == dtype::i32) return std::int32_t{};
    else if constexpr (t == dtype::u8) return std::uint8_t{};
    else if constexpr (t == dtype::i64) return std::int64_t{};
    else return detail::mask_byte{};
  }
  template <int Slot> using element_of_slot = decltype(zero_of_slot<Slot>());

  // The factors of a product: a pointer, or ones if the op has no such factor.
  template <int I, int Operand, class Rows> static auto factor(const frame<P>& f, const Rows& rows,
                                                               const sweep_rows& r) {
    constexpr bool absent = Operand == 1 ? form::first_is_ones(I) : form::second_is_ones(I);
    if constexpr (absent) return ones{};
    else {
      constexpr int k = slot_of(I, Operand);
      void* base = base_of<P, I>(f, k, r);
      gather<I, k>(rows, r, base);
      return static_cast<const T*>(base);
    }
  }
  template <int I, class Left, class Right> static void run_block(const frame<P>& f, const cut& c,
                                                                  block_of_rows b, Left first, Right second,
                                                                  const rows_at_hand& r, T* y) {
    if constexpr (P.step_[I].o == op::sddmm) {
      if constexpr (is_vector(I)) spread<V>(c.tiles, b, first, second, y);
      else sddmm<V>(c.tiles, b, first, second, f.step[I].slot[2].s.d[1], y);
    } else if constexpr (is_vector(I)) {
      if constexpr (sums(I))
        spmv_transposed<V>(c.tiles, b, first, second, partial(f, I) + r.chunk * results(f, I));
      else spmv<V>(c.tiles, b, first, second, y);
    } else {
      const index_t k = columns_of(f, I);
      if constexpr (sums(I))
        spmm_transposed<V>(c.tiles, b, first, second + r.column, r.columns, k,
                           partial(f, I) + r.chunk * results(f, I) + r.column);
      else spmm<V>(c.tiles, b, first, second, k, y);
    }
  }
  template <int I, class Rows> [[gnu::always_inline]] static inline void run_rows(const frame<P>& f,
                                                                                  const cut& c,
                                                                                  const Rows& rows,
                                                                                  const rows_at_hand& r) {
    if constexpr (P.step_[I].fused) run_fused_rows<I>(f, rows, r);
    else {
      T* const y = static_cast<T*>(base_of<P, I>(f, of_result(I), r));
      const auto first = factor<I, 1>(f, rows, r);
      const auto second = factor<I, 2>(f, rows, r);
      if constexpr (cuts_rows && !is_triangle(I))
        if (r.which >= 0) [[unlikely]]
          return run_long_row<I>(r, first, second, y);
      if constexpr (tiled) run_block<I>(f, c, rows, first, second, r, y);
      else if constexpr (P.step_[I].o == op::sddmm) {
        if constexpr (is_triangle(I)) {
          spread<V>(c.a, rows, first, second, r.lo, r.hi, y);
          keep_triangle(c.a, (P.step_[I].attr & detail::in_upper_triangle) != 0,
                        (P.step_[I].attr & detail::off_diagonal) == 0, r.lo, r.hi, y);
        } else if constexpr (is_vector(I)) spread<V>(c.a, rows, first, second, r.lo, r.hi, y);
        else sddmm<V>(c.a, rows, first, second, f.step[I].slot[2].s.d[1], r.lo, r.hi, y);
      } else if constexpr (!is_vector(I)) {
        const index_t k = columns_of(f, I);
        if constexpr (sums(I)) {
          T* const g = partial(f, I) + r.chunk * results(f, I) + r.column;
          const auto add = [&](index_t lo, index_t hi) {
            spmm_transposed<V>(c.a, rows, first, second + r.column, r.columns, k, lo, hi, g);
          };
          if constexpr ((P.step_[I].attr & detail::skips_zero_rows) == 0) add(r.lo, r.hi);
          else each_run_of_nonzero_rows(second, k, r.lo, r.hi, add);
        } else spmm<V>(c.a, rows, first, second, k, r.lo, r.hi, y);
      } else if constexpr (sums(I)) {
        const index_t stride = c.stride_of(I);
        T* const g = partial(f, I) + r.chunk * stride * results(f, I) + (stride - 1);
        if (stride == 1) spmv_transposed<V>(c.a, rows, first, second, r.lo, r.hi, g);
        else if constexpr (partner(I) >= 0)
          spmv_transposed<V, 2>(c.a, rows, first, second, r.lo, r.hi, g, rows_next{r.until, c.nnz});
      } else {
        if constexpr (partner(I) >= 0)
          if (!c.apart) {
            const T* const x = partial(f, partner(I)) + r.chunk * 2 * results(f, partner(I));
            return spmv<V, 2>(c.a, rows, first, x, r.lo, r.hi, y);
          }
        spmv<V>(c.a, rows, first, second, r.lo, r.hi, y);
      }
    }
  }
};

} // namespace tapeless::cpu
