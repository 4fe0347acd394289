// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// The sums over rows of a CSR sweep, by columns. Each chunk has a copy of them: it is begun, it takes chains of rows, and
// copies are added up in the order of the chunks.
#include "../../../plan/ir/step.hpp"
#include "../../fused/lanes.hpp"
#include "../../sparse/csr.hpp"
#include "../frame.hpp"
#include "../sweep.hpp"
#include "form.hpp"

namespace tapeless::cpu {

template <class Arch, const auto& P, int First> struct csr_sweep_sums : csr_sweep_form<P, First> {
  using form = csr_sweep_form<P, First>;
  using form::columns_of, form::has_slices, form::masks, form::of_result, form::partial, form::partner,
      form::results, form::slot_of, form::sums;
  using T = typename form::T;
  using V = simd<T>;
  using cut = typename form::cut;

  // Before a chunk: sets the entries of rows [lo, hi) to 0, for masks may drop some of these rows.
  template <int I> static void begin_entries(const frame<P>& f, const cut& c, index_t lo, index_t hi) {
    if constexpr (masks > 0 && P.step_[I].o == op::sddmm) {
      T* const y = static_cast<T*>(f.step[I].slot[of_result(I)].data());
      std::fill(y + c.a.begin(lo), y + c.a.begin(hi), T(0));
    }
  }
  // Sets sums [lo, hi) of a chunk to 0; copies x beside them if they alternate.
  template <int I>
  static void begin_sums(const frame<P>& f, const cut& c, index_t chunk, index_t lo, index_t hi) {
    if constexpr (sums(I)) {
      const index_t stride = c.stride_of(I);
      const index_t n = results(f, I);
      hi = std::min(hi, n);
      T* const g = partial(f, I) + chunk * stride * n;
      if (stride == 1) {
        if (lo < hi) std::fill(g + lo, g + hi, T(0));
      } else if constexpr (partner(I) >= 0) {
        constexpr int from = partner(I);
        const T* const x = static_cast<const T*>(f.step[from].slot[slot_of(from, 2)].data());
        for (index_t j = lo; j < hi; ++j) {
          g[2 * j] = x[j];
          g[2 * j + 1] = T(0);
        }
      }
    }
  }
  template <int I, int Stride>
  static void combine(const frame<P>& f, index_t chunks, index_t lo, index_t hi) {
    const index_t n = results(f, I);
    const T* const part = partial(f, I) + (Stride - 1);
    T* const y = static_cast<T*>(f.step[I].slot[of_result(I)].data());
    hi = std::min(hi, n);
    index_t j = lo;
    constexpr int together = 64;
    for (T sum[together]; j + together <= hi; j += together) {
      for (int l = 0; l < together; ++l) sum[l] = part[Stride * (j + l)];
      for (index_t c = 1; c < chunks; ++c)
        for (int l = 0; l < together; ++l) sum[l] += part[Stride * (c * n + j + l)];
      for (int l = 0; l < together; ++l) y[j + l] = sum[l];
    }
    for (; j < hi; ++j) {
      T sum = part[Stride * j];
      for (index_t c = 1; c < chunks; ++c) sum += part[Stride * (c * n + j)];
      y[j] = sum;
    }
  }
  template <int I> static void combine(const frame<P>& f, const cut& c, index_t lo, index_t hi) {
    if constexpr (sums(I)) {
      if (c.stride_of(I) == 1) combine<I, 1>(f, c.chunks, lo, hi);
      else if constexpr (partner(I) >= 0) combine<I, 2>(f, c.chunks, lo, hi);
    }
  }
  template <int I> static void clear(const frame<P>& f) {
    if constexpr (P.step_[I].fused) stores_of_step<P, I>::clear(f.step[I]);
    else if constexpr (sums(I))
      std::fill_n(static_cast<T*>(f.step[I].slot[of_result(I)].data()), results(f, I), T(0));
  }

  // ---- sums of many rows
  // Ends the chains of the sums of a chunk. first: high and low are not set yet.
  template <int I>
  static void end_chains_of_sums(const frame<P>& f, const cut& c, const sweep_rows& r, index_t column,
                                 index_t columns, bool first) {
    if constexpr (sums(I)) {
      const index_t n = results(f, I), stride = c.stride_of(I);
      T *const chain = partial(f, I) + r.chunk * stride * n, *const high = form::high(f, c, I, r.chunk),
               *const low = high + n;
      if (stride == 2) {
        for (index_t j = 0; j < n; ++j) {
          T& x = chain[2 * j + 1];
          if (first) high[j] = low[j] = T(0);
          two_sum(high[j], low[j], x);
          x = T(0);
        }
        return;
      }
      const index_t width = has_slices ? columns : n;
      for (index_t j = column; j < n; j += has_slices ? columns_of(f, I) : n) {
        end_chains<V>(width, high + j, low + j, chain + j, first);
        std::fill_n(chain + j, width, T(0));
      }
    }
  }
  // Writes the sums of a chunk to the place of its chains.
  template <int I>
  static void end_sums_of_chunk(const frame<P>& f, const cut& c, const sweep_rows& r, index_t column,
                                index_t columns) {
    if constexpr (sums(I)) {
      end_chains_of_sums<I>(f, c, r, column, columns, false);
      const index_t n = results(f, I), stride = c.stride_of(I), width = has_slices ? columns : n;
      T* const to = partial(f, I) + r.chunk * stride * n + (stride - 1);
      const T *const high = form::high(f, c, I, r.chunk), *const low = high + n;
      for (index_t from = column; from < n; from += has_slices ? columns_of(f, I) : n)
        for (index_t j = from; j < from + width; ++j) to[stride * j] = sum_of(high[j], low[j]);
    }
  }
  template <int I> static void clear_partial(const frame<P>& f, index_t chunk) {
    if constexpr (P.step_[I].fused && P.step_[I].partials > 0)
      stores_of_step<P, I>::clear_partial(f.step[I], chunk);
  }
  template <int I> static void combine_fused(const frame<P>& f, index_t chunks) {
    if constexpr (P.step_[I].fused && P.step_[I].partials > 0)
      stores_of_step<P, I>::combine(f.step[I], chunks);
  }
};

} // namespace tapeless::cpu
