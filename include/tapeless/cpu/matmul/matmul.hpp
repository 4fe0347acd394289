// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// C[b] = op(A[b]) op(B[b])                       op(A): (m, k)   op(B): (k, n)   C: (batch, m, n), row-major
//
// Narrow shapes have ways of their own, all others are cut into tiles for the team. The order in which an element of C is
// summed is a function of the extents, however many threads there are; k is cut only where C is small and k long.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "../../core/geometry.hpp" // IWYU pragma: export
#include "tile.hpp"                // IWYU pragma: export
#include "../base/team.hpp"

namespace tapeless::cpu {
/// NV vectors of c[j] (+)= sum_p a[p * a_step] * b[p * b_row + j], the last one of n lanes where it is no whole one
template <class V, int NV, bool Whole, class T>
[[gnu::always_inline]] inline void row_panel(index_t k, const T* a, index_t a_step, const T* b, index_t b_row,
                                             T* c, index_t n, bool add) {
  constexpr int W = static_cast<int>(V::size);
  const first_lanes<V> lanes(n);
  const auto at = [&](const T* p, int j) __attribute__((always_inline)) {
    return Whole || j < NV - 1 ? load<V>(p + j * W) : lanes.load(p + j * W);
  };
  V sum[NV];
#pragma GCC unroll 8
  for (int j = 0; j < NV; ++j) sum[j] = V(T(0));
  for (; k > 0; --k, a += a_step, b += b_row) {
    const V x(*a);
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) sum[j] = fma(x, at(b, j), sum[j]);
  }
  if (add) // a test of the loop's own: g++ -O0 warns where it ignores a pragma of a loop with two
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) sum[j] = at(c, j) + sum[j];
#pragma GCC unroll 8
  for (int j = 0; j < NV; ++j)
    if (Whole || j < NV - 1) store(c + j * W, sum[j]);
    else lanes.store(c + j * W, sum[j]);
}
/// c[j] = sum_p a[p * a_step] * b[p * b_row + j], added to c[j] with add, `together` steps of p at a time, in order
template <class V, class T> void rows_in_order(index_t n, index_t k, const T* a, index_t a_step, const T* b,
                                               index_t b_row, T* c, bool add, index_t together) {
  constexpr index_t W = blocking<V>::W;
  for (index_t p = 0; p < k; p += together, a += together * a_step, b += together * b_row) {
    const index_t kb = std::min(together, k - p);
    const bool adds = add || p > 0;
    index_t j = 0;
    for (; j + 8 * W <= n; j += 8 * W) row_panel<V, 8, true>(kb, a, a_step, b + j, b_row, c + j, W, adds);
    for (; j + 4 * W <= n; j += 4 * W) row_panel<V, 4, true>(kb, a, a_step, b + j, b_row, c + j, W, adds);
    if (j == n) continue;
    const index_t vectors = ceil_div(n - j, W), last = n - j - (vectors - 1) * W;
    unroll<4>([&](auto v) __attribute__((always_inline)) {
      constexpr int NV = v.value + 1;
      if (vectors != NV) return;
      if (NV < 4 && last == W) row_panel<V, NV, true>(kb, a, a_step, b + j, b_row, c + j, W, adds);
      else row_panel<V, NV, false>(kb, a, a_step, b + j, b_row, c + j, last, adds);
    });
  }
}
/// c[j] = sum_p a[p * a_step] * b[p * b_row + j], added to c[j] with add
template <class V, class T> void row_times_matrix(index_t n, index_t k, const T* a, index_t a_step,
                                                  const T* b, index_t b_row, T* c, bool add = false) {
  // so many rows at a time: few pages of b are open at once
  const index_t together = b_row * static_cast<index_t>(sizeof(T)) < 4096 ? chain_terms : 8;
  const index_t deep = blocks_in_order * together;
  if (k <= (add ? together : deep)) return rows_in_order<V>(n, k, a, a_step, b, b_row, c, add, together);
  constexpr index_t sweep = 4096 / static_cast<index_t>(sizeof(T)); // a page
  T block[sweep], sum[sweep], lost[sweep];
  for (index_t j = 0; j < n; j += sweep) {
    const index_t wide = std::min(sweep, n - j);
    for (index_t p = 0; p < k; p += deep) {
      rows_in_order<V>(wide, std::min(deep, k - p), a + p * a_step, a_step, b + p * b_row + j, b_row,
                       p == 0 ? sum : block, false, together);
      if (p > 0) add_block<V>(wide, block, sum, lost, p == deep);
    }
    if (k > deep) end_sums<V>(wide, sum, lost);
    for (index_t i = 0; i < wide; ++i) c[j + i] = add ? c[j + i] + sum[i] : sum[i];
  }
}

