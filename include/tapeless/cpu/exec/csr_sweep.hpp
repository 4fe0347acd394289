// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// A sweep: products with one sparse matrix and the fused steps between them pass over some rows before the next rows
// come, so that the entries of a row are read from memory once. A product alone is a sweep of one step.
//
// The rows are cut into chunks by their entries; sums over rows, A^T r and the reductions of fused steps, are taken chunk
// by chunk and added in the order of the chunks. In a sweep that multiplies x and sums g, both by columns and not short, x
// and g alternate in memory, so that one cache line serves both: (x_0, g_0, x_1, g_1, ...), a copy for each chunk.
// Of a tiled matrix the rows that pass together are a block of its tiles, and x and g stay apart.
//
// A row that has a share of all entries for itself is cut into pieces, which are dealt to the team: its sums before the
// sweep, and what it adds to sums by columns, or spreads, behind it: the columns of its pieces are different ones.
#pragma once
#include "../../core/element_type.hpp"
#include "../../ops/spmm.hpp"
#include "../../plan/ir/step.hpp"
#include "../fused/lanes.hpp"
#include "../fused/loop.hpp"
#include "../sparse/csr.hpp"
#include "../sparse/product.hpp"
#include "../sparse/solve.hpp"
#include "../sparse/tiles.hpp"
#include "csr_sweep_form.hpp"
#include "frame.hpp"
#include "sweep.hpp"

namespace tapeless::cpu {

// f(lo, hi) for neighbouring rows of C, (.., K), that are not zero
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
    if (first < lo) f(first, lo++); // row lo is zero, or none
  }
}

