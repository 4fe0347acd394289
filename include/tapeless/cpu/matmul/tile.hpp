// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// A product of matrices on one thread: its blocks, and the loops around the microkernel.
//
// The microkernel keeps an (MR, NR) block of C in registers. A panel (KC, NR) of B stays in L1 or near it, a block
// (MC, KC) of A in L2, a block (KC, NC) of B in L3 (K. Goto and R. van de Geijn, Anatomy of High-Performance Matrix
// Multiplication, 2008). Operands are packed only where their lanes or lines are not contiguous.
#include <algorithm>

#include "pack.hpp" // IWYU pragma: export

namespace tapeless::cpu {

/// An extent that is not known yet when scratch is reserved.
inline constexpr index_t unknown_extent = 1 << 20;

/// The most elements of c that a long sum takes at once. For each, scratch holds the sum of a block and what rounding
/// has lost.
inline constexpr index_t long_sums = 1 << 16;
constexpr index_t long_sums_scratch(index_t rows, index_t cols) {
  return 2 * (rows < long_sums && cols < long_sums ? std::min(rows * cols, long_sums) : long_sums);
}
/// The fewest steps of k in a block.
inline constexpr index_t least_steps = 32;

/// Elements of scratch for a product: a packed block of B and one of A. It grows with each extent.
template <class V> constexpr index_t tile_scratch(index_t rows, index_t cols, index_t k) {
  using B = blocking<V>;
  return std::min(k, B::KC) * (round_up(std::min(cols, B::NC), B::NR) + std::min(rows, B::MC)) +
         (k > blocks_in_order * least_steps ? long_sums_scratch(rows, cols) : 0);
}
/// c (+)= a sum over k, in blocks of at most `deep` steps:
///   block(row, column, step, rows, columns, steps, to, to_row, add, scratch): to (+)= the sums of these steps
/// Blocks that are not the whole c have at most `high` rows and whole panels of NR columns.
template <class V, class T, class Block>
void sum_of_blocks(index_t rows, index_t cols, index_t k, index_t deep, index_t high, index_t NR, T* c,
                   index_t c_row, bool add, T* scratch, const Block& block) {
  if (k <= deep) return block(0, 0, 0, rows, cols, k, c, c_row, add, scratch);
  if (rows * cols > long_sums) high = std::min(high, rows);
  else high = rows;
  const index_t wide =
      rows * cols > long_sums ? std::min(cols, std::max(long_sums / high / NR, index_t(1)) * NR) : cols;
  T *const part = scratch, *const lost = part + high * wide, *const rest = lost + high * wide;
  for (index_t j = 0; j < cols; j += wide)
    for (index_t i = 0; i < rows; i += high) {
      const index_t m = std::min(high, rows - i), n = std::min(wide, cols - j);
      T* const to = c + i * c_row + j;
      for (index_t p = 0; p < k; p += deep) {
        const index_t steps = std::min(deep, k - p);
        if (p == 0 && !add) block(i, j, p, m, n, steps, to, c_row, false, rest);
        else block(i, j, p, m, n, steps, part, n, false, rest);
        for (index_t r = 0; (p > 0 || add) && r < m; ++r)
          add_block<V>(n, part + r * n, to + r * c_row, lost + r * n, p == (add ? 0 : deep));
      }
      for (index_t r = 0; r < m; ++r) end_sums<V>(n, to + r * c_row, lost + r * n);
    }
}

/// Does it pay to pack b, (k, cols) with rows `step` elements apart, for `rows` rows of a? Rows a multiple of 512
/// bytes apart share few sets of L1, so that not even a shallow panel stays there.
template <class V> constexpr bool pays_to_pack(index_t rows, index_t k, index_t step) {
  using B = blocking<V>;
  const bool crowded = step * static_cast<index_t>(sizeof(typename V::value_type)) % 512 == 0;
  return step >= 4 * B::NR && (k > 128 ? rows >= 8 * B::MR : crowded && k >= 32 && rows >= 32 * B::MR);
}

/// The size of blocks if `extent` is cut into the fewest equal ones of at most `most`, in whole units.
///   @pre most is a multiple of unit
constexpr index_t equal_blocks(index_t extent, index_t most, index_t unit) {
  return round_up(ceil_div(extent, std::max<index_t>(1, ceil_div(extent, most))), unit);
}

/// What tile packs, and how large its blocks are.   kc: the most steps of a block, for the sums of a long k
struct tile_choice {
  bool by_steps; // lines of both are steps of k; those of a block lie on few pages and are read few times
  bool pack_a, pack_b;
  bool in_place;        // few rows: b is read where it is, in panels as wide as the registers allow
  bool far;             // rows of b lie on pages of their own
  bool fetches_sources; // prefetch the rows of both that are packed next: L2 has room for them
  index_t kc, cols, rows;
};
template <class V, class T>
tile_choice choose_tiles(index_t rows, index_t cols, index_t k, const matrix<T>& a, const matrix<T>& b,
                         index_t c_row, index_t kc, bool packed) {
  using B = blocking<V>;
  constexpr index_t bytes = static_cast<index_t>(sizeof(T)), page = 4096 / bytes, line = 64 / bytes;
  constexpr bool wide_lanes = sizeof(V) == 64;
  tile_choice r;
  r.by_steps = a.col != 1 && b.col == 1 && !packed && a.list == nullptr && b.list == nullptr &&
               std::max(a.col, b.row) <= page / (wide_lanes ? 4 : 8) &&
               (!wide_lanes || std::min(a.col, b.row) <= 128);
  // A long sum takes few steps at a time, so that those of both are read again from L2. From KC on a block has at
  // least 128 steps: some lines to prefetch in each call.
  const bool is_long = wide_lanes && a.col != 1 && b.col == 1 && k >= B::KC;
  if (r.by_steps) kc = std::min(kc, is_long ? 5 * B::KC / 16 : B::KC / 2);
  else if (is_long && a.col * b.row * bytes <= 1 << 20) kc = std::min(kc, 3 * B::KC / 8);
  r.pack_a = a.list != nullptr || (!r.by_steps && rows >= 2 * B::MR && k >= 16 &&
                                   cols >= (a.col != 1 ? 4 : 16) * B::NR && (a.col != 1 || k > kc));
  r.far = b.row >= page && b.col == 1;
  const bool few = rows <= B::rows_in_place;
  const bool wide =
      r.far && !few && (k > 128 || (k >= 16 && k * cols >= 1 << 19)); // read one row after the other
  r.pack_b = b.list != nullptr ||
             (!packed && !r.by_steps && (b.col != 1 || wide || pays_to_pack<V>(rows, k, b.row)));
  r.in_place = few && !packed && !r.pack_b && !r.by_steps;
  r.fetches_sources = is_long && r.pack_a && r.pack_b && a.list == nullptr && b.list == nullptr &&
                      a.col <= 2 * rows && b.row <= 2 * cols && (a.col + b.row) * kc * bytes <= 5 << 17;
  r.kc = equal_blocks(k, kc, line);
  r.cols = equal_blocks(cols, B::NC, B::NR);
  // Wide rows of c lie on pages of their own. Take few at a time, if their part of b is read again from L2.
  const bool few_pages =
      !r.pack_a && c_row * bytes >= (wide_lanes ? 1024 : 3072) && r.kc * r.cols * bytes <= 1 << 20;
  r.rows = r.in_place  ? ceil_div(rows, ceil_div(rows, B::MR))
           : few_pages ? equal_blocks(rows, (c_row * bytes >= 8192 ? 2 : 4) * B::MR, B::MR)
                       : equal_blocks(rows, B::MC, B::MR);
  return r;
}

/// What to prefetch for the blocks after this one: call n of the microkernel for the panel at column j prefetches a
/// part. Never what L2 has: such a prefetch delays the loads of the sums.
template <class V, class T> struct tiles_to_come {
  using B = blocking<V>;
  static constexpr index_t bytes = static_cast<index_t>(sizeof(T)), line = 64 / bytes;
  static constexpr index_t lines = ceil_div(B::NR, line); // of a row of a panel
  const tile_choice& choice;
  const matrix<T>&a, &b;
  const T *packed, *panels; // of b, from column j0 and step p on; nullptr
  index_t all_k, rows, k, i0, mc, p, kb, j0, nc;

  index_t next_panel(index_t j) const { return j + B::NR < nc ? j + B::NR : 0; }
  index_t next_rows() const { return i0 + mc < rows ? i0 + mc : 0; }

  [[gnu::always_inline]] fetched<T> operator()(index_t j, index_t call) const {
    return choice.by_steps           ? steps(j, call)
           : choice.fetches_sources  ? sources(j, call)
           : packed || choice.pack_b ? panel(j, call)
                                     : fetched<T>{};
  }
  // the next panel of b, then the next block of a
  fetched<T> steps(index_t j, index_t call) const {
    const index_t jn = next_panel(j), more = next_rows();
    const index_t later = (call < lines && jn > 0) || more > 0 ? p : p + kb;
    const index_t x = (j / B::NR * (ceil_div(mc, B::MR) - lines) + call - lines) * line;
    if (kb < 128 || later >= k) return {}; // short: little of it comes from memory
    if (call < lines) return {.p = b.at(later, j0 + jn).p + call * line, .step = b.row};
    if (x >= rows - more) return {};
    return {.p = a.at(more + x, later).p, .step = a.col};
  }
  // the next rows of a, then those of b
  fetched<T> sources(index_t j, index_t call) const {
    const index_t n = i0 / B::MR * (nc / B::NR) + j / B::NR * ceil_div(mc, B::MR) + call;
    const index_t of_a = ceil_div(a.col, line), later = p + kb;
    if (later >= k || n - of_a >= ceil_div(b.row, line)) return {};
    return {.p = n < of_a ? a.at(0, later).p + n * kb * line : b.at(later, j0).p + (n - of_a) * kb * line,
            .step = line};
  }
  // the next panel of b, a line at a time
  fetched<T> panel(index_t j, index_t call) const {
    const index_t jn = next_panel(j), more = next_rows();
    if (kb * nc <= (1 << 20) / bytes || (jn == 0 && more == 0)) return {};
    if (call < lines)
      return {.p = (packed ? packed + jn * all_k : panels + jn * kb) + call * kb * line, .step = line};
    // Once per panel, some rows of the next block of a. Rows that lie whole pages apart share few sets of L2.
    const index_t i = more + j / B::NR * B::MR, later = more > 0 ? p : p + kb;
    if (call > lines || !choice.pack_a || a.col != 1 || a.row % (4096 / bytes) == 0 || later >= k ||
        i >= std::min(rows, more + choice.rows))
      return {};
    return {.p = a.at(i, later).p, .row = a.row};
  }
};

/// c (+)= a b for m rows: b is read in place, in panels as wide as the registers allow.
/// far: the rows of b lie on pages of their own, where no hardware prefetcher follows them.
template <class V, class T>
void wide_panels(index_t m, index_t cols, index_t k, const matrix<T>& a, const matrix<T>& b, T* c,
                 index_t c_row, bool add, bool far) {
  constexpr index_t W = blocking<V>::W;
  index_t j = 0;
  const index_t wide = vectors_of_panel<V>(m) * W;
  const fetched<T> next{.ahead = wide};
  for (; j + wide <= cols; j += wide)
    micro_rows<V, 0>(m, k, a.p, a.row, a.col, b.p + j, b.row, c + j, c_row, W, add,
                     far && j + 2 * wide <= cols ? &next : nullptr);
  for (; j + 2 * W <= cols; j += 2 * W)
    micro_rows<V, 2>(m, k, a.p, a.row, a.col, b.p + j, b.row, c + j, c_row, W, add);
  for (; j < cols; j += W)
    micro_rows<V, 1, true>(m, k, a.p, a.row, a.col, b.p + j, b.row, c + j, c_row, std::min(W, cols - j), add);
}

/// tile() for few blocks along k.
template <class V, class T>
void tile_in_order(index_t rows, index_t cols, index_t k, const matrix<T>& a, const matrix<T>& b, T* c,
                   index_t c_row, T* scratch, index_t kc, const T* packed, index_t all_k, bool add) {
  using B = blocking<V>;
  constexpr index_t W = B::W, NR = B::NR;
  const tile_choice choice = choose_tiles<V>(rows, cols, k, a, b, c_row, kc, packed != nullptr);
  const bool pack_a = choice.pack_a, pack_b = choice.pack_b, in_place = choice.in_place;
  T* const panels = scratch;
  T* const block = scratch + std::min(k, B::KC) * round_up(std::min(cols, B::NC), NR);
  for (index_t j0 = 0; j0 < cols; j0 += choice.cols)
    for (index_t p = 0; p < k; p += choice.kc) {
      const index_t kb = std::min(choice.kc, k - p), nc = std::min(choice.cols, cols - j0),
                    whole = nc / NR * NR;
      if (pack_b) pack_panels<V>(kb, nc, b.at(p, j0), panels);
      else if (!packed && !in_place && whole < nc && nc - whole != W)
        pack_panels<V>(kb, nc - whole, b.at(p, j0 + whole), panels);
      for (index_t i0 = 0; i0 < rows; i0 += choice.rows) {
        const index_t mc = std::min(choice.rows, rows - i0);
        const matrix<T> as = a.at(i0, p);
        if (pack_a) {
          if (a.col != 1) pack_columns<V>(mc, kb, as, block);
          else
            row_blocks<B::MR>(mc, [&](index_t i, index_t m) {
              interleave<V>(m, kb, as.p + i * a.row, a.row, block + i * kb);
            });
        }
        if (in_place) {
          wide_panels<V>(mc, nc, kb, pack_a ? matrix<T>{block, 1, mc} : as, b.at(p, j0), c + i0 * c_row + j0,
                         c_row, add || p > 0, choice.far);
          continue;
        }
        const T* const packed_here = packed ? packed + j0 * all_k + p * NR : nullptr;
        const tiles_to_come<V, T> to_come{choice, a,  b,  packed_here, panels, all_k, rows,
                                          k,      i0, mc, p,           kb,     j0,    nc};
        for (index_t j = 0; j < nc; j += NR) {
          const index_t nb = std::min(NR, nc - j), last = nb > W ? nb - W : nb;
          const bool direct = !packed && !pack_b && (nb == NR || nb == W);
          const T* const bp = packed   ? packed_here + j * all_k
                              : direct ? b.at(p, j0 + j).p
                              : pack_b ? panels + j * kb
                                       : panels;
          const index_t b_step = direct ? b.row : NR;
          // A packed panel that is larger than L1 comes from L2 in every call.
          const bool from_l2 = sizeof(V) == 64 && !direct && kb * NR * to_come.bytes > 1 << 15;
          index_t call = 0;
          row_blocks<B::MR>(mc, [&](index_t i, index_t m) {
            const T* const ap = pack_a ? block + i * kb : as.p + i * a.row;
            const index_t a_row = pack_a ? 1 : a.row, a_step = pack_a ? m : a.col;
            T* const cp = c + (i0 + i) * c_row + j0 + j;
            fetched<T> next = to_come(j, call++);
            if (j == 0 && !pack_a && a.col == 1 && !next.p) { // the next rows of a
              next.p = i + m < mc ? ap + m * a.row : to_come.next_rows() > 0 ? as.p + mc * a.row : nullptr;
              next.row = a.row;
            }
            next.ahead = from_l2 ? 16 * NR : 0;
            if (nb > W)
              micro_rows<V, 2>(m, kb, ap, a_row, a_step, bp, b_step, cp, c_row, last, add || p > 0, &next);
            else
              micro_rows<V, 1, true>(m, kb, ap, a_row, a_step, bp, b_step, cp, c_row, last, add || p > 0,
                                     &next);
          });
        }
      }
    }
}

/// c = a b on one thread, or c += a b with add. It is summed in equal blocks of at most kc along k, whatever the rows
/// and columns. c has row stride c_row.   packed: nullptr, or b as panels of all_k rows each.   Scratch:
/// tile_scratch<V>(rows, cols, k) elements.
///   @pre least_steps <= kc <= KC is a multiple of a line, or k <= kc
template <class V, class T>
void tile(index_t rows, index_t cols, index_t k, const matrix<T>& a, const matrix<T>& b, T* c, index_t c_row,
          T* scratch, index_t kc = blocking<V>::KC, const T* packed = nullptr, index_t all_k = 0,
          bool add = false) {
  using B = blocking<V>;
  const index_t deep = blocks_in_order * std::min(kc, 5 * B::KC / 16); // kc, as choose_tiles may cut it
  sum_of_blocks<V>(rows, cols, k, deep, B::MC, B::NR, c, c_row, add, scratch,
                   [&](index_t i, index_t j, index_t p, index_t high, index_t wide, index_t steps, T* to,
                       index_t to_row, bool adds, T* rest) {
                     tile_in_order<V>(high, wide, steps, a.at(i, p), b.at(p, j), to, to_row, rest, kc,
                                      packed ? packed + j * all_k + p * B::NR : nullptr, all_k, adds);
                   });
}

} // namespace tapeless::cpu
