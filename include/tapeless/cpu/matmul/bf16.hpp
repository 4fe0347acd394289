// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// C[b] = op(A[b]) op(B[b])       op(A): (m, k) bf16   op(B): (k, n) bf16   C: (batch, m, n) float, row-major
//
// Products are exact, sums are of float. The blocks and the microkernel are those of cpu/matmul/matmul.hpp; both operands are
// always packed. With AVX512_BF16 a packed lane holds two neighbours along k, and one instruction adds both products;
// it takes what is below 2^-126 for zero. On other machines a packed lane is one widened element. One or two rows, and
// one column, are not packed: elements are widened in registers.
// The order in which an element of C is summed is a function of the extents, however many threads there are.
#include "../../core/bf16.hpp"
#include "../base/bf16.hpp"
#include "matmul.hpp"

namespace tapeless::cpu {
/// What one packed lane holds: `depth` steps of k. The last of an odd k meets a zero.
///   along(p, n)            lanes: n steps of k from p[0] on, which lie one behind the other
///   across(p, ld, n, k)    lanes: n rows; step d of row i at p[i + d * ld], k of them left
template <class V> struct widened_lanes {
  using lanes = V;
  static constexpr index_t depth = 1, W = static_cast<index_t>(V::size);
  static V along(const bf16* p, index_t k) { return k >= W ? load_bf16<V>(p) : load_bf16_n<V>(p, k); }
  static V across(const bf16* p, index_t, index_t n, index_t) { return along(p, n); }
};
#if defined(__AVX512BF16__) && defined(__AVX512BW__)
/// Lanes of float, whose products are of two bf16 each: fma(a, b, c) = c + a_1 b_1 + a_0 b_0.
struct pair_lanes : simd<float> {
  using simd<float>::batch;
  pair_lanes(const simd<float>& v) : simd<float>(v) {}
};
[[gnu::always_inline]] inline pair_lanes fma(const pair_lanes& a, const pair_lanes& b, const pair_lanes& c) {
  return simd<float>(
      _mm512_dpbf16_ps(c.data, std::bit_cast<__m512bh>(a.data), std::bit_cast<__m512bh>(b.data)));
}
/// Like fma: the sum of two products, not the product of two lanes.
[[gnu::always_inline]] inline pair_lanes operator*(const pair_lanes& a, const pair_lanes& b) {
  return fma(a, b, pair_lanes(simd<float>(0.0f)));
}
template <> inline constexpr index_t terms_of_step<pair_lanes> = 2;
struct paired_lanes {
  using lanes = pair_lanes;
  using V = simd<float>;
  static constexpr index_t depth = 2, W = 16;
  static V along(const bf16* p, index_t k) {
    const auto some = [](index_t n) { return n >= 32 ? ~__mmask32{0} : (__mmask32{1} << n) - 1; };
    return V(_mm512_castsi512_ps(k >= 32 ? _mm512_loadu_si512(p) : _mm512_maskz_loadu_epi16(some(k), p)));
  }
  static V across(const bf16* p, index_t ld, index_t n, index_t k) {
    const auto row = [&](const bf16* q) { return n >= W ? load_halves<V>(q) : load_halves_n<V>(q, n); };
    auto pair = row(p);
    if (k > 1) pair |= row(p + ld) << 16;
    return lanes_of_words<V>(pair);
  }
};
template <class V> using bf16_lanes = paired_lanes;
#else
template <class V> using bf16_lanes = widened_lanes<V>;
#endif

template <class L> constexpr index_t steps_of(index_t k) { return ceil_div(k, L::depth); }

/// One step of k of R rows, n of which there are, zeros behind them.   element (i, d) at p[i + d * ld], k left
template <class L> [[gnu::always_inline]] inline void put_across(index_t n, index_t R, const bf16* p,
                                                                 index_t ld, index_t k, float* to) {
  using V = simd<float>;
  for (index_t i = 0; i < R; i += L::W) {
    const V v = i < n ? L::across(p + i, ld, std::min(L::W, n - i), k) : V(0.0f);
    if (R - i >= L::W) store(to + i, v);
    else store_n(to + i, v, R - i);
  }
}
/// All steps of R rows, n of which there are: step s of row i to[s * R + i].   element (i, p) at from[i * ld + p]
template <class L> void put_along(index_t n, index_t R, index_t k, const bf16* from, index_t ld, float* to) {
  using V = simd<float>;
  constexpr index_t W = L::W;
  const index_t steps = steps_of<L>(k);
  for (index_t i = 0; i < R; i += W)
    for (index_t s = 0; s < steps; s += W) {
      const bf16* const p = from + i * ld + s * L::depth;
      V v[V::size];
      unroll<V::size>([&](auto r) __attribute__((always_inline)) {
        v[r] = i + r < n ? L::along(p + r * ld, k - s * L::depth) : V(0.0f);
      });
      transpose_lanes(v);
      unroll<V::size>([&](auto x) __attribute__((always_inline)) {
        if (s + x >= steps) return;
        float* const t = to + (s + x) * R + i;
        if (R - i >= W) store(t, v[x]);
        else store_n(t, v[x], R - i);
      });
    }
}

/// (rows, k) of a as the blocks of row_blocks, steps_of(k) lanes a row.
template <class L> void pack_bf16_rows(index_t rows, index_t k, const matrix<bf16>& a, float* to) {
  constexpr index_t MR = blocking<typename L::lanes>::MR;
  const index_t steps = steps_of<L>(k);
  const index_t blocks = ceil_div(rows, MR), size = rows / blocks, larger = rows % blocks;
  const auto each_block = [&](const auto& pack) { // first row, number of rows
    for (index_t n = 0; n < blocks; ++n) pack(n * size + std::min(n, larger), size + (n < larger ? 1 : 0));
  };
  if (a.col == 1)
    return each_block(
        [&](index_t i, index_t m) { put_along<L>(m, m, k, a.p + i * a.row, a.row, to + i * steps); });
  constexpr index_t ahead = 8;
  for (index_t s = 0; s < steps; ++s) { // line by line of a
    const index_t p = s * L::depth;
    if (p + ahead < k)
      for (index_t d = 0; d < L::depth; ++d)
        for (index_t x = 0; x < rows; x += 32) __builtin_prefetch(a.p + (p + ahead + d) * a.col + x);
    each_block([&](index_t i, index_t m) {
      put_across<L>(m, m, a.p + p * a.col + i, a.col, k - p, to + i * steps + s * m);
    });
  }
}
/// (k, cols) of b as panels of NR columns one behind the other, zeros behind the last column.
template <class L> void pack_bf16_panels(index_t k, index_t cols, const matrix<bf16>& b, float* to) {
  constexpr index_t NR = blocking<typename L::lanes>::NR;
  const index_t steps = steps_of<L>(k);
  if (b.row == 1) {
    for (index_t j = 0; j < cols; j += NR)
      put_along<L>(std::min(NR, cols - j), NR, k, b.p + j * b.col, b.col, to + j * steps);
    return;
  }
  constexpr index_t together = 8 * NR; // few pages of `to` are open at once
  for (index_t j0 = 0; j0 < cols; j0 += together)
    for (index_t s = 0; s < steps; ++s)
      for (index_t j = j0; j < std::min(cols, j0 + together); j += NR)
        put_across<L>(std::min(NR, cols - j), NR, b.p + s * L::depth * b.row + j, b.row, k - s * L::depth,
                      to + j * steps + s * NR);
}

/// Elements of k that one or two rows of a are widened of at a time.
inline constexpr index_t few_rows_k = 4096;
/// Lanes of scratch for a product.
template <class L> constexpr index_t bf16_scratch(index_t rows, index_t cols, index_t k) {
  using B = blocking<typename L::lanes>;
  const index_t tile =
      std::min(steps_of<L>(k), B::KC) * (round_up(std::min(cols, B::NC), B::NR) + std::min(rows, B::MC));
  const index_t blocks = steps_of<L>(k) > blocks_in_order * B::KC ? long_sums_scratch(rows, cols) : 0;
  return round_up(std::max(tile + blocks, 2 * std::min(k, few_rows_k)), 16);
}

/// bf16_tile, where blocks along k are few.
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

/// c[r, j] = sum_p a[r * a_row + p] * b[p * b_row + j] for R rows, in blocks of `together` along p, added in order
template <class V, int R> void bf16_rows_times_matrix(index_t n, index_t k, const float* a, index_t a_row,
                                                      const bf16* b, index_t b_row, float* c, index_t c_row,
                                                      index_t together) {
  constexpr index_t W = static_cast<index_t>(V::size);
  for (index_t p = 0; p < k; p += together, a += together, b += together * b_row) {
    const index_t kb = std::min(together, k - p);
    const bool more = p > 0;
    const auto run = [&](index_t j, index_t last, auto vectors) {
      constexpr int N = vectors.value;
      V acc[R][N];
      unroll<R>([&](auto r) __attribute__((always_inline)) {
        unroll<N>([&](auto x) __attribute__((always_inline)) { acc[r][x] = V(0.0f); });
      });
      for (index_t q = 0; q < kb; ++q) {
        const bf16* const row = b + q * b_row + j;
        unroll<N>([&](auto x) __attribute__((always_inline)) {
          const V v = x < N - 1 || last == W ? load_bf16<V>(row + x * W) : load_bf16_n<V>(row + x * W, last);
          unroll<R>([&](auto r) __attribute__((always_inline)) {
            acc[r][x] = cpu::fma(V(a[r * a_row + q]), v, acc[r][x]);
          });
        });
      }
      unroll<R>([&](auto r) __attribute__((always_inline)) {
        unroll<N>([&](auto x) __attribute__((always_inline)) {
          float* const t = c + r * c_row + j + x * W;
          if (x < N - 1 || last == W) store(t, more ? load<V>(t) + acc[r][x] : acc[r][x]);
          else store_n(t, more ? load_n<V>(t, last) + acc[r][x] : acc[r][x], last);
        });
      });
    };
    index_t j = 0;
    for (; j + 8 * W <= n; j += 8 * W) run(j, W, std::integral_constant<int, 8>{});
    for (; j + W <= n; j += W) run(j, W, std::integral_constant<int, 1>{});
    if (j < n) run(j, n - j, std::integral_constant<int, 1>{});
  }
}
/// c[r, j] = sum_p a[r * a_row + p] * b[j * b_row + p] for R rows
template <class V, int R> void bf16_rows_of_dots(index_t n, index_t k, const float* a, index_t a_row,
                                                 const bf16* b, index_t b_row, float* c, index_t c_row) {
  constexpr index_t W = static_cast<index_t>(V::size);
  constexpr int U = 4;
  for (index_t j = 0; j < n; ++j, b += b_row) {
    V acc[R][U];
    unroll<R>([&](auto r) __attribute__((always_inline)) {
      unroll<U>([&](auto u) __attribute__((always_inline)) { acc[r][u] = V(0.0f); });
    });
    chain_sums<V, R, U> sums;
    index_t p = 0;
    in_chains(k / (U * W), chain_terms, acc, sums,
              [&](index_t step, index_t end) __attribute__((always_inline)) {
                for (; step < end; ++step, p += U * W)
                  unroll<U>([&](auto u) __attribute__((always_inline)) {
                    const V v = load_bf16<V>(b + p + u * W);
                    unroll<R>([&](auto r) __attribute__((always_inline)) {
                      acc[r][u] = cpu::fma(load<V>(a + r * a_row + p + u * W), v, acc[r][u]);
                    });
                  });
              });
    sums.finish(acc);
    for (; p < k; p += W) {
      const index_t left = std::min(W, k - p);
      const V v = load_bf16_n<V>(b + p, left);
      unroll<R>([&](auto r) __attribute__((always_inline)) {
        acc[r][0] = cpu::fma(load_n<V>(a + r * a_row + p, left), v, acc[r][0]);
      });
    }
    unroll<R>([&](auto r) __attribute__((always_inline)) {
      c[r * c_row + j] = hsum((acc[r][0] + acc[r][1]) + (acc[r][2] + acc[r][3]));
    });
  }
}
/// c = a b for one or two rows: b is read once, as it lies.   Scratch: 2 min(k, few_rows_k) floats
template <class V> void bf16_few_rows(index_t rows, index_t cols, index_t k, const matrix<bf16>& a,
                                      const matrix<bf16>& b, float* c, index_t c_row, float* scratch) {
  constexpr index_t sweep = 1024; // columns
  const bool dots = b.row == 1 && (b.col != 1 || cols == 1);
  const index_t together = b.row < 2048 ? chain_terms : 8; // few pages of b are open at once
  const index_t room = std::min(k, dots ? few_rows_k : blocks_in_order * together);
  float block[2 * sweep], lost[2 * sweep];
  for (index_t j = 0; j < cols; j += sweep) {
    const index_t n = std::min(sweep, cols - j);
    for (index_t p = 0; p < k; p += room) {
      const index_t kb = std::min(room, k - p);
      for (index_t i = 0; i < rows; ++i)
        for (index_t q = 0; q < kb; ++q) scratch[i * room + q] = static_cast<float>(a.at(i, p + q).p[0]);
      const matrix<bf16> part = b.at(p, j);
      float* const to = p == 0 ? c + j : block;
      const index_t row = p == 0 ? c_row : sweep;
      const auto run = [&](auto r) {
        if (dots) bf16_rows_of_dots<V, r.value>(n, kb, scratch, room, part.p, b.col, to, row);
        else bf16_rows_times_matrix<V, r.value>(n, kb, scratch, room, part.p, b.row, to, row, together);
      };
      if (rows == 1) run(std::integral_constant<int, 1>{});
      else run(std::integral_constant<int, 2>{});
      for (index_t i = 0; p > 0 && i < rows; ++i)
        add_block<V>(n, block + i * sweep, c + i * c_row + j, lost + i * sweep, p == room);
    }
    for (index_t i = 0; k > room && i < rows; ++i) end_sums<V>(n, c + i * c_row + j, lost + i * sweep);
  }
}

/// Elements of bf16, so many as the lanes of scratch for a member take.
template <class V = simd<float>> constexpr index_t matmul_bf16_scratch(const matmul_extents& e) {
  using L = bf16_lanes<V>;
  // the rows of all matrices may be those of one
  const index_t rows = std::max(e.m, std::min(e.batch * e.m, blocking<V>::MC));
  return 2 * bf16_scratch<L>(rows, e.n, e.k);
}
/// The same of one b, the same for all matrices, packed ahead of products of many rows with it; 0: it never is.
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
  if (e.a_batched && !e.b_batched && (!e.ta || e.m == 1)) { // rows of all matrices in one
    e.m *= e.batch;
    e.batch = 1;
    e.ta = false;
  }
  if (e.n == 1 && e.m > 1) { // a column vector is a row vector of the transpose
    const bf16* const vector = b;
    b = a;
    a = vector;
    e = {.batch = e.batch,
         .m = 1,
         .n = e.m,
         .k = e.k,
         .tb = !e.ta,
         .a_batched = e.b_batched,
         .b_batched = e.a_batched};
  }
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
