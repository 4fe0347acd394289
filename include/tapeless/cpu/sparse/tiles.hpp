// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Tiled matrices (core/csr_tiles.hpp): the products of one block of rows. For the entries e of block q at (i, j):
//   spmv             y[i] = sum values[e] * x[j]           spmm             C[i,:] = sum values[e] * B[j,:]
//   spmv_transposed  g[j] += values[e] * r[i]              spmm_transposed  B[j,:] += values[e] * C[i,:]
//   spread           out[e] = l[i] * x[j]                  sddmm            out[e] = <L[i,:], R[j,:]>
// x, g, B and R have all columns. y, r, l, C and L are indexed by the row of the matrix, out and values by the entry.
// In spmm_transposed the rows of B and C are `stride` elements apart: the K columns may be a part of them. A sum has
// one order for a given matrix and K.
#include "../../core/csr_tiles.hpp"
#include "../base/partial_vector.hpp"
#include "../base/simd.hpp"
#include "csr.hpp"
#include "product.hpp"

namespace tapeless::cpu {

struct csr_tiles {
  detail::tiling t;
  const std::int32_t* end;     // (M)
  const std::int32_t* numbers; // (entries)

  index_t begin(index_t q, index_t k) const {
    const index_t at = t.first_row(q) + k;
    return at == 0 ? 0 : end[at - 1];
  }
  // entries and rows before block q
  index_t before(index_t q) const { return begin(q, 0) + t.first_row(q); }
};

/// First block of chunk `chunk` of `chunks`, as in chunk_of_rows: a chunk exceeds its share by less than two blocks.
inline index_t chunk_of_blocks(const csr_tiles& a, index_t nnz, index_t chunk, index_t chunks) {
  return begin_of_share(nnz + a.t.rows, a.t.row_blocks, chunk, chunks,
                        [&](index_t q) { return a.before(q); });
}

/// In place of `every_row`: the rows of block q.
struct block_of_rows {
  index_t q;
  constexpr index_t operator()(index_t k) const { return k; }
};

// Tile (q, k): its entries, and its first row and column.
struct tile_entries {
  index_t begin, end, first_row, first_col;
};
inline tile_entries tile_of(const csr_tiles& a, index_t q, index_t k) {
  return {a.begin(q, k), a.end[a.t.first_row(q) + k], a.t.first_row(q), a.t.first_col(k)};
}
using detail::number_in_tile;

// Four columns of a tile with one load. A template, so that programs without tiles do not compile it.
template <int N = 4> columns_of_group<N> load_columns_of_tile(const std::int32_t* tile, index_t e) {
  static_assert(N == 4);
  std::uint64_t four;
  std::memcpy(&four, reinterpret_cast<const char*>(tile) + 2 * e, sizeof four);
  constexpr bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
  columns_of_group<N> c;
  unroll<N>([&](auto l) __attribute__((always_inline)) {
    c.j[l] = static_cast<index_t>(four >> (16 * (little ? l : N - 1 - l)) & 0xffffu);
  });
  return c;
}

// to[row] += values[e] * from[column] for the n entries of a tile; transposed: to[column] += values[e] * from[row]
// values and from may be `ones`. It is not inlined: more pointers than these do not fit into registers.
template <bool Transposed, class T, class Values, class From>
[[gnu::noinline]] void add_products(const std::int32_t* tile, Values values, index_t n, From from,
                                    T* __restrict to) {
  using detail::length_of_segment, detail::row_of_segment;
  constexpr int lanes = detail::lanes_of_tile, L = narrow_width<T>, parts = lanes / L;
  constexpr index_t ahead = 512;
  const auto number = [&](index_t k) { return index_t{number_in_tile(tile, n + k)}; };
  for (index_t e = 0, k = 0; e < n; k += lanes) {
    const index_t length = length_of_segment(number(k));
    // n - e >= 8: as many numbers are left
    if (n - e >= lanes && length_of_segment(number(k + lanes - 1)) == length) {
      narrow<T> of_rows[parts]{}; // transposed: the factors of the rows; else their sums
      if constexpr (Transposed && !is_ones<From>)
        unroll<parts>([&](auto part) __attribute__((always_inline)) {
          of_rows[part] = pack_narrow<T>([&](int l) __attribute__((always_inline)) {
            return from[row_of_segment(number(k + part * L + l))];
          });
        });
      for (const index_t end = e + lanes * length; e < end; e += lanes) {
        prefetch_at(tile, (e + ahead) / 2);
        prefetch_at(values, e + ahead);
        columns_of_group<4> c[2];
        if constexpr (Transposed || !is_ones<From>) {
          c[0] = load_columns_of_tile(tile, e);
          c[1] = load_columns_of_tile(tile, e + 4);
        }
        const auto column = [&](int l) __attribute__((always_inline)) { return c[l / 4].j[l % 4]; };
        unroll<parts>([&](auto part) __attribute__((always_inline)) {
          constexpr int first = part * L;
          narrow<T> p;
          if constexpr (is_ones<Values>) p = narrow<T>{} + T(1);
          else p = load_narrow(values + e + first);
          if constexpr (Transposed) {
            if constexpr (!is_ones<From>) p *= of_rows[part];
            unroll<L>([&](auto l) __attribute__((always_inline)) { to[column(first + l)] += p[int{l}]; });
          } else if constexpr (is_ones<From>) of_rows[part] += p;
          else
            of_rows[part] = fma_narrow<T>(
                pack_narrow<T>([&](int l) __attribute__((always_inline)) { return from[column(first + l)]; }),
                p, of_rows[part]);
        });
      }
      if constexpr (!Transposed)
        unroll<lanes>([&](auto l) __attribute__((always_inline)) {
          to[row_of_segment(number(k + l))] += of_rows[l / L][l % L];
        });
      continue;
    }
    for (index_t p = 0, used = std::min<index_t>(lanes, n - k); p < length; ++p) { // of several lengths
      while (length_of_segment(number(k + used - 1)) <= p) --used;
      for (index_t l = 0; l < used; ++l, ++e) {
        const index_t i = row_of_segment(number(k + l)), j = number_in_tile(tile, e);
        T& sum = to[Transposed ? j : i];
        if constexpr (is_ones<From>) sum += entry<T>(values, e);
        else sum += entry<T>(values, e) * from[Transposed ? i : j];
      }
    }
  }
}

template <class V, class Values, class X>
void spmv(const csr_tiles& a, block_of_rows b, Values values, X x, typename V::value_type* y) {
  using T = typename V::value_type;
  const index_t lo = a.t.first_row(b.q);
  std::fill(y + lo, y + a.t.first_row(b.q + 1), T(0));
  for (index_t k = 0; k < a.t.col_blocks; ++k) {
    const tile_entries t = tile_of(a, b.q, k);
    add_products<false>(a.numbers + t.begin, starting_at(values, t.begin), t.end - t.begin,
                        starting_at(x, t.first_col), y + lo);
  }
}

// The last tile comes first: in a sweep it is the one that has just been read.
template <class V, class Values, class R>
void spmv_transposed(const csr_tiles& a, block_of_rows b, Values values, R r, typename V::value_type* g) {
  for (index_t k = a.t.col_blocks; k-- > 0;) {
    const tile_entries t = tile_of(a, b.q, k);
    add_products<true>(a.numbers + t.begin, starting_at(values, t.begin), t.end - t.begin,
                       starting_at(r, t.first_row), g + t.first_col);
  }
}

// Calls act(row, length, entry, column) for the segments of block q: entry(p) and column(p) are those of its p-th
// entry.
template <class Act> [[gnu::always_inline]] inline void each_segment(const csr_tiles& a, index_t q, Act act) {
  for (index_t k = 0; k < a.t.col_blocks; ++k) {
    const tile_entries t = tile_of(a, q, k);
    const std::int32_t* const tile = a.numbers + t.begin;
    detail::each_segment(tile, t.end - t.begin, [&](index_t row, index_t length, auto place) {
      act(
          t.first_row + row, length, [&](index_t p) { return t.begin + place(p); },
          [&](index_t p) { return t.first_col + number_in_tile(tile, place(p)); });
    });
  }
}
// Calls act(entry, row, column) for the entries of block q.
template <class Act> [[gnu::always_inline]] inline void each_entry(const csr_tiles& a, index_t q, Act act) {
  each_segment(a, q, [&](index_t row, index_t length, auto entry, auto column) {
    for (index_t p = 0; p < length; ++p) act(entry(p), row, column(p));
  });
}
template <class V, class L, class X>
void spread(const csr_tiles& a, block_of_rows b, L l, X x, typename V::value_type* out) {
  using T = typename V::value_type;
  each_entry(a, b.q, [&](index_t e, index_t i, index_t j) __attribute__((always_inline)) {
    if constexpr (is_ones<X>) out[e] = entry<T>(l, i);
    else if constexpr (is_ones<L>) out[e] = x[j];
    else out[e] = l[i] * x[j];
  });
}

template <class V, class Values>
void spmm(const csr_tiles& a, block_of_rows b, Values values, const typename V::value_type* B, index_t K,
          typename V::value_type* C) {
  using T = typename V::value_type;
  std::fill(C + a.t.first_row(b.q) * K, C + a.t.first_row(b.q + 1) * K, T(0));
  each_segment(a, b.q, [&](index_t i, index_t length, auto entry, auto column) {
    each_block<V>(K, [&](const auto& block, auto N, index_t j) __attribute__((always_inline)) {
      V sum[N];
      unroll<N>([&](auto n) __attribute__((always_inline)) { sum[n] = block.get(C + i * K + j, n); });
      for (index_t p = 0; p < length; ++p) {
        const T* const from = B + column(p) * K + j;
        unroll<N>([&](auto n) __attribute__((always_inline)) {
          sum[n] = fma_entry(values, entry(p), block.get(from, n), sum[n]);
        });
      }
      unroll<N>([&](auto n) __attribute__((always_inline)) { block.put(C + i * K + j, n, sum[n]); });
    });
  });
}
template <class V, class Values>
void spmm_transposed(const csr_tiles& a, block_of_rows b, Values values, const typename V::value_type* C,
                     index_t K, index_t stride, typename V::value_type* B) {
  using T = typename V::value_type;
  each_segment(a, b.q, [&](index_t i, index_t length, auto entry, auto column) {
    each_block<V>(K, [&](const auto& block, auto N, index_t j) __attribute__((always_inline)) {
      V c[N];
      unroll<N>([&](auto n) __attribute__((always_inline)) { c[n] = block.get(C + i * stride + j, n); });
      for (index_t p = 0; p < length; ++p) {
        T* const to = B + column(p) * stride + j;
        unroll<N>([&](auto n) __attribute__((always_inline)) {
          block.put(to, n, fma_entry(values, entry(p), c[n], block.get(to, n)));
        });
      }
    });
  });
}
template <class V> void sddmm(const csr_tiles& a, block_of_rows b, const typename V::value_type* L,
                              const typename V::value_type* R, index_t K, typename V::value_type* out) {
  using T = typename V::value_type;
  constexpr index_t W = static_cast<index_t>(V::size);
  each_entry(a, b.q, [&](index_t e, index_t i, index_t j) __attribute__((always_inline)) {
    const T *const l = L + i * K, *const r = R + j * K;
    V sum = V(T(0));
    index_t c = 0;
    for (; c + W <= K; c += W) sum = fma(load<V>(l + c), load<V>(r + c), sum);
    if (c < K) sum = fma(load_n<V>(l + c, K - c), load_n<V>(r + c, K - c), sum);
    out[e] = hsum<T>(sum);
  });
}

} // namespace tapeless::cpu
