// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// C[b] = op(A[b]) op(B[b])                       op(A): (m, k)   op(B): (k, n)   C: (batch, m, n), row-major
//
// One row, few rows, few columns and k == 1 have kernels of their own (gemv.hpp, skinny.hpp). All other products are
// cut into tiles for the team (tile.hpp). The order in which an element of C is summed is a function of the extents,
// whatever the number of threads. k is cut only where C is small and k is long.
#include <algorithm>

#include "../../core/geometry.hpp" // IWYU pragma: export
#include "skinny.hpp"              // IWYU pragma: export
#include "gemv.hpp"
#include "tile.hpp" // IWYU pragma: export
#include "../base/team.hpp"

namespace tapeless::cpu {

/// to[i] = from[i] + from[size + i] + ... in this order, over `slices` blocks of `size` elements.
template <class V, class T, class Team>
void add_slices(const Team& team, index_t slices, index_t size, const T* from, T* to) {
  constexpr index_t part = 8192, W = static_cast<index_t>(V::size);
  constexpr int vectors = 4; // of each slice at a time
  team.run(ceil_div(size, part), [&](index_t chunk, int) {
    const index_t end = std::min(size, (chunk + 1) * part);
    index_t i = chunk * part;
    for (; i + vectors * W <= end; i += vectors * W) {
      V sum[vectors];
      unroll<vectors>([&](auto v) { sum[v] = load<V>(from + i + v * W); });
      for (index_t s = 1; s < slices; ++s)
        unroll<vectors>([&](auto v) { sum[v] += load<V>(from + s * size + i + v * W); });
      unroll<vectors>([&](auto v) { store(to + i + v * W, sum[v]); });
    }
    for (; i < end; ++i) {
      T sum = from[i];
      for (index_t s = 1; s < slices; ++s) sum += from[s * size + i];
      to[i] = sum;
    }
  });
}

/// Elements of scratch per member. It grows with each extent, up to a limit.
template <class T, class V = simd<T>> constexpr index_t matmul_scratch(const matmul_extents& e) {
  // the rows of all matrices may be those of one
  return tile_scratch<V>(std::max(e.m, std::min(e.batch * e.m, blocking<V>::MC)), e.n, e.k);
}
/// Elements of the shared block, where k may be cut into slices.
template <class T, class V = simd<T>> constexpr index_t matmul_shared(const matmul_extents& e) {
  return e.k >= blocking<V>::long_k ? blocking<V>::partials : 0;
}

/// Elements of b packed ahead of products, if all matrices share one b and many rows are multiplied with it; 0: b is
/// read in place.
template <class T, class V = simd<T>> constexpr index_t matmul_packed(const matmul_extents& e) {
  using B = blocking<V>;
  // For k > 128 whatever the rows: matmul_packs tests them.
  const bool pays = e.k > 128 ? e.n >= 4 * B::NR : pays_to_pack<V>(e.m * e.batch, e.k, e.n);
  const bool packs = !e.b_batched && e.m * e.batch > 2 && e.n > 1 && e.k > 1 && (e.tb || pays);
  return packs ? round_up(e.n, B::NR) * e.k : 0;
}
/// Are there rows enough to pack b ahead of one product?
template <class T, class V = simd<T>> constexpr bool matmul_packs(const matmul_extents& e) {
  return e.m * e.batch >= 8 * blocking<V>::MR;
}
/// packed: matmul_packed elements, to be handed to matmul
template <class T, team Team, class V = simd<T>>
void matmul_pack(const Team& team, const matmul_extents& e, const T* b, T* packed) {
  constexpr index_t NR = blocking<V>::NR, columns = 4 * NR; // of a chunk
  const matrix<T> bm{b, e.tb ? 1 : e.n, e.tb ? e.k : 1};
  team.run(ceil_div(e.n, columns), [&](index_t chunk, int) {
    const index_t j = chunk * columns;
    pack_panels<V>(e.k, std::min(columns, e.n - j), bm.at(0, j), packed + j * e.k);
  });
}

/// Does the product read lists of rows? They are packed while they are read.
constexpr bool matmul_reads_lists(const matmul_extents& e) {
  return e.batch == 1 && e.ta && !e.tb && std::min(e.m, e.n) > 2;
}

/// How a product is cut for a team: into blocks of `mb` rows, `nb` columns and `kb` steps. A chunk is one block of one
/// matrix.
struct product_chunks {
  index_t kc; // steps that pass together
  index_t mb, nb, kb, row_tiles, col_tiles, slices;
};
/// No sum depends on the team: slices and kc are functions of the extents.
template <class V> product_chunks cut_product(const matmul_extents& e, index_t members, bool narrow) {
  using B = blocking<V>;
  constexpr index_t enough = 8, grain = 1 << 21; // slices to aim at; multiplications worth a chunk
  const index_t total = e.batch * e.m * e.n;
  // few rows: b is read once, from few pages at a time; if it is large, no cache has any of it yet
  constexpr index_t bytes = static_cast<index_t>(sizeof(typename V::value_type));
  const bool once = e.m <= B::rows_in_place && !e.tb;
  const bool large = e.k * e.n * bytes >= 1 << 21;
  const index_t kc = !once ? B::KC : large ? 32 : e.n * bytes >= 4096 ? 64 : B::KC;
  const index_t rows = narrow ? 48 : B::MR; // of a block are a multiple of this; 48 is whole vectors, too
  index_t mb = round_up(e.m, rows), nb = round_up(e.n, B::NR), slices = 1;
  if (e.k >= B::long_k && 2 * total <= B::partials)
    slices = std::min({enough, e.k / 2048, B::partials / total});
  else if (e.batch < 4 * members &&
           e.batch % members != 0) {  // a tile of each matrix for each member, as equal as possible
    constexpr index_t of_number = 16; // multiplications in the time that one number takes from memory
    const index_t work = std::max(e.m * e.n * e.k, of_number * (e.m * e.k + e.k * e.n + e.m * e.n));
    const index_t tiles = std::min(members, work / grain);
    index_t least = mb * nb, edges = mb + nb;
    for (index_t r = 1; r <= tiles; ++r) {
      if (tiles % r != 0) continue;
      const index_t high = round_up(ceil_div(e.m, r), rows), wide = round_up(ceil_div(e.n, tiles / r), B::NR);
      if (high * wide > least || (high * wide == least && high + wide >= edges)) continue;
      mb = high, nb = wide, least = high * wide, edges = high + wide;
    }
  }
  const index_t kb = slices == 1 ? e.k : round_up(ceil_div(e.k, slices), B::KC);
  return {kc, mb, nb, kb, ceil_div(e.m, mb), ceil_div(e.n, nb), ceil_div(e.k, kb)};
}

/// c = op(a) op(b) over the batch. Any extent may be 0; k == 0 gives zeros. c overlaps neither a nor b.
/// packed: nullptr, or what matmul_pack has made of b.   @pre matmul_reads_lists(e), or there are none
template <class T, team Team, class V = simd<T>>
void matmul(const Team& team, matmul_extents e, const T* a, const T* b, T* c, T* scratch, T* shared,
            const T* packed = nullptr, const row_lists& lists = {}) {
  using B = blocking<V>;
  const index_t each = matmul_scratch<T, V>(e);
  if (e.batch * e.m * e.n == 0) return;
  if (e.k == 0) return void(std::fill_n(c, e.batch * e.m * e.n, T(0)));
  combine_rows(e, a, b);
  if (e.m == 1 && e.batch == 1 && e.k > 1 && e.k * e.n <= (1 << 18)) { // one small row: the shortest path
    if (e.tb) return row_of_dots<V>(e.n, e.k, a, b, e.k, c);
    return row_times_matrix<V>(e.n, e.k, a, 1, b, e.n, c);
  }
  if (e.k == 1) {
    if (lists.a != nullptr) a += lists.a[0] * e.m;
    if (lists.b != nullptr) b += lists.b[0] * e.n;
    if (e.batch == 1 && e.m * e.n <= (1 << 18)) return outer_product<V>(e.m, e.n, a, 1, b, c, e.n);
    e.ta = e.tb = false;
  }

  const matrix<T> am{a, e.ta ? 1 : e.k, e.ta ? e.m : 1, e.k == 1 ? nullptr : lists.a};
  const matrix<T> bm{b, e.tb ? 1 : e.n, e.tb ? e.k : 1, e.k == 1 ? nullptr : lists.b};
  const bool few = (!packed || e.m == 1) && are_few_rows<V>(e.m, e.k, am, bm),
             narrow = !few && bm.list == nullptr && are_few_columns<V>(e.m, e.n, e.k, am, each);
  if (e.batch == 1 && e.m * e.n * e.k <= (1 << 18)) {
    if (few) return few_rows<V>(e.m, e.m, e.n, e.k, am, bm, c, e.n);
    if (narrow) return few_columns<V>(e.m, e.n, e.k, am, bm, c, e.n, scratch, B::KC);
    return tile<V>(e.m, e.n, e.k, am, bm, c, e.n, scratch, B::KC, packed, e.k);
  }

  const product_chunks cut = cut_product<V>(e, team.size(), narrow);
  const index_t total = e.batch * e.m * e.n;
  T* const target = cut.slices == 1 ? c : shared; // (slices, batch, m, n)

  team.run(e.batch * cut.slices * cut.row_tiles * cut.col_tiles, [&](index_t chunk, int member) {
    const index_t j = chunk % cut.col_tiles * cut.nb, i = chunk / cut.col_tiles % cut.row_tiles * cut.mb;
    const index_t rest = chunk / (cut.col_tiles * cut.row_tiles), slice = rest % cut.slices;
    const index_t p = slice * cut.kb, z = rest / cut.slices;
    const auto as = matrix<T>{a + (e.a_batched ? z * e.m * e.k : 0), am.row, am.col, am.list}.at(i, p);
    const auto bs = matrix<T>{b + (e.b_batched ? z * e.k * e.n : 0), bm.row, bm.col, bm.list}.at(p, j);
    T* const cs = target + slice * total + z * e.m * e.n + i * e.n + j;
    const index_t high = std::min(cut.mb, e.m - i), wide = std::min(cut.nb, e.n - j);
    const index_t deep = std::min(cut.kb, e.k - p);
    if (e.k == 1) outer_product<V>(high, wide, as.p, as.row, bs.p, cs, e.n);
    else if (few) few_rows<V>(e.m, high, wide, deep, as, bs, cs, e.n);
    else if (narrow) few_columns<V>(high, wide, deep, as, bs, cs, e.n, scratch + member * each, cut.kc);
    else
      tile<V>(high, wide, deep, as, bs, cs, e.n, scratch + member * each, cut.kc,
              packed ? packed + j * e.k + p * B::NR : nullptr, e.k);
  });
  if (cut.slices > 1) add_slices<V>(team, cut.slices, total, shared, c);
}

} // namespace tapeless::cpu
