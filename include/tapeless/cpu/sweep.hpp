// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// A sweep: products with one sparse matrix and the fused steps between them pass over some rows before the next rows
// come, so that the entries of a row are read from memory once. A product alone is a sweep of one step.
//
// The rows are cut into chunks by their entries; sums over rows, A^T r and the reductions of fused steps, are taken chunk
// by chunk and added in the order of the chunks. In a sweep that multiplies x and sums g, both by columns, x and g
// alternate in memory, so that one cache line serves both: (x_0, g_0, x_1, g_1, ...), a copy for each chunk.
#pragma once
#include "sparse.hpp"
#include "strip.hpp"

namespace tapeless::cpu {

using tapeless::detail::is_sparse;

template <class Arch, const auto& P, int First> class sweep {
  static constexpr int steps = steps_of_strip<P>(First);
  using T = lanes_of_step<P, First>;
  using V = simd<T>;
  static constexpr bool multiplies(int i) { return is_sparse(P.step_[i].o) && !sums(i); }
  static constexpr bool sums(int i) { return is_sparse(P.step_[i].o) && P.step_[i].partials > 0; }
  static constexpr bool first_is_ones(int i) {
    return (P.step_[i].attr & tapeless::detail::first_is_ones) != 0;
  }
  static constexpr bool second_is_ones(int i) {
    return (P.step_[i].attr & tapeless::detail::second_is_ones) != 0;
  }
  // operand 1 or 2 of the op, among the step's slots
  static constexpr int slot_of(int i, int operand) { return operand == 1 || first_is_ones(i) ? 2 : 3; }
  static constexpr bool is_vector(int i) {
    const step& s = P.step_[i];
    for (int k = 2; k < s.loads + s.stores; ++k)
      if (P.slot_[s.slot0 + k].s.rank != 1) return false;
    return true;
  }
  // The product that x alternates with the sums of step i, and the other way round; -1: none does.
  static constexpr bool multiplies_a_vector(int i) {
    return P.step_[i].o == op::spmm && multiplies(i) && !second_is_ones(i) && is_vector(i);
  }
  static constexpr int partner(int i) {
    const bool by_sums = sums(i);
    int n = 0;
    for (int k = First; k < i; ++k)
      n += by_sums ? sums(k) && is_vector(k) && P.step_[k].strip : multiplies_a_vector(k);
    if (by_sums ? !is_vector(i) || !P.step_[i].strip : !multiplies_a_vector(i)) return -1;
    for (int k = First; k < First + steps; ++k)
      if ((by_sums ? multiplies_a_vector(k) : sums(k) && is_vector(k) && P.step_[k].strip) && n-- == 0)
        return k;
    return -1;
  }
  static constexpr index_t stride_of(int i) { return partner(i) >= 0 ? 2 : 1; }

  static T* partial(const frame<P>& f, int i) {
    return static_cast<T*>(f.step[i].slot[of_partial(i)].data());
  }
  static constexpr int of_partial(int i) { return P.step_[i].partial0 - P.step_[i].slot0; }
  static constexpr int of_result(int i) { return P.step_[i].loads; }
  static index_t results(const frame<P>& f, int i) {
    const shape& s = f.step[i].slot[of_result(i)].s;
    return product(s, 0, s.rank);
  }

  struct cut {
    csr_rows a;
    index_t rows, nnz, chunks, tile;
  };
  static cut cut_of(const frame<P>& f) {
    const frame_slot* const slot = f.step[First].slot;
    cut r{
        {static_cast<const std::int32_t*>(slot[1].data()), static_cast<const std::int32_t*>(slot[0].data())},
        slot[1].s.d[0],
        slot[0].s.d[0],
        1,
        1};
    index_t summed = 0, most = tapeless::detail::max_row_chunks;
    for (int i = First; i < First + steps; ++i)
      if (sums(i)) {
        summed += stride_of(i) * results(f, i);
        if (!is_vector(i)) most = tapeless::detail::max_row_chunks_of_matrices;
      }
    r.chunks = row_chunks(r.rows, r.nnz, summed, most);
    r.tile = r.rows == 0 ? 1 : rows_of_tile(r.rows, r.nnz);
    return r;
  }

  // ahead of a chunk: sums are 0, and x stands beside them
  template <int I> static void begin_chunk(const frame<P>& f, index_t chunk) {
    if constexpr (sums(I)) {
      constexpr index_t stride = stride_of(I);
      const index_t n = results(f, I);
      T* const g = partial(f, I) + chunk * stride * n;
      if constexpr (stride == 1) std::fill_n(g, n, T(0));
      else {
        constexpr int from = partner(I);
        const T* const x = static_cast<const T*>(f.step[from].slot[slot_of(from, 2)].data());
        for (index_t j = 0; j < n; ++j) {
          g[2 * j] = x[j];
          g[2 * j + 1] = T(0);
        }
      }
    }
  }
  template <int I> static void combine(const frame<P>& f, index_t chunks, index_t lo, index_t hi) {
    if constexpr (sums(I)) {
      constexpr index_t stride = stride_of(I);
      const index_t n = results(f, I);
      const T* const part = partial(f, I) + (stride - 1);
      T* const y = static_cast<T*>(f.step[I].slot[of_result(I)].data());
      for (index_t j = lo; j < hi && j < n; ++j) {
        T sum = part[stride * j];
        for (index_t c = 1; c < chunks; ++c) sum += part[stride * (c * n + j)];
        y[j] = sum;
      }
    }
  }
  template <int I> static void clear(const frame<P>& f) {
    if constexpr (P.step_[I].fused) stores_of_step<P, I>::clear(f.step[I]);
    else if constexpr (sums(I))
      std::fill_n(static_cast<T*>(f.step[I].slot[of_result(I)].data()), results(f, I), T(0));
  }

  // The factors of a product: a pointer, or the ones that it stands without.
  template <int I, int Operand> static auto factor(const frame<P>& f, const strip_rows& r) {
    constexpr bool absent = Operand == 1 ? first_is_ones(I) : second_is_ones(I);
    if constexpr (absent) return ones{};
    else return static_cast<const T*>(base_of<P, I>(f, slot_of(I, Operand), r));
  }
  template <int I, class Rows> [[gnu::always_inline]] static inline void run_rows(const frame<P>& f,
                                                                                  const cut& c,
                                                                                  const Rows& rows,
                                                                                  const strip_rows& r) {
    if constexpr (P.step_[I].fused) strip<Arch, P>::template run_rows<I>(f, r);
    else {
      constexpr int stride = static_cast<int>(stride_of(I));
      T* const y = static_cast<T*>(base_of<P, I>(f, of_result(I), r));
      const auto first = factor<I, 1>(f, r);
      const auto second = factor<I, 2>(f, r);
      if constexpr (P.step_[I].o == op::sddmm) {
        if constexpr (is_vector(I)) spread<V>(c.a, rows, first, second, r.lo, r.hi, y);
        else sddmm<V>(c.a, rows, first, second, f.step[I].slot[2].s.d[1], r.lo, r.hi, y);
      } else if constexpr (!is_vector(I)) {
        const index_t k = f.step[I].slot[of_result(I)].s.d[1];
        if constexpr (sums(I))
          spmm_transposed<V>(c.a, rows, first, second, k, r.lo, r.hi,
                             partial(f, I) + r.chunk * results(f, I));
        else spmm<V>(c.a, rows, first, second, k, r.lo, r.hi, y);
      } else if constexpr (sums(I)) {
        spmv_transposed<V, stride>(c.a, rows, first, second, r.lo, r.hi,
                                   partial(f, I) + r.chunk * stride * results(f, I) + (stride - 1));
      } else if constexpr (partner(I) >= 0) {
        constexpr int with = partner(I);
        spmv<V, 2>(c.a, rows, first, static_cast<const T*>(partial(f, with) + r.chunk * 2 * results(f, with)),
                   r.lo, r.hi, y);
      } else spmv<V, 1>(c.a, rows, first, second, r.lo, r.hi, y);
    }
  }

  template <class Team, int... K> static void run_all(const Team& team, const frame<P>& f, index_t each,
                                                      std::integer_sequence<int, K...>) {
    const cut c = cut_of(f);
    if (c.rows == 0) {
      (clear<First + K>(f), ...);
      return;
    }
    team.run(c.chunks, [&](index_t chunk, int member) {
      const index_t begin = chunk_of_rows(c.a.end, c.rows, c.nnz, chunk, c.chunks),
                    end = chunk_of_rows(c.a.end, c.rows, c.nnz, chunk + 1, c.chunks);
      (begin_chunk<First + K>(f, chunk), ...);
      for (index_t lo = begin; lo < end; lo += c.tile) {
        const strip_rows r{lo, std::min(end, lo + c.tile), chunk, lo > begin, f.scratch + member * each};
        (run_rows<First + K>(f, c, every_row{}, r), ...);
      }
    });
    index_t summed = 0;
    ((summed = sums(First + K) ? std::max(summed, results(f, First + K)) : summed), ...);
    constexpr index_t slice = 16384;
    team.run((summed + slice - 1) / slice,
             [&](index_t s, int) { (combine<First + K>(f, c.chunks, s * slice, (s + 1) * slice), ...); });
    (combine_fused<First + K>(f, c.chunks), ...);
  }
  template <int I> static void combine_fused(const frame<P>& f, index_t chunks) {
    if constexpr (P.step_[I].fused && P.step_[I].partials > 0)
      stores_of_step<P, I>::combine(f.step[I], chunks);
  }

public:
  // each: bytes of a member's scratch
  template <class Team> static void run(const Team& team, const frame<P>& f, index_t each) {
    run_all(team, f, each, std::make_integer_sequence<int, steps>{});
  }
};

} // namespace tapeless::cpu
