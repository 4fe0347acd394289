// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Tiled matrices (core/csr_tiles.hpp): the products of one block of rows. For the entries e of block q at (i, j):
//   spmv             y[i] = sum values[e] * x[j]           spmm             C[i,:] = sum values[e] * B[j,:]
//   spmv_transposed  g[j] += values[e] * r[i]              spmm_transposed  B[j,:] += values[e] * C[i,:]
//   spread           out[e] = l[i] * x[j]                  sddmm            out[e] = <L[i,:], R[j,:]>
// x, g, B and R have all columns; y, r, l, C and L are indexed by the row of the matrix, out and values by the entry.
// Every sum has one order for a given matrix and K.
#include "../core/csr_tiles.hpp"
#include "sparse_product.hpp"

namespace tapeless::cpu {

struct csr_tiles {
  tapeless::detail::tiling t;
  const std::int32_t* end;   // (M)
  const std::int32_t* place; // (entries)

  index_t begin(index_t q, index_t k) const {
    const index_t at = t.first_row(q) + k;
    return at == 0 ? 0 : end[at - 1];
  }
  // entries and rows before block q
  index_t before(index_t q) const { return begin(q, 0) + t.first_row(q); }
};

/// First block of chunk `chunk` of `chunks`, as chunk_of_rows: a chunk exceeds its share by less than two blocks.
inline index_t chunk_of_blocks(const csr_tiles& a, index_t nnz, index_t chunk, index_t chunks) {
  const index_t share = (nnz + a.t.rows) / chunks, rest = (nnz + a.t.rows) % chunks;
  const index_t target = share * chunk + rest * chunk / chunks;
  index_t lo = 0, hi = a.t.row_blocks;
  while (lo < hi) {
    const index_t q = lo + (hi - lo) / 2;
    if (a.before(q) >= target) hi = q;
    else lo = q + 1;
  }
  return lo;
}

/// Stands where kernels of rows have `every_row`: the rows of block q.
struct block_of_rows {
  index_t q;
  constexpr index_t operator()(index_t k) const { return k; }
};

namespace detail {

// Tile (q, k): its entries, and its first row and column.
struct tile_entries {
  index_t begin, end, first_row, first_col;
};
inline tile_entries tile_of(const csr_tiles& a, index_t q, index_t k) {
  return {a.begin(q, k), a.end[a.t.first_row(q) + k], a.t.first_row(q), a.t.first_col(k)};
}
using tapeless::detail::col_in_tile;
using tapeless::detail::row_in_tile;

// to[row] += values[e] * from[col] for the n entries of a tile; transposed: to[col] += values[e] * from[row]
// values and from may be `ones`. A function of its own: pointers beyond these do not fit into registers.
template <bool Transposed, class T, class Values, class From>
[[gnu::noinline]] void add_products(const std::int32_t* place, Values values, index_t n, From from,
                                    T* __restrict to) {
  constexpr int L = narrow_width<T>;
  constexpr index_t group = 8, ahead = 1024;
  const auto source = [](std::int32_t w) { return Transposed ? row_in_tile(w) : col_in_tile(w); };
  const auto target = [](std::int32_t w) { return Transposed ? col_in_tile(w) : row_in_tile(w); };
  index_t e = 0;
  if constexpr (!is_ones<From>)
    for (; e + group <= n; e += group) {
      prefetch_at(place, e + ahead); // once for 8: a tenth faster on Zen 4 than once for 4
      prefetch_at(values, e + ahead);
      unroll<group / L>([&](auto part) __attribute__((always_inline)) {
        const index_t at = e + part * L;
        std::int32_t w[L];
        unroll<L>([&](auto l) __attribute__((always_inline)) { w[l] = place[at + l]; });
        narrow<T> p =
            pack_narrow<T>([&](int l) __attribute__((always_inline)) { return from[source(w[l])]; });
        if constexpr (!is_ones<Values>) p *= load_narrow(values + at);
        unroll<L>([&](auto l) __attribute__((always_inline)) { to[target(w[l])] += p[int{l}]; });
      });
    }
  for (; e < n; ++e) {
    const std::int32_t w = place[e];
    if constexpr (is_ones<From>) to[target(w)] += entry<T>(values, e);
    else if constexpr (is_ones<Values>) to[target(w)] += from[source(w)];
    else to[target(w)] += values[e] * from[source(w)];
  }
}

} // namespace detail

template <class V, class Values, class X>
void spmv(const csr_tiles& a, block_of_rows b, Values values, X x, typename V::value_type* y) {
  using T = typename V::value_type;
  const index_t lo = a.t.first_row(b.q);
  std::fill(y + lo, y + a.t.first_row(b.q + 1), T(0));
  for (index_t k = 0; k < a.t.col_blocks; ++k) {
    const detail::tile_entries t = detail::tile_of(a, b.q, k);
    detail::add_products<false>(a.place + t.begin, detail::starting_at(values, t.begin), t.end - t.begin,
                                detail::starting_at(x, t.first_col), y + lo);
  }
}

// The last tile first: in a sweep it has just passed.
template <class V, class Values, class R>
void spmv_transposed(const csr_tiles& a, block_of_rows b, Values values, R r, typename V::value_type* g) {
  for (index_t k = a.t.col_blocks; k-- > 0;) {
    const detail::tile_entries t = detail::tile_of(a, b.q, k);
    detail::add_products<true>(a.place + t.begin, detail::starting_at(values, t.begin), t.end - t.begin,
                               detail::starting_at(r, t.first_row), g + t.first_col);
  }
}

template <class V, class L, class X>
void spread(const csr_tiles& a, block_of_rows b, L l, X x, typename V::value_type* out) {
  using T = typename V::value_type;
  for (index_t k = 0; k < a.t.col_blocks; ++k) {
    const detail::tile_entries t = detail::tile_of(a, b.q, k);
    const L left = detail::starting_at(l, t.first_row);
    const X right = detail::starting_at(x, t.first_col);
    for (index_t e = t.begin; e < t.end; ++e) {
      const index_t i = detail::row_in_tile(a.place[e]), j = detail::col_in_tile(a.place[e]);
      if constexpr (detail::is_ones<X>) out[e] = detail::entry<T>(left, i);
      else if constexpr (detail::is_ones<L>) out[e] = right[j];
      else out[e] = left[i] * right[j];
    }
  }
}

namespace detail {
// act(entry, row, column) for the entries of block q
template <class Act>
[[gnu::always_inline]] inline void each_entry(const csr_tiles& a, index_t q, Act act) {
  for (index_t k = 0; k < a.t.col_blocks; ++k) {
    const tile_entries t = tile_of(a, q, k);
    for (index_t e = t.begin; e < t.end; ++e)
      act(e, t.first_row + row_in_tile(a.place[e]), t.first_col + col_in_tile(a.place[e]));
  }
}
// to[0 .. K) += values[e] * from[0 .. K)
template <class V, class Values> [[gnu::always_inline]] inline void add_row(
    Values values, index_t e, const typename V::value_type* from, index_t K, typename V::value_type* to) {
  each_block<V>(K, [&](const auto& block, auto N, index_t j) __attribute__((always_inline)) {
    unroll<N>([&](auto n) __attribute__((always_inline)) {
      block.put(to + j, n, fma_entry(values, e, block.get(from + j, n), block.get(to + j, n)));
    });
  });
}
} // namespace detail

template <class V, class Values>
void spmm(const csr_tiles& a, block_of_rows b, Values values, const typename V::value_type* B, index_t K,
          typename V::value_type* C) {
  using T = typename V::value_type;
  std::fill(C + a.t.first_row(b.q) * K, C + a.t.first_row(b.q + 1) * K, T(0));
  detail::each_entry(a, b.q, [&](index_t e, index_t i, index_t j) __attribute__((always_inline)) {
    detail::add_row<V>(values, e, B + j * K, K, C + i * K);
  });
}
template <class V, class Values>
void spmm_transposed(const csr_tiles& a, block_of_rows b, Values values, const typename V::value_type* C,
                     index_t K, typename V::value_type* B) {
  detail::each_entry(a, b.q, [&](index_t e, index_t i, index_t j) __attribute__((always_inline)) {
    detail::add_row<V>(values, e, C + i * K, K, B + j * K);
  });
}
template <class V> void sddmm(const csr_tiles& a, block_of_rows b, const typename V::value_type* L,
                              const typename V::value_type* R, index_t K, typename V::value_type* out) {
  using T = typename V::value_type;
  constexpr index_t W = static_cast<index_t>(V::size);
  detail::each_entry(a, b.q, [&](index_t e, index_t i, index_t j) __attribute__((always_inline)) {
    const T *const l = L + i * K, *const r = R + j * K;
    V sum = V(T(0));
    index_t c = 0;
    for (; c + W <= K; c += W) sum = fma(load<V>(l + c), load<V>(r + c), sum);
    if (c < K) sum = fma(load_n<V>(l + c, K - c), load_n<V>(r + c, K - c), sum);
    out[e] = hsum<T>(sum);
  });
}

} // namespace tapeless::cpu