/// sum[r] = partial sums, lane by lane, of a[p] * b[r * b_row + p] over p; U vectors of p at a time
template <class V, int R, int U, class T>
[[gnu::always_inline]] inline void dots(V (&sum)[R], index_t k, const T* a, const T* b, index_t b_row) {
  constexpr index_t W = blocking<V>::W;
  V acc[R][U];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
    for (int u = 0; u < U; ++u) acc[r][u] = V(T(0));
  chain_sums<V, R, U> sums;
  index_t p = 0;
  in_chains(k / (U * W), chain_terms, acc, sums,
            [&](index_t step, index_t end) __attribute__((always_inline)) {
              for (; step < end; ++step, p += U * W)
#pragma GCC unroll 16
                for (int u = 0; u < U; ++u) {
                  V x = load<V>(a + p + u * W);
                  opaque(x);
#pragma GCC unroll 16
                  for (int r = 0; r < R; ++r)
                    acc[r][u] = fma(x, load<V>(b + r * b_row + p + u * W), acc[r][u]);
                }
            });
  sums.finish(acc);
  for (; p < k; p += W) {
    const first_lanes<V> lanes(std::min(W, k - p));
    const V x = lanes.load(a + p);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) acc[r][0] = fma(x, lanes.load(b + r * b_row + p), acc[r][0]);
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
    for (int u = 1; u < U; ++u) acc[r][0] += acc[r][u];
    sum[r] = acc[r][0];
  }
}

/// c[j] = sum_p a[p] * b[j * b_row + p], added to c[j] with add
template <class V, class T> [[gnu::noinline]] void row_of_dots(index_t n, index_t k, const T* a, const T* b,
                                                               index_t b_row, T* c, bool add = false) {
  constexpr int W = static_cast<int>(V::size), U = W < 8 ? 8 / W : 1;
  // lines that lie a multiple of half a page apart share the sets of a cache: with 8 of them none is pushed out
  const bool crowded = W > 8 && b_row * static_cast<index_t>(sizeof(T)) % 2048 == 0;
  index_t j = 0;
  for (; j + W <= n; j += W) {
    V sum[W];
    const T* const rows = b + j * b_row;
    if constexpr (W > 8) {
      constexpr int H = W / 2;
      V half[H];
      for (int r = 0; crowded && r < W; r += H) {
        dots<V, H, U>(half, k, a, rows + r * b_row, b_row);
        for (int x = 0; x < H; ++x) sum[r + x] = half[x];
      }
    }
    if (!crowded) dots<V, W, U>(sum, k, a, rows, b_row);
    V each = hsum_each(sum);
    if (add) each = each + load<V>(c + j);
    store(c + j, each);
  }
  for (T* to = c + j; j < n; ++j, ++to) {
    V sum[1];
    dots<V, 1, 8>(sum, k, a, b + j * b_row, b_row);
    const T dot = hsum(sum[0]);
    *to = add ? *to + dot : dot;
  }
}

/// c[i * c_row + j] = a[i * a_row] * b[j]
template <class V, class T> [[gnu::noinline]] void outer_product(index_t m, index_t n, const T* a,
                                                                 index_t a_row, const T* b, T* c,
                                                                 index_t c_row) {
  constexpr index_t W = blocking<V>::W;
  for (index_t i = 0; i < m; ++i, a += a_row, c += c_row) {
    const V x(*a);
    index_t j = 0;
    for (; j + 4 * W <= n; j += 4 * W)
      unroll<4>([&](auto u)
                    __attribute__((always_inline)) { store(c + j + u * W, x * load<V>(b + j + u * W)); });
    for (; j + W <= n; j += W) store(c + j, x * load<V>(b + j));
    if (j < n) store_n(c + j, x * load_n<V>(b + j, n - j), n - j);
  }
}