template <class Arch, const auto& P, int First> class csr_sweep : csr_sweep_form<P, First> {
  using form = csr_sweep_form<P, First>;
  using form::columns_of, form::cut_of, form::gathers, form::is_triangle, form::is_vector, form::multiplies,
      form::of_result, form::partial, form::partner, form::results, form::slot_of, form::sums;
  using form::cuts_rows, form::has_slices, form::list_bytes, form::masks, form::own_scratch, form::steps,
      form::tiled;
  using T = typename form::T;
  using V = simd<T>;
  using cut = typename form::cut;

  // ahead of a chunk: the entries of rows that are not visited are 0
  template <int I> static void begin_entries(const frame<P>& f, const cut& c, index_t lo, index_t hi) {
    if constexpr (masks > 0 && P.step_[I].o == op::sddmm) {
      T* const y = static_cast<T*>(f.step[I].slot[of_result(I)].data());
      std::fill(y + c.a.begin(lo), y + c.a.begin(hi), T(0));
    }
  }
  // and so are the sums [lo, hi), and x stands beside them
  template <int I>
  static void begin_sums(const frame<P>& f, const cut& c, index_t chunk, index_t lo, index_t hi) {
    if constexpr (sums(I)) {
      const index_t stride = c.stride_of(I);
      const index_t n = results(f, I);
      hi = std::min(hi, n);
      T* const g = partial(f, I) + chunk * stride * n;
      if (stride == 1) {
        if (lo < hi) std::fill(g + lo, g + hi, T(0));
      } else if constexpr (partner(I) >= 0) {
        constexpr int from = partner(I);
        const T* const x = static_cast<const T*>(f.step[from].slot[slot_of(from, 2)].data());
        for (index_t j = lo; j < hi; ++j) {
          g[2 * j] = x[j];
          g[2 * j + 1] = T(0);
        }
      }
    }
  }
  template <int I, int Stride>
  static void combine(const frame<P>& f, index_t chunks, index_t lo, index_t hi) {
    const index_t n = results(f, I);
    const T* const part = partial(f, I) + (Stride - 1);
    T* const y = static_cast<T*>(f.step[I].slot[of_result(I)].data());
    hi = std::min(hi, n);
    index_t j = lo;
    constexpr int together = 64;
    for (T sum[together]; j + together <= hi; j += together) {
      for (int l = 0; l < together; ++l) sum[l] = part[Stride * (j + l)];
      for (index_t c = 1; c < chunks; ++c)
        for (int l = 0; l < together; ++l) sum[l] += part[Stride * (c * n + j + l)];
      for (int l = 0; l < together; ++l) y[j + l] = sum[l];
    }
    for (; j < hi; ++j) {
      T sum = part[Stride * j];
      for (index_t c = 1; c < chunks; ++c) sum += part[Stride * (c * n + j)];
      y[j] = sum;
    }
  }
  template <int I> static void combine(const frame<P>& f, const cut& c, index_t lo, index_t hi) {
    if constexpr (sums(I)) {
      if (c.stride_of(I) == 1) combine<I, 1>(f, c.chunks, lo, hi);
      else if constexpr (partner(I) >= 0) combine<I, 2>(f, c.chunks, lo, hi);
    }
  }
  template <int I> static void clear(const frame<P>& f) {
    if constexpr (P.step_[I].fused) stores_of_step<P, I>::clear(f.step[I]);
    else if constexpr (sums(I))
      std::fill_n(static_cast<T*>(f.step[I].slot[of_result(I)].data()), results(f, I), T(0));
  }

  // ---- sums of many rows
  // The chains of the sums of a chunk end; first: high and low are empty. The columns at hand are those of r.
  template <int I>
  static void end_chains_of_sums(const frame<P>& f, const cut& c, const sweep_rows& r, index_t column,
                                 index_t columns, bool first) {
    if constexpr (sums(I)) {
      const index_t n = results(f, I), stride = c.stride_of(I);
      T *const chain = partial(f, I) + r.chunk * stride * n, *const high = form::high(f, c, I, r.chunk),
               *const low = high + n;
      if (stride == 2) {
        for (index_t j = 0; j < n; ++j) {
          T& x = chain[2 * j + 1];
          if (first) high[j] = low[j] = T(0);
          two_sum(high[j], low[j], x);
          x = T(0);
        }
        return;
      }
      const index_t width = has_slices ? columns : n;
      for (index_t j = column; j < n; j += has_slices ? columns_of(f, I) : n) {
        end_chains<V>(width, high + j, low + j, chain + j, first);
        std::fill_n(chain + j, width, T(0));
      }
    }
  }
  // The sums of a chunk go where its chains are.
  template <int I>
  static void end_sums_of_chunk(const frame<P>& f, const cut& c, const sweep_rows& r, index_t column,
                                index_t columns) {
    if constexpr (sums(I)) {
      end_chains_of_sums<I>(f, c, r, column, columns, false);
      const index_t n = results(f, I), stride = c.stride_of(I), width = has_slices ? columns : n;
      T* const to = partial(f, I) + r.chunk * stride * n + (stride - 1);
      const T *const high = form::high(f, c, I, r.chunk), *const low = high + n;
      for (index_t from = column; from < n; from += has_slices ? columns_of(f, I) : n)
        for (index_t j = from; j < from + width; ++j) to[stride * j] = sum_of(high[j], low[j]);
    }
  }

  // ---- rows in pieces
  struct long_rows {
    index_t count = 0, row[most_long_rows];
    bool visited[most_long_rows];
    T factor[steps][most_long_rows];           // of step First + k: the operand of row `row[n]`
    T sum[steps][most_long_rows * row_pieces]; // of its pieces
  };
  // a strip, or the long row `which`
  struct rows_at_hand : sweep_rows {
    long_rows* cut;
    index_t which = -1;
    index_t until = 0;               // where the rows that follow one another end
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
  // What step I does for a long row in the sweep.   first, second: as in run_rows
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

  // -> how many of the rows [lo, hi) all masks keep; list: which ones
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

  // base: where load K of step I has row 0; if gathered, where the rows kept would have it
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
    else return detail::mask_byte{};
  }
  template <int Slot> using element_of_slot = decltype(zero_of_slot<Slot>());

  // The factors of a product: a pointer, or the ones that it stands without.
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

  template <class Team, int... K> static void run_all(const Team& team, const frame<P>& f, index_t each,
                                                      std::integer_sequence<int, K...>) {
    const cut c = cut_of(f);
    if (c.rows == 0) {
      (clear<First + K>(f), ...);
      return;
    }
    index_t summed = 0;
    ((summed = sums(First + K) ? std::max(summed, results(f, First + K)) : summed), ...);
    const auto each_run = [&](const auto& act) {
      constexpr index_t run = 16384;
      team.run((summed + run - 1) / run, [&](index_t s, int) { act(s * run, (s + 1) * run); });
    };
    index_t slices = 1, slice = 0; // each of so many columns
    if constexpr (has_slices) {
      constexpr index_t line = 64 / index_t{sizeof(T)};
      const index_t columns = columns_of(f, First);
      slice = columns_of_slice(columns, (team.size() + c.chunks - 1) / c.chunks, line);
      slices = std::max<index_t>(1, (columns + slice - 1) / slice);
    }
    const bool begins_first = c.chunks == 1 || slices > 1;
    if (begins_first)
      for (index_t chunk = 0; chunk < c.chunks; ++chunk)
        each_run([&](index_t lo, index_t hi) { (begin_sums<First + K>(f, c, chunk, lo, hi), ...); });
    long_rows cut_rows;
    if constexpr (cuts_rows) {
      cut_rows.count = find_long_rows(c.a.end, c.rows, c.nnz, cut_rows.row);
      for (index_t n = 0; n < cut_rows.count; ++n) cut_rows.visited[n] = false;
      team.run(cut_rows.count * row_pieces, [&](index_t k, int) {
        const index_t n = k / row_pieces;
        std::int32_t row;
        if constexpr (masks > 0)
          if (keep_rows(f, cut_rows.row[n], cut_rows.row[n] + 1, &row) == 0) return;
        (sum_piece<First + K>(f, c, cut_rows, n, k % row_pieces), ...);
      });
    }
    for_each_chunk_dynamic(team, c.chunks * slices, [&](index_t part, int member) {
      const index_t chunk = part / slices;
      const index_t begin = chunk_of_rows(c.a.end, c.rows, c.nnz, chunk, c.chunks),
                    end = chunk_of_rows(c.a.end, c.rows, c.nnz, chunk + 1, c.chunks);
      (begin_entries<First + K>(f, c, begin, end), ...);
      if (!begins_first) (begin_sums<First + K>(f, c, chunk, 0, summed), ...);
      rows_at_hand r{{0, 0, chunk, 0, f.scratch + member * each}, &cut_rows};
      if constexpr (has_slices) {
        r.column = part % slices * slice;
        r.columns = std::min(slice, columns_of(f, First) - r.column);
      }
      index_t chain = 0; // rows since sums were added to others
      bool is_long = false;
      const auto visited = [&] {
        r.done += r.hi - r.lo;
        chain += r.hi - r.lo;
        if (c.chain == 0 || chain < c.chain) return;
        (end_chains_of_sums<First + K>(f, c, r, r.column, r.columns, !is_long), ...);
        is_long = true;
        chain = 0;
      };
      const auto visit = [&](const auto& rows, index_t from, index_t to) {
        r.until = to;
        for (r.lo = from; r.lo < to; r.lo = r.hi) {
          r.hi = std::min(to, r.lo + c.tile);
          (run_rows<First + K>(f, c, rows, r), ...);
          visited();
        }
      };
      if constexpr (tiled) {
        const index_t last = chunk_of_blocks(c.tiles, c.nnz, chunk + 1, c.chunks);
        for (index_t q = chunk_of_blocks(c.tiles, c.nnz, chunk, c.chunks); q < last; ++q) {
          r.lo = c.tiles.t.first_row(q);
          r.hi = c.tiles.t.first_row(q + 1);
          (run_rows<First + K>(f, c, block_of_rows{q}, r), ...);
          visited();
        }
      } else {
        index_t n = 0;
        while (n < cut_rows.count && cut_rows.row[n] < begin) ++n;
        for (index_t lo = begin, hi; lo < end; lo = hi) {
          hi = n < cut_rows.count ? std::min(end, cut_rows.row[n]) : end;
          r.which = lo == hi ? n++ : -1;
          if (r.which >= 0) hi = lo + 1;
          if constexpr (masks == 0) visit(every_row{}, lo, hi);
          else {
            std::int32_t* const list = reinterpret_cast<std::int32_t*>(r.scratch + own_scratch);
            hi = std::min<index_t>(hi, lo + detail::mask_block);
            const index_t kept = keep_rows(f, lo, hi, list);
            if (kept == hi - lo)
              visit(every_row{}, lo, hi); // no mask at all, maybe: a list would cost a third
            else
              visit(listed_rows{list, kept,
                                c.apart || form::reads_entries_once() ? 4 : std::max<index_t>(4, 2 * c.tile)},
                    0, kept);
          }
        }
      }
      if (is_long) (end_sums_of_chunk<First + K>(f, c, r, r.column, r.columns), ...);
      if (r.done == 0) (clear_partial<First + K>(f, chunk), ...);
      (finish_fused_rows<P, First + K>(f, r), ...);
    });
    each_run([&](index_t lo, index_t hi) { (combine<First + K>(f, c, lo, hi), ...); });
    (combine_fused<First + K>(f, c.chunks), ...);
    if constexpr (cuts_rows)
      for (index_t n = 0; n < cut_rows.count; ++n) // one by one: they may share columns
        if (cut_rows.visited[n])
          team.run(row_pieces, [&](index_t p, int) { (add_piece<First + K>(f, c, cut_rows, n, p), ...); });
  }
  template <int I> static void clear_partial(const frame<P>& f, index_t chunk) {
    if constexpr (P.step_[I].fused && P.step_[I].partials > 0)
      stores_of_step<P, I>::clear_partial(f.step[I], chunk);
  }
  template <int I> static void combine_fused(const frame<P>& f, index_t chunks) {
    if constexpr (P.step_[I].fused && P.step_[I].partials > 0)
      stores_of_step<P, I>::combine(f.step[I], chunks);
  }

public:
  // each: bytes of a member's scratch
  template <class Team> static void run(const Team& team, const frame<P>& f, index_t each) {
    run_all(team, f, each, std::make_integer_sequence<int, steps>{});
  }
};

} // namespace tapeless::cpu
