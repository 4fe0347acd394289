// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// The microkernel whose lanes are channels: a block of rows, each with its own address, times a panel of lanes,
//   c[i][j] = sum_p sum_t a_i[p * a_step + tap[t]] * b[p * b_step + t * b_row + j]
// (addresses instead of copies of patches: M. Dukhan, The Indirect Convolution Algorithm, 2019)
#include "tile.hpp"

namespace tapeless::cpu {

/// At most NV vectors of lanes, and as many rows as leave an address and its sums in registers.
template <class V> struct lane_blocking {
  static constexpr index_t W = static_cast<index_t>(V::size);
  static constexpr int NV = sizeof(V) == 64 ? 4 : 2;
  static constexpr index_t NR = NV * W;
  static constexpr int few = sizeof(V) == 64 ? 1 : 3; // rows that are enough to hide the latency of fma
  static constexpr int rows(int vectors) { return vectors == 1 ? 8 : sizeof(V) == 64 && vectors < 4 ? 8 : 6; }
};

template <class T> struct row_of_lanes {
  const T* from;
  T* to;
};

template <class T> struct panel_of_lanes {
  index_t k, a_step;
  const index_t* tap;
  int taps;
  const T* b;
  index_t b_step, b_row;
  bool add;
};

template <class V, int M, int NV, class T>
[[gnu::noinline]] void lanes_kernel(const panel_of_lanes<T>& s, const row_of_lanes<T> (&row)[M]) {
  constexpr index_t W = static_cast<index_t>(V::size);
  V acc[M][NV];
  const T* a[M];
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i) {
    a[i] = row[i].from;
#pragma GCC unroll 16
    for (int j = 0; j < NV; ++j) acc[i][j] = V(T(0));
  }
  const index_t* const tap = s.tap;
  const index_t taps = s.taps, b_row = s.b_row;
  chain_sums<V, M, NV> sums;
  const auto chain = [&](index_t p, index_t p_end, index_t t0, index_t t_end) __attribute__((always_inline)) {
    for (; p < p_end; ++p) {
      const index_t start = p * s.a_step;
      const T* b = s.b + p * s.b_step + t0 * b_row;
      for (index_t t = t0; t < t_end; ++t, b += b_row) {
        const index_t at = start + tap[t];
        V lane[NV];
#pragma GCC unroll 16
        for (int j = 0; j < NV; ++j) {
          V v = load<V>(b + j * W);
          opaque(v);
          lane[j] = v;
        }
#pragma GCC unroll 16
        for (int i = 0; i < M; ++i) {
          const V x(a[i][at]);
#pragma GCC unroll 16
          for (int j = 0; j < NV; ++j) acc[i][j] = fma(x, lane[j], acc[i][j]);
        }
      }
    }
  };
  in_chains_of_rows(s.k, taps, steps_of_chain<V>(s.k * taps), acc, sums, chain);
  sums.finish(acc);
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 16
    for (int j = 0; j < NV; ++j) {
      T* const q = row[i].to + j * W;
      store(q, s.add ? load<V>(q) + acc[i][j] : acc[i][j]);
    }
}

/// Runs rows at(0) ... at(rows - 1) for `lanes` lanes. The target of a row has room for whole vectors.
template <class V, class T, class At>
void rows_of_lanes(index_t rows, index_t lanes, panel_of_lanes<T> s, const At& at) {
  using B = lane_blocking<V>;
  for (index_t j = 0; j < lanes; j += B::NR, s.b += B::NR)
    unroll<B::NV>([&](auto v) {
      constexpr int NV = v.value + 1, M = B::rows(NV);
      if (ceil_div(std::min(B::NR, lanes - j), B::W) != NV) return;
      T spare[NV * B::W]{}; // for the rows that only fill the last block
      for (index_t i = 0; i < rows; i += M) {
        row_of_lanes<T> block[M];
        for (int m = 0; m < M; ++m) {
          block[m] = at(std::min(i + m, rows - 1));
          block[m].to = i + m < rows ? block[m].to + j : spare;
        }
        lanes_kernel<V, M, NV>(s, block);
      }
    });
}

template <class V> constexpr index_t whole_lanes(index_t n) {
  return round_up(n, static_cast<index_t>(V::size));
}

} // namespace tapeless::cpu
