// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// NHWC wgrad of small images, tap by tap: rows are channels, lanes are filters, and sums run over the pixels that
// the tap reads inside the image. x and dy are read in place. No sum depends on how a team cuts the work.
#include "../common/row_panel.hpp"
#include "../common/tile.hpp"
#include "direct.hpp"
#include "direct_wgrad.hpp"
#include "run_panel.hpp"
#include "trimmed.hpp"

namespace tapeless::cpu {

/// sum over pixels of a_i[pixel] * b[pixel, j];  g.from: where pixels lie in a, g.to: in b
template <class T> struct panel_of_pixels {
  static constexpr bool partial = false;
  const pixel_grid& g;
  const T* b;
  bool add;
  index_t outer, inner; // rows of all images, columns

  template <class Term> [[gnu::always_inline]] void each_term(index_t n, index_t n_end, index_t x0,
                                                              index_t x_end, index_t,
                                                              const Term& term) const {
    const index_t a_step = g.from.col, b_step = g.to.col;
    for (index_t z = n / g.rows, y = n % g.rows; n < n_end; ++n) {
      index_t at = z * g.from.image + y * g.from.row + x0 * a_step;
      const T* p = b + z * g.to.image + y * g.to.row + x0 * b_step;
      if (++y == g.rows) ++z, y = 0;
      for (index_t x = x0; x < x_end; ++x, at += a_step, p += b_step) {
        opaque_scalar(at); // one index for all rows, not a pointer for each
        term(at, p);
      }
    }
  }
};

template <class V> struct nhwc_trimmed_wgrad {
  using T = typename V::value_type;
  using B = lane_blocking<V>;
  // Filters must fill vectors, because dy is read in place.
  static constexpr bool takes(const conv_extents& e) { return takes_trimmed(e) && e.k % B::W == 0; }
  static constexpr scratch_need need(const conv_extents& e) { return {.shared = 3 * e.k * e.c * e.r * e.s}; }
  /// The positions where tap t is inside the image.
  struct range {
    index_t first, count, at; // at: the element that the first one reads
    constexpr range(const axis_of_taps& x, index_t t) {
      first = std::clamp<index_t>(ceil_div(std::max<index_t>(-(x.base + t), 0), x.step), 0, x.positions);
      at = x.at(first) + t;
      count = at < x.extent ? std::min(x.positions - first, (x.extent - 1 - at) / x.step + 1) : 0;
    }
  };
  static constexpr bool reads_lists(const conv_extents& e) { return images_at_once(e) == 1; }
  template <class Team> static void run(const Team& team, const conv_extents& e, const image_batch<T>& x,
                                        const image_batch<T>& dy, T* dw, const scratch_of_kernel<T>& s) {
    if (e.n == 0) return void(std::fill_n(dw, e.k * e.c * e.r * e.s, T(0)));
    const index_t parts = team.size() == 1 ? 1 : ceil_div(e.c, index_t(16));
    const index_t units = units_of(e, parts), together = images_at_once(e);
    const index_t cuts = team.size() == 1 ? 1 : std::min<index_t>(units, 4 * team.size());
    const index_t size = e.k * e.c * e.r * e.s;
    const auto all = sum_in_rounds<V>(team, ceil_div(e.n, together), 1, size, s.shared, s.shared + 2 * size,
                                      [&](index_t first, index_t last, index_t, T* sums) {
                                        team.run(cuts, [&](index_t cut, int) {
                                          for (index_t u = first; u < last; ++u)
                                            some(e, std::min(together, e.n - u * together), parts,
                                                 cut * units / cuts, (cut + 1) * units / cuts,
                                                 x(u * together), dy(u * together), sums, u > first);
                                        });
                                      });
    finish(team, e, all.slots, all.p, dw);
  }
  /// A unit is a part of the channels, one tap and one panel of filters.
  static index_t units_of(const conv_extents& e, index_t parts) {
    return parts * e.r * e.s * ceil_div(e.k, B::NR);
  }
  /// So many images of all channels stay in the nearest cache.
  static constexpr index_t images_at_once(const conv_extents& e) {
    return std::max<index_t>(1, 64 * B::NV / std::max<index_t>(e.p * e.q, 1));
  }
  /// sums (+)= the sums of some images; sums: (panel, c, tap, filter of the panel)
  static void some(const conv_extents& e, index_t images, index_t parts, index_t unit, index_t end,
                   const T* x, const T* dy, T* sums, bool add) {
    const index_t taps = e.r * e.s;
    for (; unit < end; ++unit) {
      const index_t part = unit % parts, tap = unit / parts % taps, k = unit / (parts * taps) * B::NR;
      const index_t lanes = std::min(B::NR, e.k - k), c = part * e.c / parts,
                    c_end = (part + 1) * e.c / parts;
      const range rows(rows_of_taps(e), tap / e.s), cols(cols_of_taps(e), tap % e.s);
      const pixel_grid grid{rows.count * cols.count == 0 ? 0 : images,
                            rows.count,
                            cols.count,
                            {e.h * e.w * e.c, e.stride_h * e.w * e.c, e.stride_w * e.c},
                            {e.p * e.q * e.k, e.q * e.k, e.k}};
      sum_pixels(images_at_once(e) < e.q ? grid : images_inside(grid), c_end - c,
                 x + (rows.at * e.w + cols.at) * e.c + c, dy + (rows.first * e.q + cols.first) * e.k + k,
                 sums + k * e.c * taps + (c * taps + tap) * lanes, taps * lanes, lanes, add);
    }
  }
  /// dw = slots of sums, added in their order.
  template <class Team>
  static void finish(const Team& team, const conv_extents& e, index_t slots, T* sums, T* dw) {
    const index_t columns = e.c * e.r * e.s, panels = ceil_div(e.k, B::NR);
    constexpr index_t part = 256; // rows of the sum
    const index_t parts = ceil_div(columns, part);
    team.run(panels * parts, [&](index_t chunk, int) {
      const index_t m = chunk % parts * part, k = chunk / parts * B::NR, lanes = std::min(B::NR, e.k - k);
      const index_t rows = std::min(part, columns - m);
      T* const sum = sums + k * columns + m * lanes;
      for (index_t slot = 1; slot < slots; ++slot)
        for (index_t i = 0; i < rows * lanes; ++i) sum[i] += sum[slot * e.k * columns + i];
      transpose<V>(rows, lanes, sum, lanes, dw + k * columns + m, columns);
    });
  }
  /// The grid with images as the innermost loop: it is longer than that over columns.
  static constexpr pixel_grid images_inside(const pixel_grid& g) {
    return {
        g.rows, g.cols, g.images, {g.from.row, g.from.col, g.from.image}, {g.to.row, g.to.col, g.to.image}};
  }
  /// to: (channel, lane), `pitch` from channel to channel
  static void sum_pixels(const pixel_grid& g, index_t channels, const T* x, const T* dy, T* to, index_t pitch,
                         index_t lanes, bool add) {
    unroll<B::NV>([&](auto v) {
      constexpr int NV = v.value + 1, M = B::rows(NV);
      if (lanes != NV * B::W) return;
      T spare[NV * B::W]{};
      row_of_lanes<T> block[M];
      for (index_t c = 0; c < channels; c += M) {
        for (index_t m = 0; m < M; ++m)
          block[m] = c + m < channels ? row_of_lanes<T>{x + c + m, to + (c + m) * pitch}
                                      : row_of_lanes<T>{x + c, spare};
        rows_kernel<V, M, NV>(block, panel_of_pixels<T>{g, dy, add, g.images * g.rows, g.cols});
      }
    });
  }
};

} // namespace tapeless::cpu