/// So many sums in registers, a vector each.
template <class V> inline constexpr int dots_at_once = sizeof(V) == 64 ? 16 : 8;
/// Dot products of up to M rows of a with up to dots_at_once / M rows of b, each in the same order wherever it stands.
template <class V, int M, class T>
[[gnu::noinline]] void block_of_dots(index_t rows, index_t cols, index_t k, const T* a, index_t a_row,
                                     const T* b, index_t b_row, T* c, index_t c_row, bool add) {
  constexpr int W = static_cast<int>(V::size), S = dots_at_once<V>, R = S / M;
  const T *as[M], *bs[R];
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i) as[i] = a + std::min<index_t>(i, rows - 1) * a_row;
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) bs[r] = b + std::min<index_t>(r, cols - 1) * b_row;
  V acc[1][S];
#pragma GCC unroll 16
  for (int s = 0; s < S; ++s) acc[0][s] = V(T(0));
  const auto step = [&](auto at) __attribute__((always_inline)) {
    V x[M];
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) x[i] = at(as[i]);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      V y = at(bs[r]);
      opaque(y); // M uses of one load
#pragma GCC unroll 16
      for (int i = 0; i < M; ++i) acc[0][i * R + r] = fma(x[i], y, acc[0][i * R + r]);
    }
  };
  chain_sums<V, 1, S> all;
  index_t p = 0;
  in_chains(k / W, chain_terms, acc, all, [&](index_t n, index_t end) __attribute__((always_inline)) {
    for (; n < end; ++n, p += W)
      step([&](const T* q) __attribute__((always_inline)) { return load<V>(q + p); });
  });
  all.finish(acc);
  if (const first_lanes<V> lanes(k - p); p < k)
    step([&](const T* q) __attribute__((always_inline)) { return lanes.load(q + p); });
  T sums[S];
  unroll<S / W>([&](auto g) __attribute__((always_inline)) {
    V part[W];
    unroll<W>([&](auto l) __attribute__((always_inline)) { part[l] = acc[0][g * W + l]; });
    store(sums + g * W, hsum_each(part));
  });
  for (index_t i = 0; i < rows; ++i)
    for (index_t r = 0; r < cols; ++r) {
      T& to = c[i * c_row + r];
      to = add ? to + sums[i * R + r] : sums[i * R + r];
    }
}
/// c[i, j] = sum_p a[i * a_row + p] * b[j * b_row + p]: some rows of b meet all rows of a.
template <class V, class T> void rows_of_dots(index_t rows, index_t cols, index_t k, const T* a,
                                              index_t a_row, const T* b, index_t b_row, T* c, index_t c_row,
                                              bool add) {
  constexpr index_t R = dots_at_once<V> / 4;
  for (index_t j = 0; j < cols; j += 2 * R, b += 2 * R * b_row, c += 2 * R) {
    const index_t n = std::min(2 * R, cols - j);
    for (index_t i = 0; i < rows; i += 4) {
      const index_t m = std::min<index_t>(4, rows - i);
      const T* const at = a + i * a_row;
      T* const to = c + i * c_row;
      if (m <= 2) block_of_dots<V, 2>(m, n, k, at, a_row, b, b_row, to, c_row, add);
      else {
        block_of_dots<V, 4>(m, std::min(R, n), k, at, a_row, b, b_row, to, c_row, add);
        if (n > R) block_of_dots<V, 4>(m, n - R, k, at, a_row, b + R * b_row, b_row, to + R, c_row, add);
      }
    }
  }
}

/// Is a product taken without blocks: one row, or some whose terms lie side by side in both operands?
template <class V, class T>
constexpr bool are_few_rows(index_t rows, index_t k, const matrix<T>& a, const matrix<T>& b) {
  if (rows == 1) return b.col == 1 || a.col == 1;
  constexpr bool wide_lanes = sizeof(V) == 64;
  // beyond so many a copy of b, turned, pays
  const index_t most = k >= 128 ? (wide_lanes ? 32 : 12) : (wide_lanes ? 8 : 4);
  return rows <= most && k >= blocking<V>::W && a.col == 1 && b.col != 1;
}
/// `rows` rows of c = a b, which has `of`, or with add of c += a b, without packing: the way, and so the order of sums, is that
/// of the whole c.
///   @pre are_few_rows(of, k, a, b)
template <class V, class T>
void few_rows(index_t of, index_t rows, index_t cols, index_t k, const matrix<T>& a, const matrix<T>& b, T* c,
              index_t c_row, bool add = false) {
  if (of > 1) rows_of_dots<V>(rows, cols, k, a.p, a.row, b.p, b.col, c, c_row, add);
  else if (b.col == 1) row_times_matrix<V>(cols, k, a.p, a.col, b.p, b.row, c, add);
  else row_of_dots<V>(cols, k, a.p, b.p, b.col, c, add);
}

