// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// C[b] = op(A[b]) op(B[b])       op(A): (m, k) bf16   op(B): (k, n) bf16   C: (batch, m, n) float, row-major
//
// Products are exact, sums are of float. The blocks and the microkernel are those of the float product (tile.hpp); both
// operands are always packed (bf16_pack.hpp), except for one or two rows and for one column (bf16_rows.hpp).
// The order in which an element of C is summed is a function of the extents, whatever the number of threads.
#include <algorithm>

#include "../../core/bf16.hpp"
#include "../../core/geometry.hpp" // IWYU pragma: export
#include "../base/team.hpp"
#include "bf16_pack.hpp" // IWYU pragma: export
#include "bf16_rows.hpp" // IWYU pragma: export
#include "tile.hpp"      // IWYU pragma: export

namespace tapeless::cpu {

/// Packed lanes of scratch for a product.
template <class L> constexpr index_t bf16_scratch(index_t rows, index_t cols, index_t k) {
  using B = blocking<typename L::lanes>;
  const index_t tile =
      std::min(steps_of<L>(k), B::KC) * (round_up(std::min(cols, B::NC), B::NR) + std::min(rows, B::MC));
  const index_t blocks = steps_of<L>(k) > blocks_in_order * B::KC ? long_sums_scratch(rows, cols) : 0;
  return round_up(std::max(tile + blocks, 2 * std::min(k, few_rows_k)), 16);
}

/// bf16_tile() for few blocks along k.
template <class L> void bf16_tile_in_order(index_t rows, index_t cols, index_t k, const matrix<bf16>& a,
                                           const matrix<bf16>& b, float* c, index_t c_row, float* scratch,
                                           const float* packed, index_t all_k) {
  using V = typename L::lanes;
  using B = blocking<V>;
  constexpr index_t W = B::W, NR = B::NR, KC = B::KC * L::depth;
  float* const panels = scratch;
  float* const block = scratch + steps_of<L>(std::min(k, KC)) * round_up(std::min(cols, B::NC), NR);
  const index_t most_cols = equal_blocks(cols, B::NC, NR), most_rows = equal_blocks(rows, B::MC, B::MR);
  for (index_t j0 = 0; j0 < cols; j0 += most_cols)
    for (index_t p = 0; p < k; p += KC) {
      const index_t kb = std::min(KC, k - p), nc = std::min(most_cols, cols - j0), steps = steps_of<L>(kb);
      if (!packed) pack_bf16_panels<L>(kb, nc, b.at(p, j0), panels);
      for (index_t i0 = 0; i0 < rows; i0 += most_rows) {
        const index_t mc = std::min(most_rows, rows - i0);
        pack_bf16_rows<L>(mc, kb, a.at(i0, p), block);
        for (index_t j = 0; j < nc; j += NR) {
          const index_t nb = std::min(NR, nc - j), last = nb > W ? nb - W : nb;
          const float* const bp =
              packed ? packed + (j0 + j) * steps_of<L>(all_k) + p / L::depth * NR : panels + j * steps;
          row_blocks<B::MR>(mc, [&](index_t i, index_t m) {
            const float* const ap = block + i * steps;
            float* const cp = c + (i0 + i) * c_row + j0 + j;
            if (nb > W) micro_rows<V, 2>(m, steps, ap, 1, m, bp, NR, cp, c_row, last, p > 0);
            else micro_rows<V, 1>(m, steps, ap, 1, m, bp, NR, cp, c_row, last, p > 0);
          });
        }
      }
    }
}

/// c = a b on one thread; c has row stride c_row.   packed: nullptr, or b as panels of steps_of(all_k) rows each
template <class L> void bf16_tile(index_t rows, index_t cols, index_t k, const matrix<bf16>& a,
                                  const matrix<bf16>& b, float* c, index_t c_row, float* scratch,
                                  const float* packed, index_t all_k) {
  using B = blocking<typename L::lanes>;
  sum_of_blocks<simd<float>>(
      rows, cols, k, blocks_in_order * B::KC * L::depth, B::MC, B::NR, c, c_row, false, scratch,
      [&](index_t i, index_t j, index_t p, index_t high, index_t wide, index_t deep, float* to,
          index_t to_row, bool, float* rest) {
        bf16_tile_in_order<L>(high, wide, deep, a.at(i, p), b.at(p, j), to, to_row, rest,
                              packed ? packed + j * steps_of<L>(all_k) + p / L::depth * B::NR : nullptr,
                              all_k);
      });
}

/// Elements of bf16 that the scratch of a member takes.
template <class V = simd<float>> constexpr index_t matmul_bf16_scratch(const matmul_extents& e) {
  using L = bf16_lanes<V>;
  // the rows of all matrices may be those of one
  const index_t rows = std::max(e.m, std::min(e.batch * e.m, blocking<V>::MC));
  return 2 * bf16_scratch<L>(rows, e.n, e.k);
}
/// Elements of b packed ahead of products, if all matrices share one b and many rows are multiplied with it; 0: never.
template <class V = simd<float>> constexpr index_t matmul_bf16_packed(const matmul_extents& e) {
  using L = bf16_lanes<V>;
  const bool packs = !e.b_batched && e.m * e.batch > 2 && e.n > 1;
  return packs ? 2 * round_up(e.n, blocking<V>::NR) * steps_of<L>(e.k) : 0;
}
/// Are there rows enough to pack b ahead of one product?
template <class V = simd<float>> constexpr bool matmul_bf16_packs(const matmul_extents& e) {
  return e.m * e.batch >= 2 * blocking<V>::MR;
}
/// packed: matmul_bf16_packed elements, to be handed to matmul_bf16
template <team Team, class V = simd<float>>
void matmul_bf16_pack(const Team& team, const matmul_extents& e, const bf16* b, bf16* packed) {
  using L = bf16_lanes<V>;
  constexpr index_t columns = 4 * blocking<V>::NR; // of a chunk
  const matrix<bf16> bm{b, e.tb ? 1 : e.n, e.tb ? e.k : 1};
  float* const to = reinterpret_cast<float*>(packed);
  team.run(ceil_div(e.n, columns), [&](index_t chunk, int) {
    const index_t j = chunk * columns;
    pack_bf16_panels<L>(e.k, std::min(columns, e.n - j), bm.at(0, j), to + j * steps_of<L>(e.k));
  });
}

/// c = op(a) op(b) over the batch. Any extent may be 0; k == 0 gives zeros. c overlaps neither a nor b.
/// packed: nullptr, or what matmul_bf16_pack has made of b.
template <team Team, class V = simd<float>>
void matmul_bf16(const Team& team, matmul_extents e, const bf16* a, const bf16* b, float* c, bf16* scratch,
                 const bf16* packed = nullptr) {
  using L = bf16_lanes<V>;
  using B = blocking<V>;
  const index_t each = matmul_bf16_scratch<V>(e) / 2;
  float* const lanes = reinterpret_cast<float*>(scratch);
  const float* const panels = reinterpret_cast<const float*>(packed);
  if (e.batch * e.m * e.n == 0) return;
  if (e.k == 0) return void(std::fill_n(c, e.batch * e.m * e.n, 0.0f));
  combine_rows(e, a, b);
  const matrix<bf16> am{a, e.ta ? 1 : e.k, e.ta ? e.m : 1}, bm{b, e.tb ? 1 : e.n, e.tb ? e.k : 1};
  const bool few = e.m <= 2;
  const auto run = [&](index_t rows, index_t cols, const matrix<bf16>& as, const matrix<bf16>& bs, float* cs,
                       int member, index_t j) {
    float* const mine = lanes + member * each;
    if (few) bf16_few_rows<V>(rows, cols, e.k, as, bs, cs, e.n, mine);
    else
      bf16_tile<L>(rows, cols, e.k, as, bs, cs, e.n, mine, panels ? panels + j * steps_of<L>(e.k) : nullptr,
                   e.k);
  };
  if (e.batch == 1 && e.m * e.n * e.k <= (1 << 18)) return run(e.m, e.n, am, bm, c, 0, 0);

  // chunks: (batch, row blocks, column blocks)
  constexpr index_t grain = 1 << 21; // multiplications worth a chunk
  const index_t total = e.batch * e.m * e.n;
  index_t row_tiles = 1, col_tiles = 1;
  while (team.size() > 1 && e.batch * row_tiles * col_tiles < 4 * team.size() &&
         total * e.k / (e.batch * row_tiles * col_tiles) > 2 * grain) {
    if (e.m / row_tiles >= e.n / col_tiles) row_tiles *= 2;
    else col_tiles *= 2;
  }
  const index_t mb = few ? e.m : round_up(ceil_div(e.m, row_tiles), B::MR);
  const index_t nb = round_up(ceil_div(e.n, col_tiles), 8 * B::W);
  row_tiles = ceil_div(e.m, mb), col_tiles = ceil_div(e.n, nb);
  team.run(e.batch * row_tiles * col_tiles, [&](index_t chunk, int member) {
    const index_t j = chunk % col_tiles * nb, i = chunk / col_tiles % row_tiles * mb;
    const index_t z = chunk / (col_tiles * row_tiles);
    const auto as = matrix<bf16>{a + (e.a_batched ? z * e.m * e.k : 0), am.row, am.col}.at(i, 0);
    const auto bs = matrix<bf16>{b + (e.b_batched ? z * e.k * e.n : 0), bm.row, bm.col}.at(0, j);
    run(std::min(mb, e.m - i), std::min(nb, e.n - j), as, bs, c + z * e.m * e.n + i * e.n + j, member, j);
  });
}

} // namespace tapeless::cpu
