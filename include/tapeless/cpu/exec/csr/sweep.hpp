// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// A CSR sweep: products with one sparse matrix, and the fused steps between them. Some rows go through all steps
// before the next rows, so the entries of a row are read from memory once. A product alone is a sweep of one step.
//
// The rows are cut into chunks by their number of entries. Sums over rows (A^T r, the reductions of fused steps) are
// taken chunk by chunk and added in the order of the chunks. If a sweep multiplies x and sums g by columns, and
// neither is short, x and g alternate in memory: (x_0, g_0, x_1, g_1, ...), a copy for each chunk. So one cache line
// serves both. If the matrix is tiled, the sweep takes a block of rows of tiles at a time, and x and g stay apart.
//
// A row with a large share of all entries is cut into pieces for the team. Its own sums are taken before the sweep. It adds
// to sums by columns, or spreads, after the sweep, for its pieces have different columns.
#include "../../../plan/ir/step.hpp"
#include "../../sparse/csr.hpp"
#include "../../sparse/tiles.hpp"
#include "../frame.hpp"
#include "../sweep.hpp"
#include "form.hpp"
#include "steps.hpp"
#include "sums.hpp"

namespace tapeless::cpu {

template <class Arch, const auto& P, int First> class csr_sweep : csr_sweep_form<P, First> {
  using form = csr_sweep_form<P, First>;
  using totals = csr_sweep_sums<Arch, P, First>;
  using at_rows = csr_sweep_steps<Arch, P, First>;
  using form::columns_of, form::cut_of, form::cuts_rows, form::has_slices, form::masks, form::own_scratch,
      form::results, form::steps, form::sums, form::tiled;
  using T = typename form::T;
  using cut = typename form::cut;
  using long_rows = typename at_rows::long_rows;
  using rows_at_hand = typename at_rows::rows_at_hand;

  // Finds the long rows, and sums each of their pieces.
  template <int... I, class Team> [[gnu::always_inline]] static inline void sum_long_rows(const Team& team,
                                                                                          const frame<P>& f,
                                                                                          const cut& c,
                                                                                          long_rows& l) {
    l.count = find_long_rows(c.a.end, c.rows, c.nnz, l.row);
    for (index_t n = 0; n < l.count; ++n) l.visited[n] = false;
    team.run(l.count * row_pieces, [&](index_t k, int) {
      const index_t n = k / row_pieces;
      std::int32_t row;
      if constexpr (masks > 0)
        if (at_rows::keep_rows(f, l.row[n], l.row[n] + 1, &row) == 0) return;
      (at_rows::template sum_piece<I>(f, c, l, n, k % row_pieces), ...);
    });
  }
  // The rows [begin, end) of a chunk, some at a time. Returns whether chains of its sums have ended.
  template <int... I> [[gnu::always_inline]] static inline bool run_chunk(const frame<P>& f, const cut& c,
                                                                          rows_at_hand& r, index_t begin,
                                                                          index_t end) {
    index_t chain = 0; // rows since sums were added to others
    bool is_long = false;
    const auto visited = [&] {
      r.done += r.hi - r.lo;
      chain += r.hi - r.lo;
      if (c.chain == 0 || chain < c.chain) return;
      (totals::template end_chains_of_sums<I>(f, c, r, r.column, r.columns, !is_long), ...);
      is_long = true;
      chain = 0;
    };
    const auto visit = [&](const auto& rows, index_t from, index_t to) {
      r.until = to;
      for (r.lo = from; r.lo < to; r.lo = r.hi) {
        r.hi = std::min(to, r.lo + c.tile);
        (at_rows::template run_rows<I>(f, c, rows, r), ...);
        visited();
      }
    };
    if constexpr (tiled) {
      const index_t last = chunk_of_blocks(c.tiles, c.nnz, r.chunk + 1, c.chunks);
      for (index_t q = chunk_of_blocks(c.tiles, c.nnz, r.chunk, c.chunks); q < last; ++q) {
        r.lo = c.tiles.t.first_row(q);
        r.hi = c.tiles.t.first_row(q + 1);
        (at_rows::template run_rows<I>(f, c, block_of_rows{q}, r), ...);
        visited();
      }
    } else {
      const long_rows& l = *r.cut;
      index_t n = 0;
      while (n < l.count && l.row[n] < begin) ++n;
      for (index_t lo = begin, hi; lo < end; lo = hi) {
        hi = n < l.count ? std::min(end, l.row[n]) : end;
        r.which = lo == hi ? n++ : -1;
        if (r.which >= 0) hi = lo + 1;
        if constexpr (masks == 0) visit(every_row{}, lo, hi);
        else {
          std::int32_t* const list = reinterpret_cast<std::int32_t*>(r.scratch + own_scratch);
          hi = std::min<index_t>(hi, lo + detail::mask_block);
          const index_t kept = at_rows::keep_rows(f, lo, hi, list);
          if (kept == hi - lo) visit(every_row{}, lo, hi); // a list would cost a third where masks keep all
          else
            visit(listed_rows{list, kept,
                              c.apart || form::reads_entries_once() ? 4 : std::max<index_t>(4, 2 * c.tile)},
                  0, kept);
        }
      }
    }
    return is_long;
  }
  template <class Team, int... K> static void run_all(const Team& team, const frame<P>& f, index_t each,
                                                      std::integer_sequence<int, K...>) {
    const cut c = cut_of(f);
    if (c.rows == 0) {
      (totals::template clear<First + K>(f), ...);
      return;
    }
    index_t summed = 0;
    ((summed = sums(First + K) ? std::max(summed, results(f, First + K)) : summed), ...);
    const auto each_run = [&](const auto& act) {
      constexpr index_t run = 16384;
      team.run((summed + run - 1) / run, [&](index_t s, int) { act(s * run, (s + 1) * run); });
    };
    index_t slices = 1, slice = 0; // slice: columns of each
    if constexpr (has_slices) {
      constexpr index_t line = 64 / index_t{sizeof(T)};
      const index_t columns = columns_of(f, First);
      slice = columns_of_slice(columns, (team.size() + c.chunks - 1) / c.chunks, line);
      slices = std::max<index_t>(1, (columns + slice - 1) / slice);
    }
    const bool begins_first = c.chunks == 1 || slices > 1;
    if (begins_first)
      for (index_t chunk = 0; chunk < c.chunks; ++chunk)
        each_run([&](index_t lo, index_t hi) {
          (totals::template begin_sums<First + K>(f, c, chunk, lo, hi), ...);
        });
    long_rows cut_rows;
    if constexpr (cuts_rows) sum_long_rows<First + K...>(team, f, c, cut_rows);
    for_each_chunk_dynamic(team, c.chunks * slices, [&](index_t part, int member) {
      const index_t chunk = part / slices;
      const index_t begin = chunk_of_rows(c.a.end, c.rows, c.nnz, chunk, c.chunks),
                    end = chunk_of_rows(c.a.end, c.rows, c.nnz, chunk + 1, c.chunks);
      (totals::template begin_entries<First + K>(f, c, begin, end), ...);
      if (!begins_first) (totals::template begin_sums<First + K>(f, c, chunk, 0, summed), ...);
      rows_at_hand r{{0, 0, chunk, 0, f.scratch + member * each}, &cut_rows};
      if constexpr (has_slices) {
        r.column = part % slices * slice;
        r.columns = std::min(slice, columns_of(f, First) - r.column);
      }
      const bool is_long = run_chunk<First + K...>(f, c, r, begin, end);
      if (is_long) (totals::template end_sums_of_chunk<First + K>(f, c, r, r.column, r.columns), ...);
      if (r.done == 0) (totals::template clear_partial<First + K>(f, chunk), ...);
      (finish_fused_rows<P, First + K>(f, r), ...);
    });
    each_run([&](index_t lo, index_t hi) { (totals::template combine<First + K>(f, c, lo, hi), ...); });
    (totals::template combine_fused<First + K>(f, c.chunks), ...);
    if constexpr (cuts_rows)
      for (index_t n = 0; n < cut_rows.count; ++n) // one row at a time: two may share columns
        if (cut_rows.visited[n])
          team.run(row_pieces, [&](index_t p, int) {
            (at_rows::template add_piece<First + K>(f, c, cut_rows, n, p), ...);
          });
  }

public:
  // each: bytes of a member's scratch
  template <class Team> static void run(const Team& team, const frame<P>& f, index_t each) {
    run_all(team, f, each, std::make_integer_sequence<int, steps>{});
  }
};

} // namespace tapeless::cpu
