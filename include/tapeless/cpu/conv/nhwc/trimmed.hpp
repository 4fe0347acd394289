// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// NHWC convolution of small images, fprop and dgrad: windows are trimmed to the image, and no tile is filled. Pixels
// whose windows have the same taps inside are rows of one product, over all images of a chunk. Pixels are read in
// place. No sum depends on how a team cuts the work. wgrad: trimmed_wgrad.hpp.
#include "../common/geometry.hpp"
#include "../common/row_panel.hpp"
#include "../common/tile.hpp"
#include "direct.hpp"
#include "run_panel.hpp"

namespace tapeless::cpu {

/// One axis of windows: tap t of position i reads element i * step + base + t, if that is in [0, extent).
struct axis_of_taps {
  index_t positions, taps, base, step, extent;
  constexpr index_t at(index_t i) const { return i * step + base; }
  constexpr index_t first(index_t i) const { return std::clamp<index_t>(-at(i), 0, taps); }
  constexpr index_t end(index_t i) const { return std::clamp<index_t>(extent - at(i), first(i), taps); }
  constexpr index_t inside() const {
    index_t n = 0;
    for (index_t i = 0; i < positions; ++i) n += end(i) - first(i);
    return n;
  }
  /// f(position, how many have the same taps, first tap, taps) for the positions of one band
  template <class F> constexpr void each_window(F&& f, index_t band = 0, index_t bands = 1) const {
    const index_t stop = (band + 1) * positions / bands;
    for (index_t i = band * positions / bands, next = 0; i < stop; i = next) {
      for (next = i + 1; next < stop && first(next) == first(i) && end(next) == end(i);) ++next;
      f(i, next - i, first(i), end(i) - first(i));
    }
  }
};
constexpr axis_of_taps rows_of_taps(const conv_extents& e) { return {e.p, e.r, -e.pad_top, e.stride_h, e.h}; }
constexpr axis_of_taps cols_of_taps(const conv_extents& e) {
  return {e.q, e.s, -e.pad_left, e.stride_w, e.w};
}
/// Products with elements inside the image, for one image, channel and filter.
constexpr index_t products_inside(const conv_extents& e) {
  return rows_of_taps(e).inside() * cols_of_taps(e).inside();
}
/// Pixels of dx of residue f modulo the stride. Tap 0 is the last tap that meets them.
constexpr axis_of_taps residue_of_taps(index_t f, index_t extent, index_t taps, index_t pad, index_t stride,
                                       index_t results) {
  index_t last = taps - 1, count = 0;
  while (last >= 0 && !meets(f, pad, last, 1, stride)) --last;
  for (index_t t = last; t >= 0; t -= stride) ++count;
  return {ceil_div(std::max<index_t>(extent - f, 0), stride), count, last < 0 ? 0 : (f + pad - last) / stride,
          1, results};
}
constexpr bool takes_trimmed(const conv_extents& e) {
  return e.groups == 1 && e.dil_h == 1 && e.dil_w == 1 && e.r <= tap_block && !is_product(e);
}

/// How the results of a chunk of images are cut for a team: a band of rows, lanes [lane, end).
struct trimmed_part {
  index_t band, bands, lane, end;
};
/// y = the sums over the taps inside, of one part; b: all taps of this axis, panel after panel.
template <class V, class T>
void lanes_of_trimmed(const axis_of_taps& rows, const axis_of_taps& cols, index_t channels,
                      const pixel_grid& g, const T* from, T* to, const trimmed_part& part, index_t lanes,
                      const T* b) {
  const index_t band = part.band, bands = part.bands, lane = part.lane, end = part.end;
  const auto row = [&](index_t i, index_t like_i, index_t r, index_t high) {
    cols.each_window([&](index_t j, index_t like_j, index_t s, index_t wide) {
      const pixel_grid grid{g.images, like_i, like_j, g.from, g.to};
      T* const y = to + i * g.to.row + j * g.to.col;
      if (high == 0 || wide == 0) return zero_pixels<V>(grid, y + lane, end - lane);
      const index_t line = g.from.row / rows.step, pixel = g.from.col / cols.step;
      taps_of_pixels t{.channels = wide * channels, .taps = high, .gap = (cols.taps - wide) * channels};
      for (index_t k = 0; k < high; ++k) t.tap[k] = k * line;
      lanes_of_runs<V, true>(grid, from + (rows.at(i) + r) * line + (cols.at(j) + s) * pixel, y, lane, end,
                             lanes, t, b, (r * cols.taps + s) * channels, rows.taps * cols.taps * channels,
                             false);
    });
  };
  rows.each_window(row, band, bands);
}
/// Images of a chunk: enough that the pixels of a corner fill blocks, if the image is small.
inline index_t images_of_trimmed(index_t n, index_t area, int team) {
  return std::clamp<index_t>(ceil_div(n, team), area < 128 ? 8 : 1, 32);
}
/// f(first image, images, part, member) for chunks of `together` images, cut further if a team has too few chunks.
template <class V, class Team, class F>
void each_trimmed_part(const Team& team, index_t n, index_t together, index_t rows, index_t lanes,
                       index_t work, F&& f) {
  const index_t chunks = ceil_div(n, together), cuts = cuts_of_lanes<V>(chunks, lanes, work, team.size());
  index_t bands = 1;
  while (team.size() > 1 && chunks * cuts * bands < 4 * team.size() && 8 * bands <= rows &&
         work > (chunks * cuts * bands) << 21)
    bands *= 2;
  team.run(chunks * cuts * bands, [&](index_t unit, int member) {
    const index_t band = unit % bands, cut = unit / bands % cuts, z = unit / (bands * cuts) * together;
    f(z, std::min(together, n - z),
      trimmed_part{band, bands, first_of_cut<V>(cut, cuts, lanes), first_of_cut<V>(cut + 1, cuts, lanes)},
      member);
  });
}

/// The weights are packed as for nhwc_direct_fprop.
template <class V> struct nhwc_trimmed_fprop : nhwc_direct_fprop<V> {
  using T = typename V::value_type;
  static constexpr scratch_need need(const conv_extents& e) {
    return {.packed = nhwc_direct_fprop<V>::need(e).packed};
  }
  template <class Team> static void run(const Team& team, const conv_extents& e, const T* x, const T*, T* y,
                                        const scratch_of_kernel<T>& s) {
    each_trimmed_part<V>(team, e.n, images_of_trimmed(e.n, e.p * e.q, team.size()), e.p, e.k,
                         e.n * e.p * e.q * e.k * e.c * e.r * e.s,
                         [&](index_t z, index_t images, const trimmed_part& part, int) {
                           some(e, images, part, x + z * e.h * e.w * e.c, s.packed, y + z * e.p * e.q * e.k);
                         });
  }
  /// A part of y of some images.
  static void some(const conv_extents& e, index_t images, const trimmed_part& part, const T* x,
                   const T* packed, T* y) {
    const pixel_grid grid{images,
                          0,
                          0,
                          {e.h * e.w * e.c, e.stride_h * e.w * e.c, e.stride_w * e.c},
                          {e.p * e.q * e.k, e.q * e.k, e.k}};
    lanes_of_trimmed<V>(rows_of_taps(e), cols_of_taps(e), e.c, grid, x, y, part, e.k, packed);
  }
};

/// The weights are packed as for nhwc_direct_dgrad.
template <class V> struct nhwc_trimmed_dgrad : nhwc_direct_dgrad<V> {
  using T = typename V::value_type;
  static constexpr scratch_need need(const conv_extents& e) {
    return {.packed = nhwc_direct_dgrad<V>::need(e).packed};
  }
  template <class Team> static void run(const Team& team, const conv_extents& e, const T* dy, const T*, T* dx,
                                        const scratch_of_kernel<T>& s) {
    each_trimmed_part<V>(team, e.n, images_of_trimmed(e.n, e.h * e.w, team.size()), e.h / e.stride_h, e.c,
                         e.n * e.p * e.q * e.k * e.c * e.r * e.s,
                         [&](index_t z, index_t images, const trimmed_part& part, int) {
                           some(e, images, part, dy + z * e.p * e.q * e.k, s.packed,
                                dx + z * e.h * e.w * e.c);
                         });
  }
  /// A part of dx of some images.
  static void some(const conv_extents& e, index_t images, const trimmed_part& part, const T* dy,
                   const T* packed, T* dx) {
    const pixel_grid grid{images,
                          0,
                          0,
                          {e.p * e.q * e.k, e.q * e.k, e.k},
                          {e.h * e.w * e.c, e.stride_h * e.w * e.c, e.stride_w * e.c}};
    for (index_t fy = 0; fy < e.stride_h; ++fy)
      for (index_t fx = 0; fx < e.stride_w; ++fx) {
        const axis_of_taps rows = residue_of_taps(fy, e.h, e.r, e.pad_top, e.stride_h, e.p);
        const axis_of_taps cols = residue_of_taps(fx, e.w, e.s, e.pad_left, e.stride_w, e.q);
        lanes_of_trimmed<V>(rows, cols, e.k, grid, dy, dx + (fy * e.w + fx) * e.c, part, e.c, packed);
        packed += whole_lanes<V>(e.c) * rows.taps * cols.taps * e.k;
      }
  }
};

} // namespace tapeless::cpu