/// Where c is taken in its columns: so many steps of k at a time, so that all columns of a few rows of a are read before
/// the next rows come; and elements of scratch.
inline constexpr index_t few_columns_steps = least_steps;
template <class V> constexpr index_t few_columns_panels(index_t rows, index_t cols, index_t k) {
  return few_columns_steps * round_up(std::min(rows, blocking<V>::NC), blocking<V>::NR) +
         (k > blocks_in_order * few_columns_steps ? long_sums_scratch(rows, cols) : 0);
}
/// Is c too narrow for vectors of its columns, and do `room` elements suffice for few_columns? It packs k columns of b,
/// or takes c in its columns.
template <class V, class T>
bool are_few_columns(index_t rows, index_t cols, index_t k, const matrix<T>& a, index_t room) {
  constexpr index_t W = blocking<V>::W;
  return cols <= 4 && 2 * cols <= W && rows >= W && k >= W &&
         (a.col == 1 ? cols * k : cols * rows + few_columns_panels<V>(rows, cols, k)) <= room;
}
/// c = a b with vectors along k where rows of a are contiguous, else along the rows of c.
/// W rows of a at a time: the order of sums depends on how many rows are left in the last ones.
///   @pre are_few_columns(rows, cols, k, a, elements of scratch), b has no list
template <class V, class T>
void few_columns(index_t rows, index_t cols, index_t k, const matrix<T>& a, const matrix<T>& b, T* c,
                 index_t c_row, T* scratch, index_t kc) {
  constexpr index_t W = blocking<V>::W, line = 64 / static_cast<index_t>(sizeof(T));
  if (a.col == 1) {
    for (index_t j = 0; j < cols; ++j)
      for (index_t p = 0; p < k; ++p) scratch[j * k + p] = b.p[p * b.row + j * b.col];
    T part[V::size];
    for (index_t i = 0; i < rows; i += W) { // so many rows stay in L1
      const index_t n = std::min(W, rows - i);
      for (index_t r = i + W; r < std::min(rows, i + 2 * W); ++r)
        for (index_t p = 0; p < k; p += line) __builtin_prefetch(a.p + r * a.row + p);
      for (index_t j = 0; j < cols; ++j) {
        row_of_dots<V>(n, k, scratch + j * k, a.p + i * a.row, a.row, part);
        for (index_t x = 0; x < n; ++x) c[(i + x) * c_row + j] = part[x];
      }
    }
  } else {
    T* const columns = scratch + few_columns_panels<V>(rows, cols, k);
    const matrix<T> at{a.p, a.col, a.row, a.list}, bt{b.p, b.col, b.row};
    tile<V>(cols, rows, k, bt, at, columns, rows, scratch, std::min(kc, few_columns_steps));
    for (index_t i = 0; i < rows; ++i)
      for (index_t j = 0; j < cols; ++j) c[i * c_row + j] = columns[j * rows + i];
  }
}

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

