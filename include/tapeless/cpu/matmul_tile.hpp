// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// A product of matrices on one thread: the packing of its operands and the loops around the microkernel.
//
// The microkernel keeps an (MR, NR) block of C in registers; a panel (KC, NR) of B stays in L1 or near it, a block
// (MC, KC) of A in L2, a block (KC, NC) of B in L3 (K. Goto and R. van de Geijn, Anatomy of High-Performance Matrix Multiplication,
// 2008). Operands are packed only where their lanes or lines would not be contiguous.
#include <algorithm>
#include <type_traits>

#include "matmul_micro.hpp"
#include "transpose.hpp"

namespace tapeless::cpu::detail {

/// A strided matrix: element (i, j) at p[i * row + j * col]; row == 1 or col == 1.
/// With a list its lines, along the axis whose stride is not 1, are those of the list: line n is that of index list[n].
template <class T> struct matrix {
  const T* p;
  index_t row, col;
  const std::int32_t* list = nullptr;
  matrix at(index_t i, index_t j) const {
    if (list == nullptr) return {p + i * row + j * col, row, col};
    return row == 1 ? matrix{p + i, row, col, list + j} : matrix{p + j, row, col, list + i};
  }
  const T* line(index_t n) const { return p + (list == nullptr ? n : list[n]) * (row == 1 ? col : row); }
};

/// c (+)= a b for M rows: b is read where it is, in panels as wide as the registers allow.
/// far: its rows lie on pages of their own, which no prefetcher follows from one to the next.
template <class V, int M, class T>
void wide_panels(index_t cols, index_t k, const matrix<T>& a, const matrix<T>& b, T* c, index_t c_row,
                 bool add, bool far) {
  constexpr index_t W = blocking<V>::W;
  index_t j = 0;
  const auto panels = [&](auto nv) {
    for (constexpr index_t width = nv.value * W; j + width <= cols; j += width)
      micro<V, M, nv.value>(k, a.p, a.row, a.col, b.p + j, b.row, c + j, c_row, W, add,
                            fetched<T>{.ahead = far && j + 2 * width <= cols ? width : 0});
  };
  panels(std::integral_constant<int, vectors_of_panel<V, M>>{});
  panels(std::integral_constant<int, 2>{});
  for (; j < cols; j += W)
    micro<V, M, 1, false, true>(k, a.p, a.row, a.col, b.p + j, b.row, c + j, c_row, std::min(W, cols - j),
                                add);
}

/// Stands for an extent that is not known yet where scratch is reserved.
inline constexpr index_t many = 1 << 20;

/// Elements of scratch for a product: a packed block of B and one of A. It grows with each extent.
template <class V> constexpr index_t tile_scratch(index_t rows, index_t cols, index_t k) {
  using B = blocking<V>;
  return std::min(k, B::KC) * (round_up(std::min(cols, B::NC), B::NR) + std::min(rows, B::MC));
}

/// Rows of a that lie in its columns (a.row == 1), (rows, k), as the blocks of row_blocks: element (i, p) of the block
/// from row r on at to[r * k + p * block + i]. Line by line of a, some steps ahead of themselves.
template <class V, class T> void pack_columns(index_t rows, index_t k, const matrix<T>& a, T* to) {
  constexpr index_t W = blocking<V>::W, MR = blocking<V>::MR, line = 64 / static_cast<index_t>(sizeof(T));
  constexpr index_t ahead = 8;
  const index_t blocks = ceil_div(rows, MR), size = rows / blocks, larger = rows % blocks;
  const auto steps = [&](index_t first, index_t last, auto inside,
                         auto listed) __attribute__((always_inline)) {
    for (index_t p = first; p < last; ++p) {
      const T* from = a.line(p);
      if (p + ahead < k)
        for (index_t x = 0; x < rows; x += line) __builtin_prefetch(a.line(p + ahead) + x);
      const T* const end = (a.list != nullptr ? from : a.line(k - 1)) + rows;
      T* t = to + p * (size + 1);
      const auto part = [&](index_t block, index_t i) __attribute__((always_inline)) {
        const index_t lanes = std::min(W, block - i);
        if constexpr (inside && !listed)
          store(t + i, load<V>(from + i)); // later steps come over what is too much
        else {
          const V v = end - from - i >= W ? load<V>(from + i) : load_n<V>(from + i, lanes);
          if constexpr (inside) store(t + i, v);
          else store_n(t + i, v, lanes);
        }
      };
      const auto copy = [&](index_t n, index_t block) __attribute__((always_inline)) {
        for (; n > 0; --n, from += block, t += block * k) {
          part(block, 0);
          for (index_t i = W; i < block; i += W) part(block, i);
        }
      };
      copy(larger, size + 1);
      t -= p; // the other blocks have a row less
      copy(blocks - larger, size);
    }
  };
  // In all steps but the last ones whole vectors may be read and written.
  const index_t whole = std::max<index_t>(0, k - round_up(MR, W));
  if (a.list != nullptr) steps(0, whole, std::true_type{}, std::true_type{});
  else steps(0, whole, std::true_type{}, std::false_type{});
  steps(whole, k, std::false_type{}, std::false_type{});
}

/// (k, cols) of b as panels of NR columns one behind the other, zeros behind the last column, up to a whole vector.
template <class V, class T> void pack_panels(index_t k, index_t cols, const matrix<T>& b, T* to) {
  constexpr index_t W = blocking<V>::W, NR = blocking<V>::NR, line = 64 / static_cast<index_t>(sizeof(T));
  if (b.col == 1) {
    constexpr index_t together = 8 * NR; // few pages of `to` are open at once
    for (index_t j0 = 0; j0 < cols; j0 += together)
      for (index_t p = 0; p < k; ++p) {
        if (p + 8 < k)
          for (index_t j = j0; j < std::min(cols, j0 + together); j += line)
            __builtin_prefetch(b.line(p + 8) + j);
        const T* const row = b.line(p);
        for (index_t j = j0; j < std::min(cols, j0 + together); j += W) {
          const T* const from = row + j;
          store(to + j / NR * (k * NR) + p * NR + j % NR,
                cols - j >= W ? load<V>(from) : load_n<V>(from, cols - j));
        }
      }
  } else
    for (index_t j = 0; j < cols; j += NR, to += k * NR) {
      if (cols - j >= NR) interleave<V>(NR, k, b.p + j * b.col, b.col, to);
      else
        for (index_t x = 0; x < NR; ++x)
          for (index_t p = 0; p < k; ++p) to[p * NR + x] = j + x < cols ? b.p[(j + x) * b.col + p] : T(0);
    }
}

/// Is a copy of b, (k, cols) in rows `step` elements apart, worth it where `rows` rows of a meet it? Rows of a multiple of 512
/// bytes share few sets of L1, so that even a shallow panel of them does not stay there.
template <class V> constexpr bool pays_to_pack(index_t rows, index_t k, index_t step) {
  using B = blocking<V>;
  const bool crowded = step * static_cast<index_t>(sizeof(typename V::value_type)) % 512 == 0;
  return step >= 4 * B::NR && (k > 128 ? rows >= 8 * B::MR : crowded && k >= 32 && rows >= 32 * B::MR);
}

/// So many of `extent` in each of the fewest blocks of at most `most`, in whole units.   @pre most is a multiple of unit
constexpr index_t equal_blocks(index_t extent, index_t most, index_t unit) {
  return round_up(ceil_div(extent, std::max<index_t>(1, ceil_div(extent, most))), unit);
}

/// c = a b on one thread, summed in equal blocks of at most kc along k whatever the rows and columns; c has row stride
/// c_row.   packed: nullptr, or b as panels of all_k rows each.   Scratch: tile_scratch<V>(rows, cols, k) elements.
///   @pre kc <= KC is a multiple of a line, or k <= kc
template <class V, class T>
void tile(index_t rows, index_t cols, index_t k, const matrix<T>& a, const matrix<T>& b, T* c, index_t c_row,
          T* scratch, index_t kc = blocking<V>::KC, const T* packed = nullptr, index_t all_k = 0) {
  using B = blocking<V>;
  constexpr index_t W = B::W, NR = B::NR, bytes = static_cast<index_t>(sizeof(T));
  constexpr index_t page = 4096 / bytes, line = 64 / bytes;
  constexpr bool wide_lanes = sizeof(V) == 64;
  // lines of both are steps of k, few pages hold those of kc steps, and each is read few times: nothing has to be packed
  const bool by_steps = a.col != 1 && b.col == 1 && !packed && a.list == nullptr && b.list == nullptr &&
                        std::max(a.col, b.row) <= page / (wide_lanes ? 4 : 8) &&
                        (!wide_lanes || std::min(a.col, b.row) <= 128);
  // Of a long sum so few steps that those of both are read again from L2. From KC on blocks of them are 128 at least: some
  // lines ahead of each call.
  const bool is_long = wide_lanes && a.col != 1 && b.col == 1 && k >= B::KC;
  if (by_steps) kc = std::min(kc, is_long ? 5 * B::KC / 16 : B::KC / 2);
  else if (is_long && a.col * b.row * bytes <= 1 << 20) kc = std::min(kc, 3 * B::KC / 8);
  const bool pack_a = a.list != nullptr || (!by_steps && rows >= 2 * B::MR && k >= 16 &&
                                            cols >= (a.col != 1 ? 4 : 16) * NR && (a.col != 1 || k > kc));
  // wide rows of b, each on pages of its own, are read one behind the other
  const bool far = b.row >= page && b.col == 1, few = rows <= B::rows_in_place;
  const bool wide = far && !few && (k > 128 || (k >= 16 && k * cols >= 1 << 19));
  const bool pack_b =
      b.list != nullptr || (!packed && !by_steps && (b.col != 1 || wide || pays_to_pack<V>(rows, k, b.row)));
  const bool in_place = few && !packed && !pack_b && !by_steps;
  T* const panels = scratch;
  T* const block = scratch + std::min(k, B::KC) * round_up(std::min(cols, B::NC), NR);
  // Of a long sum, too, the rows of both that are packed next, if L2 has room for them: they come in one piece.
  const bool fetches_sources = is_long && pack_a && pack_b && a.list == nullptr && b.list == nullptr &&
                               a.col <= 2 * rows && b.row <= 2 * cols &&
                               (a.col + b.row) * kc * bytes <= 5 << 17;
  kc = equal_blocks(k, kc, line);
  // Rows of c that are wide lie on pages of their own: few at a time, if what they meet of b is read again from L2.
  const index_t most_cols = equal_blocks(cols, B::NC, NR);
  const bool few_pages =
      !pack_a && c_row * bytes >= (wide_lanes ? 1024 : 3072) && kc * most_cols * bytes <= 1 << 20;
  const index_t most_rows = in_place    ? ceil_div(rows, ceil_div(rows, B::MR))
                            : few_pages ? equal_blocks(rows, (c_row * bytes >= 8192 ? 2 : 4) * B::MR, B::MR)
                                        : equal_blocks(rows, B::MC, B::MR);
  for (index_t j0 = 0; j0 < cols; j0 += most_cols)
    for (index_t p = 0; p < k; p += kc) {
      const index_t kb = std::min(kc, k - p), nc = std::min(most_cols, cols - j0), whole = nc / NR * NR;
      if (pack_b) pack_panels<V>(kb, nc, b.at(p, j0), panels);
      else if (!packed && !in_place && whole < nc && nc - whole != W)
        pack_panels<V>(kb, nc - whole, b.at(p, j0 + whole), panels);
      for (index_t i0 = 0; i0 < rows; i0 += most_rows) {
        const index_t mc = std::min(most_rows, rows - i0);
        const matrix<T> as = a.at(i0, p);
        if (pack_a) {
          if (a.col != 1) pack_columns<V>(mc, kb, as, block);
          else
            row_blocks<B::MR>(mc, [&](index_t i, auto m) {
              interleave<V>(m.value, kb, as.p + i * a.row, a.row, block + i * kb);
            });
        }
        if (in_place)
          row_blocks<B::MR>(mc, [&](index_t, auto m) { // one
            wide_panels<V, m.value>(nc, kb, pack_a ? matrix<T>{block, 1, mc} : as, b.at(p, j0),
                                    c + i0 * c_row + j0, c_row, p > 0, far);
          });
        for (index_t j = in_place ? nc : 0; j < nc; j += NR) {
          const index_t nb = std::min(NR, nc - j), last = nb > W ? nb - W : nb;
          const bool direct = !packed && !pack_b && (nb == NR || nb == W);
          const T* const bp = packed   ? packed + (j0 + j) * all_k + p * NR
                              : direct ? b.at(p, j0 + j).p
                              : pack_b ? panels + j * kb
                                       : panels;
          const index_t b_step = direct ? b.row : NR;
          // A packed panel that is larger than L1 comes from L2 in every call.
          const index_t ahead = wide_lanes && !direct && kb * NR * bytes > 1 << 15 ? 16 * NR : 0;
          // What a call fetches, and how far apart its lines are. Nothing that L2 has: that takes loads from the sums.
          constexpr index_t lines = ceil_div(NR, line);
          const index_t jn = j + NR < nc ? j + NR : 0, more = i0 + mc < rows ? i0 + mc : 0;
          const auto by_step =
              [&](index_t call) -> fetched<T> { // the next panel of b, then the next block of a
            const index_t later = (call < lines && jn > 0) || more > 0 ? p : p + kb;
            const index_t x = (j / NR * (ceil_div(mc, B::MR) - lines) + call - lines) * line;
            if (kb < 128 || later >= k) return {}; // a short way: little comes from far
            if (call < lines) return {.p = b.at(later, j0 + jn).p + call * line, .step = b.row};
            if (x >= rows - more) return {};
            return {.p = a.at(more + x, later).p, .step = a.col};
          };
          const auto source = [&](index_t call) -> fetched<T> { // the next rows of a, then those of b
            const index_t n = i0 / B::MR * (nc / NR) + j / NR * ceil_div(mc, B::MR) + call;
            const index_t of_a = ceil_div(a.col, line), later = p + kb;
            if (later >= k || n - of_a >= ceil_div(b.row, line)) return {};
            return {
                .p = n < of_a ? a.at(0, later).p + n * kb * line : b.at(later, j0).p + (n - of_a) * kb * line,
                .step = line};
          };
          const auto panel = [&](index_t call) -> fetched<T> { // the next panel of b, a line at a time
            if (kb * nc <= (1 << 20) / bytes || (jn == 0 && more == 0)) return {};
            if (call < lines)
              return {
                  .p = (packed ? packed + (j0 + jn) * all_k + p * NR : panels + jn * kb) + call * kb * line,
                  .step = line};
            // Once for each panel, some rows of the next block of a; rows that lie whole pages apart share few sets of L2.
            const index_t i = more + j / NR * B::MR, later = more > 0 ? p : p + kb;
            if (call > lines || !pack_a || a.col != 1 || a.row % page == 0 || later >= k ||
                i >= std::min(rows, more + most_rows))
              return {};
            return {.p = a.at(i, later).p, .row = a.row};
          };
          index_t call = 0;
          row_blocks<B::MR>(mc, [&](index_t i, auto m) {
            const T* const ap = pack_a ? block + i * kb : as.p + i * a.row;
            const index_t a_row = pack_a ? 1 : a.row, a_step = pack_a ? m.value : a.col;
            T* const cp = c + (i0 + i) * c_row + j0 + j;
            fetched<T> next = by_steps           ? by_step(call)
                              : fetches_sources  ? source(call)
                              : packed || pack_b ? panel(call)
                                                 : fetched<T>{};
            if (j == 0 && !pack_a && a.col == 1 && !next.p) { // the next rows of a
              next.p = i + m.value < mc ? ap + m.value * a.row : more > 0 ? as.p + mc * a.row : nullptr;
              next.row = a.row;
            }
            next.ahead = ahead;
            ++call;
            if (nb > W) micro<V, m.value, 2>(kb, ap, a_row, a_step, bp, b_step, cp, c_row, last, p > 0, next);
            else
              micro<V, m.value, 1, false, true>(kb, ap, a_row, a_step, bp, b_step, cp, c_row, last, p > 0,
                                                next);
          });
        }
      }
    }
}

} // namespace tapeless::cpu::detail
