// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// NCHW wgrad of 1 x 1 convolutions without stride or padding: for each group, the sum over images of dy (filters,
// pixels) times x^T (pixels, channels). Pixels are contiguous in both.
#include "../common/row_panel.hpp"
#include "../common/tile.hpp"
#include "pointwise.hpp"

namespace tapeless::cpu {

template <class V> struct pointwise_wgrad {
  using T = typename V::value_type;
  static constexpr index_t pixels = 1024; // of one product: some rows of both stay in cache
  /// transposed: computes x dy^T (channels, filters) and transposes it at the end. The operand with lanes is copied: its
  /// columns should fill vectors. The other operand, if it has few rows, needs no copy.
  struct plan {
    bool few, transposed;
    index_t rows, cols, pieces, slots; // slots: partial sums
    constexpr explicit plan(const conv_extents& e) {
      const index_t cg = e.c / e.groups, kg = e.k / e.groups, area = e.h * e.w;
      const matrix<T> a{nullptr, area, 1}, b{nullptr, 1, area};
      few = are_few_rows<V>(std::min(cg, kg), std::min(pixels, area), a, b);
      const auto work = [](index_t of_rows, index_t of_cols) { // on a pixel
        return of_rows * whole_lanes<V>(of_cols) + 12 * of_cols;
      };
      transposed = few ? cg < kg : work(cg, kg) + 30 * cg * kg / area < work(kg, cg);
      rows = transposed ? cg : kg;
      cols = transposed ? kg : cg;
      pieces = ceil_div(area, pixels);
      slots = std::clamp<index_t>((1 << 18) / (e.k * cg), 1, 8);
    }
  };
  static constexpr scratch_need need(const conv_extents& e) {
    const plan p(e);
    return {.each = p.few ? 0 : tile_scratch<V>(p.rows, p.cols, pixels),
            .shared = (p.slots + (p.transposed ? 2 : 1)) * e.k * (e.c / e.groups)};
  }
  static constexpr bool reads_lists(const conv_extents&) { return true; }
  template <class Team> static void run(const Team& team, const conv_extents& e, const image_batch<T>& x,
                                        const image_batch<T>& dy, T* dw, const scratch_of_kernel<T>& s) {
    const plan p(e);
    const index_t area = e.h * e.w, each = need(e).each, of_group = p.rows * p.cols,
                  size = e.groups * of_group;
    const index_t units = e.n * p.pieces;
    if (units == 0) return void(std::fill_n(dw, size, T(0)));
    const auto all = sum_in_rounds<V>(
        team, units, p.slots, size, s.shared, p.transposed ? s.shared + (p.slots + 1) * size : dw,
        [&](index_t first, index_t last, index_t slots, T* shared) {
          T* const sums = units == last - first && slots == 1 && !p.transposed
                              ? dw
                              : shared; // (slots, groups, rows, cols)
          // rows are cut only if the team has too little else to do: each part copies the columns
          const bool cut = !p.few && team.size() > 1 && slots * e.groups < 4 * team.size();
          const index_t mb = cut ? std::min<index_t>(p.rows, 6 * blocking<V>::MR) : p.rows,
                        parts = ceil_div(p.rows, mb);
          team.run(slots * e.groups * parts, [&](index_t chunk, int member) {
            const index_t i = chunk % parts * mb, g = chunk / parts % e.groups,
                          slot = chunk / (parts * e.groups);
            const index_t m = std::min(mb, p.rows - i), begin = first + slot * (last - first) / slots,
                          end = first + (slot + 1) * (last - first) / slots;
            T* const to = sums + slot * size + g * of_group + i * p.cols;
            for (index_t u = begin; u < end; ++u) {
              const index_t z = u / p.pieces, j = u % p.pieces * pixels, k = std::min(pixels, area - j);
              const T* const filters = dy(z) + g * (e.k / e.groups) * area + j;
              const T* const channels = x(z) + g * (e.c / e.groups) * area + j;
              const matrix<T> a{(p.transposed ? channels : filters) + i * area, area, 1};
              const matrix<T> b{p.transposed ? filters : channels, 1, area};
              if (p.few) few_rows<V>(p.rows, m, p.cols, k, a, b, to, p.cols, u > begin);
              else
                tile<V>(m, p.cols, k, a, b, to, p.cols, s.each + member * each, blocking<V>::KC,
                        static_cast<const T*>(nullptr), 0, u > begin);
            }
          });
        });
    if (!p.transposed) {
      if (all.slots > 1) add_slices<V>(team, all.slots, size, all.p, dw);
      return;
    }
    constexpr index_t part = 256; // rows of the sums
    const index_t cuts = ceil_div(p.rows, part);
    team.run(e.groups * cuts, [&](index_t chunk, int) {
      const index_t g = chunk / cuts, i = chunk % cuts * part, m = std::min(part, p.rows - i);
      T* const sum = all.p + g * of_group + i * p.cols;
      for (index_t slot = 1; slot < all.slots; ++slot)
        for (index_t n = 0; n < m * p.cols; ++n) sum[n] += sum[slot * size + n];
      transpose<V>(m, p.cols, sum, p.cols, dw + g * of_group + i, p.rows);
    });
  }
};

} // namespace tapeless::cpu