/// Elements of one b, the same for all matrices, packed ahead of products of many rows with it; 0: it is read as it is.
template <class T, class V = simd<T>> constexpr index_t matmul_packed(const matmul_extents& e) {
  using B = blocking<V>;
  // From k of 129 on whatever the rows: matmul_packs looks at these.
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

/// Are listed rows packed while they are read?
constexpr bool matmul_reads_lists(const matmul_extents& e) {
  return e.batch == 1 && e.ta && !e.tb && std::min(e.m, e.n) > 2;
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
  if (e.m == 1) e.ta = false;
  if (e.a_batched && !e.b_batched && !e.ta) e.m *= e.batch, e.batch = 1; // rows of all matrices in one
  if (e.n == 1) { // a column vector is a row vector of the transpose
    if (e.m > 1) {
      std::swap(a, b);
      std::swap(e.a_batched, e.b_batched);
      std::swap(e.m, e.n);
      e.tb = !e.ta;
      e.ta = false;
    } else e.tb = true;
  }
  if (e.m == 1 && e.batch == 1 && e.k > 1 && e.k * e.n <= (1 << 18)) { // one small row: the shortest way
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

  // chunks: (batch, slices of k, row blocks, column blocks). No sum depends on the team: slices and kc are functions of
  // the extents.
  constexpr index_t enough = 8, grain = 1 << 21; // slices to aim at; multiplications worth a chunk
  const index_t total = e.batch * e.m * e.n;
  // few rows: b is read once, from few pages at a time, of which no cache holds any yet where it is large
  constexpr index_t bytes = static_cast<index_t>(sizeof(T));
  const bool once = e.m <= B::rows_in_place && !e.tb;
  const bool large = e.k * e.n * bytes >= 1 << 21;
  const index_t kc = !once ? B::KC : large ? 32 : e.n * bytes >= 4096 ? 64 : B::KC;
  const index_t rows = narrow ? 48 : B::MR; // that stay together; 48: vectors of rows, too
  index_t mb = round_up(e.m, rows), nb = round_up(e.n, B::NR), slices = 1;
  if (e.k >= B::long_k && 2 * total <= B::partials)
    slices = std::min({enough, e.k / 2048, B::partials / total});
  else if (e.batch < 4 * team.size() &&
           e.batch % team.size() != 0) { // of each a tile for each member, as equal as can be
    constexpr index_t of_number = 16;    // multiplications, in the time that a number takes from memory
    const index_t work = std::max(e.m * e.n * e.k, of_number * (e.m * e.k + e.k * e.n + e.m * e.n));
    const index_t tiles = std::min<index_t>(team.size(), work / grain);
    index_t least = mb * nb, edges = mb + nb;
    for (index_t r = 1; r <= tiles; ++r) {
      if (tiles % r != 0) continue;
      const index_t high = round_up(ceil_div(e.m, r), rows), wide = round_up(ceil_div(e.n, tiles / r), B::NR);
      if (high * wide > least || (high * wide == least && high + wide >= edges)) continue;
      mb = high, nb = wide, least = high * wide, edges = high + wide;
    }
  }
  const index_t kb = slices == 1 ? e.k : round_up(ceil_div(e.k, slices), B::KC);
  const index_t row_tiles = ceil_div(e.m, mb), col_tiles = ceil_div(e.n, nb);
  slices = ceil_div(e.k, kb);
  T* const target = slices == 1 ? c : shared; // (slices, batch, m, n)

  team.run(e.batch * slices * row_tiles * col_tiles, [&](index_t chunk, int member) {
    const index_t j = chunk % col_tiles * nb, i = chunk / col_tiles % row_tiles * mb;
    const index_t rest = chunk / (col_tiles * row_tiles), p = rest % slices * kb, z = rest / slices;
    const auto as = matrix<T>{a + (e.a_batched ? z * e.m * e.k : 0), am.row, am.col, am.list}.at(i, p);
    const auto bs = matrix<T>{b + (e.b_batched ? z * e.k * e.n : 0), bm.row, bm.col, bm.list}.at(p, j);
    T* const cs = target + rest % slices * total + z * e.m * e.n + i * e.n + j;
    const index_t high = std::min(mb, e.m - i), wide = std::min(nb, e.n - j), deep = std::min(kb, e.k - p);
    if (e.k == 1) outer_product<V>(high, wide, as.p, as.row, bs.p, cs, e.n);
    else if (few) few_rows<V>(e.m, high, wide, deep, as, bs, cs, e.n);
    else if (narrow) few_columns<V>(high, wide, deep, as, bs, cs, e.n, scratch + member * each, kc);
    else
      tile<V>(high, wide, deep, as, bs, cs, e.n, scratch + member * each, kc,
              packed ? packed + j * e.k + p * B::NR : nullptr, e.k);
  });
  if (slices > 1) add_slices<V>(team, slices, total, shared, c);
}

} // namespace tapeless::cpu
