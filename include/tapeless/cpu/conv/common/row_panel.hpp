// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// The microkernel whose lanes are channels: a block of rows, each with its own address, times a panel of lanes,
//   y_i[j] (+)= sum over (p, t) of x_i[at(p, t)] * b[p, t, j]
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

/// The register tile: M rows, each with its own address, times a panel of NV vectors of lanes,
///   row[i].to[j] (+)= sum over the terms of the panel of row[i].from[at] * b[j]
/// The panel has s.outer * s.inner terms. s.each_term(i, i_end, j, j_end, width, term) calls term(at, b) for those of
/// outer index [i, i_end) and inner index [j, j_end); `width` is NV vectors. If the panel is `partial`, the last vector
/// of a row has s.last lanes.
template <class V, int M, int NV, class T, class Panel>
[[gnu::noinline]] void rows_kernel(const row_of_lanes<T> (&row)[M], const Panel& s) {
  constexpr index_t W = static_cast<index_t>(V::size);
  V acc[M][NV];
  const T* a[M];
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i) {
    a[i] = row[i].from;
#pragma GCC unroll 16
    for (int j = 0; j < NV; ++j) acc[i][j] = V(T(0));
  }
  const auto term = [&](index_t at, const T* b) __attribute__((always_inline)) {
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
  };
  chain_sums<V, M, NV> sums;
  in_chains_of_rows(s.outer, s.inner, steps_of_chain<V>(s.outer * s.inner), acc, sums,
                    [&](index_t i, index_t i_end, index_t j, index_t j_end)
                        __attribute__((always_inline)) { s.each_term(i, i_end, j, j_end, NV * W, term); });
  sums.finish(acc);
  const index_t last = [&] {
    if constexpr (Panel::partial) return s.last;
    else return W;
  }();
  const first_lanes<V> lanes(last);
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 16
    for (int j = 0; j < NV; ++j) {
      T* const q = row[i].to + j * W;
      if (j < NV - 1 || last == W) store(q, s.add ? load<V>(q) + acc[i][j] : acc[i][j]);
      else lanes.store(q, s.add ? lanes.load(q) + acc[i][j] : acc[i][j]);
    }
}

/// sum_p sum_t a_i[p * a_step + tap[t]] * b[p * b_step + t * b_row + j]      p < outer, t < inner
template <class T> struct panel_of_lanes {
  static constexpr bool partial = false;
  index_t outer, a_step;
  const index_t* tap;
  index_t inner;
  const T* b;
  index_t b_step, b_row;
  bool add;

  template <class Term> [[gnu::always_inline]] void each_term(index_t p, index_t p_end, index_t t0,
                                                              index_t t_end, index_t,
                                                              const Term& term) const {
    const index_t* const taps = tap;
    const index_t next = b_row;
    for (; p < p_end; ++p) {
      const index_t start = p * a_step;
      const T* q = b + p * b_step + t0 * next;
      for (index_t t = t0; t < t_end; ++t, q += next) term(start + taps[t], q);
    }
  }
};

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
        rows_kernel<V, M, NV>(block, s);
      }
    });
}

template <class V> constexpr index_t whole_lanes(index_t n) {
  return round_up(n, static_cast<index_t>(V::size));
}

} // namespace tapeless::cpu
