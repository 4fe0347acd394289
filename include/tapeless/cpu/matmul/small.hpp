// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Products whose extents are compile-time constants, and so small that a call, a packed panel or an empty half of a
// vector would cost more than the multiplications.                 C[b] = op(A[b]) op(B[b])
//
// One function for each (m, n, k, transposed or not): loop bounds and offsets are constants. An element of C is summed
// in the order of k, as in matmul.hpp. There are two exceptions: if C is very small a sum has several chains, and if C
// is narrow a dot product has a chain for each lane.
#include <algorithm>

#include "matmul.hpp"
#include "../base/partial_vector.hpp"

namespace tapeless::cpu {

struct small_product {
  int size = 4; // bytes of an element
  int m = 0, n = 0, k = 0;
  bool ta = false, tb = false;
  bool exchanged = false; // (op(B)^T op(A)^T)^T: vectors along the rows of a narrow C

  // of the machine's vectors
  constexpr int lanes() const { return static_cast<int>(sizeof(simd<float>)) / size; }
};

/// How C is cut: `rows` blocks of rows by `cols` blocks of vectors, both of nearly equal size.
struct small_blocks {
  int lanes = 0, vectors = 0; // of a vector; of a row of C
  int rows = 1, cols = 1;
  int chains = 1; // of each sum
};
// Vectors are narrower than the machine's if C is. In a step of k a block takes a multiplication for each of its
// vectors of C, or a load for each of its rows and columns. Its begin and its end take as long as two steps.
constexpr small_blocks blocks_of(const small_product& s) {
  constexpr int registers = sizeof(simd<float>) == 64 ? 32 : 16;
  const int W = s.lanes();
  small_blocks best;
  best.lanes = W;
  while (best.lanes * s.size > 16 && best.lanes / 2 >= s.n) best.lanes /= 2;
  best.vectors = static_cast<int>(ceil_div(s.n, best.lanes));
  const int together = best.lanes == W ? 1 : 2; // multiplications and loads per cycle
  index_t least = 0;
  for (int wide = 1; wide <= std::min(best.vectors, s.m == 1 ? 8 : 4); ++wide) {
    const int cols = static_cast<int>(ceil_div(best.vectors, wide)),
              nv = static_cast<int>(ceil_div(best.vectors, cols));
    const int high = std::min(s.m, std::max(1, (registers - 2 - nv) / nv));
    const int rows = static_cast<int>(ceil_div(s.m, high)), mr = static_cast<int>(ceil_div(s.m, rows));
    const int step = std::max(std::max(mr * nv, mr + nv), 4 * together);
    const index_t time = index_t{rows} * cols * (index_t{step} * s.k + 2 * mr * nv);
    if (least == 0 || time < least) {
      least = time;
      best.rows = rows;
      best.cols = cols;
      best.chains = std::max(1, std::min(8 / (mr * nv), s.k / 4));
    }
  }
  return best;
}

/// c[i, j] = sum_p a[i * a_row + p * a_step] * b[p * b_row + j * b_col]: M rows, NV vectors of N lanes. The last
/// vector has Last lanes; in b all N if Padded.   @pre K >= Chains
template <class T, int M, int NV, int N, int Last, int Chains, int K, int ARow, int AStep, int BRow, int BCol,
          bool Padded>
[[gnu::always_inline]] inline void small_block(const T* a, const T* b, T* c, int c_row) {
  using V = partial_vector<T, N>;
  V acc[Chains][M][NV];
  const auto step = [&](int p, auto chain, auto first) __attribute__((always_inline)) {
    V row[NV];
    unroll<NV>([&](auto j) __attribute__((always_inline)) {
      constexpr int L = j == NV - 1 && !Padded ? Last : N;
      const T* const from = b + p * BRow + j * (N * BCol);
      if constexpr (BCol == 1) row[j] = load_lanes<T, N, L>(from);
      else
        row[j] = pack_lanes<T, N>(
            [&](int i) __attribute__((always_inline)) { return i < L ? from[i * BCol] : T(0); });
    });
    unroll<M>([&](auto i) __attribute__((always_inline)) {
      const T s = a[i * ARow + p * AStep];
      const V x = pack_lanes<T, N>([&](int) __attribute__((always_inline)) { return s; });
      unroll<NV>([&](auto j) __attribute__((always_inline)) {
        V& sum = acc[chain][i][j];
        if constexpr (first) sum = x * row[j];
        else sum = fma_lanes<T, N>(x, row[j], sum);
      });
    });
  };
  constexpr int rest = K % Chains, whole = K - rest,
                block = Chains * static_cast<int>(steps_of_chain<simd<T>>(K));
  V kept[M][NV]{}; // in memory: the sums of blocks
  for (int first = 0;;) {
    unroll<Chains>([&](auto t) __attribute__((always_inline)) { step(first + t, t, std::true_type{}); });
    const int end = std::min(whole, first + block);
    for (int p = first + Chains; p < end; p += Chains)
      unroll<Chains>([&](auto t) __attribute__((always_inline)) { step(p + t, t, std::false_type{}); });
    first += block;
    if (first >= whole) break;
    unroll<M>([&](auto i) __attribute__((always_inline)) {
      unroll<NV>([&](auto j) __attribute__((always_inline)) {
        V sum = acc[0][i][j];
        unroll<Chains - 1>([&](auto t) __attribute__((always_inline)) { sum += acc[t + 1][i][j]; });
        kept[i][j] = kept[i][j] + sum;
      });
    });
  }
  unroll<rest>([&](auto t) __attribute__((always_inline)) { step(K - rest + t, t, std::false_type{}); });
  unroll<M>([&](auto i) __attribute__((always_inline)) {
    unroll<NV>([&](auto j) __attribute__((always_inline)) {
      V sum = acc[0][i][j];
      unroll<Chains - 1>([&](auto t) __attribute__((always_inline)) { sum += acc[t + 1][i][j]; });
      if constexpr (whole > block) sum = kept[i][j] + sum;
      store_lanes<T, N, j == NV - 1 ? Last : N>(c + i * c_row + j * N, sum);
    });
  });
}

/// Are the rows of op(b) read lane by lane from the columns of b?
constexpr bool reads_columns(const small_product& s) {
  return s.tb && blocks_of(s).rows == 1 && s.n * s.k <= 128;
}
/// Is each element of C a dot product of two rows in memory?
constexpr bool takes_dots(const small_product& s) {
  return s.tb && !s.ta && s.m <= 4 && s.k * s.size >= 16 && !reads_columns(s);
}
/// Elements of op(B) packed as rows of whole vectors. Each is written with a whole vector of the machine.
constexpr int small_panel(const small_product& s) {
  const small_blocks b = blocks_of(s);
  return (s.k * b.vectors - 1) * b.lanes + s.lanes();
}

template <small_product S, class T, int BRow, int BCol, bool Padded = false>
[[gnu::always_inline]] inline void small_blocks_of(const T* a, const T* b, T* c) {
  constexpr small_blocks B = blocks_of(S);
  constexpr int N = B.lanes, Last = S.n - (B.vectors - 1) * N, chains = B.chains,
                blocks = B.rows - S.m % B.rows;
  constexpr int mr = S.m / B.rows, more_rows = S.m % B.rows;
  constexpr int nv = B.vectors / B.cols, more_vectors = B.vectors % B.cols;
  const auto columns = [&](auto vectors, auto last, int first, int count) __attribute__((always_inline)) {
    for (int x = 0; x < count; ++x) {
      const int j = (first + x * vectors) * N;
      const auto rows = [&](auto high, int from, int number) __attribute__((always_inline)) {
        for (int i = from; i < from + number * high; i += high)
          small_block<T, high, vectors, N, last, chains, S.k, S.ta ? 1 : S.k, S.ta ? S.m : 1, BRow, BCol,
                      Padded>(a + i * (S.ta ? 1 : S.k), b + j * BCol, c + i * S.n + j, S.n);
      };
      if constexpr (more_rows > 0) rows(std::integral_constant<int, mr + 1>{}, 0, more_rows);
      rows(std::integral_constant<int, mr>{}, more_rows * (mr + 1), blocks);
    }
  };
  using whole = std::integral_constant<int, B.lanes>;
  using last = std::integral_constant<int, Last>;
  using count = std::integral_constant<int, nv>;
  if constexpr (more_vectors > 0) columns(std::integral_constant<int, nv + 1>{}, whole{}, 0, more_vectors);
  constexpr int at = more_vectors * (nv + 1), left = B.cols - more_vectors;
  if constexpr (Last == N) columns(count{}, whole{}, at, left);
  else {
    if constexpr (left > 1) columns(count{}, whole{}, at, left - 1);
    columns(count{}, last{}, at + (left - 1) * nv, 1);
  }
}

/// b: (n, k)   packed: (k, n), rows of whole vectors
template <small_product S, class T> void small_pack(const T* b, T* packed) {
  constexpr small_blocks B = blocks_of(S);
  transpose<simd<T>, true>(S.n, S.k, b, S.k, packed, B.vectors * B.lanes);
}

/// panel: nullptr, or what small_pack has made of b.
template <small_product S, class T>
[[gnu::noinline]] void small_matmul(const T* a, const T* b, T* c, const T* panel) {
  if constexpr (!S.tb) small_blocks_of<S, T, S.n, 1>(a, b, c);
  else if constexpr (reads_columns(S)) small_blocks_of<S, T, 1, S.k>(a, b, c);
  else if constexpr (takes_dots(S))
    few_rows<simd<T>>(S.m, S.m, S.n, S.k, matrix<T>{a, S.k, 1}, matrix<T>{b, 1, S.k}, c, S.n);
  else {
    constexpr small_blocks B = blocks_of(S);
    alignas(64) T mine[small_panel(S)];
    if (!panel) small_pack<S>(b, mine);
    small_blocks_of<S, T, B.vectors * B.lanes, 1, true>(a, panel ? panel : mine, c);
  }
}

/// The small product of these extents; m == 0: it is not small. Unknown extents are `many`.
constexpr small_product small_product_of(matmul_extents e, int size) {
  constexpr index_t most = 1 << 18, bytes_of_b = 1 << 15;   // it stays in L1
  if (e.a_batched && !e.b_batched && !e.ta) e.m *= e.batch; // rows of all matrices in one
  if (e.m < 1 || e.n < 1 || e.k < 1 || e.m > most || e.n > most || e.k > most || e.m * e.n > most ||
      e.m * e.n * e.k > most)
    return {};
  const int m = static_cast<int>(e.m), n = static_cast<int>(e.n), k = static_cast<int>(e.k);
  small_product s{size, m, n, k, e.ta, e.tb};
  if (n == 1 || (n <= 4 && 2 * n <= s.lanes() && m >= s.lanes() && m * n * size <= bytes_of_b))
    s = {size, n, m, k, !e.tb, !e.ta, true};
  if (s.m == 1) s.ta = false;
  if (s.k > blocks_in_order * chain_terms && !takes_dots(s)) return {};
  return size * std::max(s.k * s.n, s.tb ? small_panel(s) : 0) > bytes_of_b ? small_product{} : s;
}

/// Elements of b packed ahead of all products with it; 0: b is read in place.
constexpr index_t small_packed(const small_product& s) {
  return s.tb && !s.exchanged && !reads_columns(s) && !takes_dots(s) ? small_panel(s) : 0;
}

/// c = op(a) op(b) over the batch of e, whose other extents are those of S.   packed: nullptr, or small_packed elements
template <small_product S, class T, team Team>
void matmul_small(const Team& team, const matmul_extents& e, const T* a, const T* b, T* c, const T* packed) {
  const index_t matrices = e.a_batched && !e.b_batched && !e.ta ? 1 : e.batch,
                each = index_t{S.m} * S.n * S.k;
  const auto one = [&](index_t z) {
    const T *const x = a + (e.a_batched ? z * e.m * e.k : 0), *const y =
                                                                  b + (e.b_batched ? z * e.k * e.n : 0);
    T* const to = c + z * e.m * e.n;
    if constexpr (S.exchanged && S.m > 1 && S.tb && S.k >= S.lanes()) {
      alignas(64) T rows[S.m * S.k];
      const matrix<T> am{x, S.k, 1}, bm{y, e.tb ? 1 : S.m, e.tb ? S.k : 1};
      few_columns<simd<T>>(S.n, S.m, S.k, am, bm, to, S.m, rows, S.k);
    } else if constexpr (S.exchanged && S.m > 1) {
      alignas(64) T columns[S.m * S.n];
      small_matmul<S, T>(y, x, columns, nullptr);
      for (int j = 0; j < S.n; ++j)
        for (int i = 0; i < S.m; ++i) to[j * S.m + i] = columns[i * S.n + j];
    } else if constexpr (S.exchanged) small_matmul<S, T>(y, x, to, nullptr);
    else small_matmul<S, T>(x, y, to, packed);
  };
  if (matrices * each <= 1 << 18) {
    for (index_t z = 0; z < matrices; ++z) one(z);
    return;
  }
  const index_t together = ceil_div(1 << 16, each); // matrices of a chunk
  team.run(ceil_div(matrices, together), [&](index_t chunk, int) {
    for (index_t z = chunk * together; z < std::min(matrices, (chunk + 1) * together); ++z) one(z);
  });
}

} // namespace tapeless::cpu
