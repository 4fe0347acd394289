// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Direct NHWC convolution.                     x: (n, h, w, c)   w: (k, c / groups, r, s)   y: (n, p, q, k)
//   fprop     rows are output pixels, lanes are filters
//   dgrad     rows are image pixels, lanes are channels; once for each residue modulo the strides
// in the terms of run_panel.hpp. Pixels are read in place if no window leaves the image, else from a tile with zeros
// around it. Results are written in place. 1 x 1 without stride, padding or groups is in as_matmul.hpp.
#include <array>

#include "../common/row_panel.hpp"
#include "../common/tile.hpp"
#include "run_panel.hpp"

namespace tapeless::cpu {

/// A chunk computes `band` rows of `images` images, for some of the lanes.
struct pixel_chunk {
  index_t band, bands, images;
  /// rows, cols: of results; a band of one row needs line + halo elements of the tile, a further one `line`.
  constexpr pixel_chunk(index_t rows, index_t cols, index_t line, index_t halo, index_t element) {
    constexpr index_t most = 512, least = 192; // pixels; with fewer the weights are read too often
    rows = std::max<index_t>(rows, 1), cols = std::max<index_t>(cols, 1);
    const index_t budget = (192 << 10) / element, fit = (budget - halo) / std::max<index_t>(line, 1);
    bands = ceil_div(rows, std::clamp<index_t>(std::max(std::min(most / cols, fit), least / cols), 1, rows));
    band = ceil_div(rows, bands);
    bands = ceil_div(rows, band);
    const index_t size = band * cols, tile = std::max<index_t>(halo + band * line, 1);
    images = bands > 1
                 ? 1
                 : std::clamp<index_t>(std::max(std::min(most / size, budget / tile), least / size), 1, 64);
  }
};
/// Into how many parts the lanes of `chunks` chunks are cut so that a team has enough of them; `work` products in all.
template <class V> constexpr index_t cuts_of_lanes(index_t chunks, index_t lanes, index_t work,
                                                   index_t team) {
  const index_t panels = ceil_div(lanes, lane_blocking<V>::NR);
  index_t cuts = 1;
  while (team > 1 && chunks * cuts < 4 * team && 2 * cuts <= panels && work > (chunks * cuts) << 21)
    cuts *= 2;
  return cuts;
}
/// Lanes of part `cut`: whole panels.
template <class V> constexpr index_t first_of_cut(index_t cut, index_t cuts, index_t lanes) {
  constexpr index_t NR = lane_blocking<V>::NR;
  return std::min(lanes, ceil_div(lanes, NR) * cut / cuts * NR);
}

/// Where x or dy is read: the pixels of one group in a tile, or in place.
template <class T> struct pixel_view {
  const T* p;
  index_t image, line, pixel;
};

template <class V> struct nhwc_direct_fprop {
  using T = typename V::value_type;
  struct plan {
    index_t cg, kg, span_h, width;
    bool in_place;
    pixel_chunk chunk;
    constexpr explicit plan(const conv_extents& e)
        : cg(e.c / e.groups),
          kg(e.k / e.groups),
          span_h((e.r - 1) * e.dil_h + 1),
          width((std::max<index_t>(e.q, 1) - 1) * e.stride_w + (e.s - 1) * e.dil_w + 1),
          in_place(e.pad_top == 0 && e.pad_left == 0 && (e.p - 1) * e.stride_h + span_h <= e.h &&
                   width <= e.w),
          chunk(e.p, e.q, e.stride_h * width * cg, (span_h - e.stride_h) * width * cg, sizeof(T)) {}
    constexpr index_t tile_rows(const conv_extents& e) const {
      return (chunk.band - 1) * e.stride_h + span_h;
    }
    constexpr index_t tile(const conv_extents& e) const { return tile_rows(e) * width * cg; }
  };
  static constexpr scratch_need need(const conv_extents& e) {
    const plan p(e);
    return {.packed = e.groups * whole_lanes<V>(p.kg) * p.cg * e.r * e.s,
            .each = p.in_place ? 0 : p.chunk.images * p.tile(e)};
  }
  /// packed: (group, panel of filters, tap, c, filter of the panel)
  template <class Team> static void pack(const Team& team, const conv_extents& e, const T* w, T* packed) {
    const index_t kg = e.k / e.groups, cg = e.c / e.groups, taps = e.r * e.s, size = cg * taps;
    constexpr index_t NR = lane_blocking<V>::NR;
    const index_t panels = ceil_div(kg, NR);
    team.run(e.groups * panels, [&](index_t chunk, int) {
      const index_t g = chunk / panels, k = chunk % panels * NR;
      const index_t filters = std::min(NR, kg - k), lanes = whole_lanes<V>(filters);
      T* const to = packed + (g * whole_lanes<V>(kg) + k) * size;
      const T* const from = w + (g * kg + k) * size;
      constexpr index_t together = 64;
      T rows[together * NR]; // (c, tap), filter
      for (index_t at = 0; at < size; at += together) {
        const index_t count = std::min(together, size - at);
        transpose<V, true>(filters, count, from + at, size, rows, lanes);
        for (index_t j = 0; j < count; ++j)
          copy_row<V>(to + ((at + j) % taps * cg + (at + j) / taps) * lanes, rows + j * lanes, lanes);
      }
    });
  }
  template <class Team> static void run(const Team& team, const conv_extents& e, const T* x, const T*, T* y,
                                        const scratch_of_kernel<T>& s) {
    const plan p(e);
    const index_t cg = p.cg, kg = p.kg, taps = e.r * e.s, size = cg * taps;
    const index_t chunks = ceil_div(e.n, p.chunk.images) * e.groups * p.chunk.bands;
    const index_t cuts = cuts_of_lanes<V>(chunks, kg, e.n * e.p * e.q * e.k * size, team.size());
    team.run(chunks * cuts, [&](index_t unit, int member) {
      const index_t chunk = unit / cuts, cut = unit % cuts, g = chunk / p.chunk.bands % e.groups;
      const index_t i = chunk % p.chunk.bands * p.chunk.band;
      const index_t z = chunk / (p.chunk.bands * e.groups) * p.chunk.images;
      const index_t images = std::min(p.chunk.images, e.n - z);
      const T* const from = x + z * e.h * e.w * e.c + g * cg;
      pixel_view<T> v{from + i * e.stride_h * e.w * e.c, e.h * e.w * e.c, e.w * e.c, e.c};
      if (!p.in_place) {
        T* const to = s.each + member * p.chunk.images * p.tile(e);
        for (index_t m = 0; m < images; ++m)
          fill_pixels<V>(p.tile_rows(e), p.width, cg, to + m * p.tile(e), from + m * e.h * e.w * e.c, e.c,
                         e.h, e.w, i * e.stride_h - e.pad_top, -e.pad_left);
        v = {to, p.tile(e), p.width * cg, cg};
      }
      const pixel_grid grid{images,
                            std::min(p.chunk.band, e.p - i),
                            e.q,
                            {v.image, e.stride_h * v.line, e.stride_w * v.pixel},
                            {e.p * e.q * e.k, e.q * e.k, e.k}};
      for (index_t first = 0; first < taps; first += tap_block) {
        taps_of_pixels t{.channels = cg, .taps = std::min<index_t>(tap_block, taps - first)};
        for (index_t b = 0; b < t.taps; ++b)
          t.tap[b] = (first + b) / e.s * e.dil_h * v.line + (first + b) % e.s * e.dil_w * v.pixel;
        t.merge();
        lanes_of_runs<V>(grid, v.p, y + ((z * e.p + i) * e.q) * e.k + g * kg, first_of_cut<V>(cut, cuts, kg),
                         first_of_cut<V>(cut + 1, cuts, kg), kg, t, s.packed + g * whole_lanes<V>(kg) * size,
                         first * cg, size, first > 0);
      }
    });
  }
};

template <class V> struct nhwc_direct_dgrad {
  using T = typename V::value_type;
  struct plan {
    cotangent_window see;
    index_t cg, kg, width;
    bool in_place;
    pixel_chunk chunk; // bands are rows of one residue
    constexpr explicit plan(const conv_extents& e)
        : see(e),
          cg(e.c / e.groups),
          kg(e.k / e.groups),
          width(ceil_div(e.w, e.stride_w) + see.more_w),
          in_place(see.low_h == 0 && see.low_w == 0 && ceil_div(e.h, e.stride_h) + see.more_h <= e.p &&
                   width <= e.q),
          chunk(ceil_div(e.h, e.stride_h), width, width * kg, see.more_h * width * kg, sizeof(T)) {}
    constexpr index_t tile() const { return (chunk.band + see.more_h) * width * kg; }
  };
  static constexpr scratch_need need(const conv_extents& e) {
    const plan p(e);
    return {.packed = e.groups * whole_lanes<V>(p.cg) * p.kg * e.r * e.s,
            .each = p.in_place ? 0 : p.chunk.images * p.tile()};
  }
  /// f(r, s) for the taps of a residue from the last one on: so their pixels of dy ascend.
  template <class F> static constexpr void each_tap_back(const conv_extents& e, index_t fy, index_t fx,
                                                         F&& f) {
    for (index_t r = e.r - 1; r >= 0; --r)
      if (meets(fy, e.pad_top, r, e.dil_h, e.stride_h))
        for (index_t s = e.s - 1; s >= 0; --s)
          if (meets(fx, e.pad_left, s, e.dil_w, e.stride_w)) f(r, s);
  }
  /// Of a tap: taps of the residues before its own, taps before it in its own, taps of its own.
  static constexpr std::array<index_t, 3> place_of(const conv_extents& e, index_t r, index_t s) {
    std::array<index_t, 3> place{};
    for (index_t fy = 0; fy < e.stride_h; ++fy)
      for (index_t fx = 0; fx < e.stride_w; ++fx) {
        if (meets(fy, e.pad_top, r, e.dil_h, e.stride_h) && meets(fx, e.pad_left, s, e.dil_w, e.stride_w)) {
          each_tap_back(e, fy, fx, [&](index_t y, index_t x) { place[1] += y > r || (y == r && x > s); });
          place[2] = count_taps(e, fy, fx);
          return place;
        }
        place[0] += count_taps(e, fy, fx);
      }
    return place;
  }
  /// packed: (group, residue, panel of channels, tap of the residue, k, channel of the panel)
  template <class Team> static void pack(const Team& team, const conv_extents& e, const T* w, T* packed) {
    const index_t kg = e.k / e.groups, cg = e.c / e.groups, taps = e.r * e.s;
    constexpr index_t NR = lane_blocking<V>::NR;
    const index_t panels = ceil_div(cg, NR);
    team.run(e.groups * panels, [&](index_t chunk, int) {
      const index_t g = chunk / panels, c = chunk % panels * NR;
      const index_t channels = std::min(NR, cg - c), lanes = whole_lanes<V>(channels);
      T* const to = packed + g * whole_lanes<V>(cg) * kg * taps;
      T rows[tap_block * NR]; // tap, channel
      T* place[tap_block];    // where each goes of filter 0
      for (index_t first = 0; first < taps; first += tap_block) {
        const index_t count = std::min<index_t>(tap_block, taps - first);
        for (index_t t = 0; t < count; ++t) {
          const auto [before, at, all] = place_of(e, (first + t) / e.s, (first + t) % e.s);
          place[t] = to + before * whole_lanes<V>(cg) * kg + c * kg * all + at * kg * lanes;
        }
        for (index_t k = 0; k < kg; ++k) {
          transpose<V, true>(channels, count, w + ((g * kg + k) * cg + c) * taps + first, taps, rows, lanes);
          for (index_t t = 0; t < count; ++t) copy_row<V>(place[t] + k * lanes, rows + t * lanes, lanes);
        }
      }
    });
  }
  template <class Team> static void run(const Team& team, const conv_extents& e, const T* dy, const T*, T* dx,
                                        const scratch_of_kernel<T>& s) {
    const plan p(e);
    const index_t cg = p.cg, kg = p.kg, taps = e.r * e.s;
    const index_t chunks = ceil_div(e.n, p.chunk.images) * e.groups * p.chunk.bands;
    const index_t cuts = cuts_of_lanes<V>(chunks, cg, e.n * e.p * e.q * e.k * cg * taps, team.size());
    team.run(chunks * cuts, [&](index_t unit, int member) {
      const index_t chunk = unit / cuts, cut = unit % cuts, g = chunk / p.chunk.bands % e.groups;
      const index_t i = chunk % p.chunk.bands * p.chunk.band;
      const index_t z = chunk / (p.chunk.bands * e.groups) * p.chunk.images;
      const index_t images = std::min(p.chunk.images, e.n - z);
      const index_t lane = first_of_cut<V>(cut, cuts, cg), end = first_of_cut<V>(cut + 1, cuts, cg);
      const T* const from = dy + z * e.p * e.q * e.k + g * kg;
      pixel_view<T> v{from + i * e.q * e.k, e.p * e.q * e.k, e.q * e.k, e.k};
      if (!p.in_place) {
        T* const to = s.each + member * p.chunk.images * p.tile();
        for (index_t m = 0; m < images; ++m)
          fill_pixels<V>(p.chunk.band + p.see.more_h, p.width, kg, to + m * p.tile(),
                         from + m * e.p * e.q * e.k, e.k, e.p, e.q, i + p.see.low_h, p.see.low_w);
        v = {to, p.tile(), p.width * kg, kg};
      }
      const T* b = s.packed + g * whole_lanes<V>(cg) * kg * taps;
      for (index_t fy = 0; fy < e.stride_h; ++fy)
        for (index_t fx = 0; fx < e.stride_w; ++fx) {
          const index_t count = count_taps(e, fy, fx), b_size = count * kg;
          const T* const panels = b;
          b += whole_lanes<V>(cg) * b_size;
          const pixel_grid grid{images,
                                std::min(p.chunk.band, ceil_div(e.h - fy, e.stride_h) - i),
                                ceil_div(e.w - fx, e.stride_w),
                                {v.image, v.line, v.pixel},
                                {e.h * e.w * e.c, e.stride_h * e.w * e.c, e.stride_w * e.c}};
          if (grid.rows <= 0 || grid.cols <= 0) continue;
          T* const to = dx + ((z * e.h + i * e.stride_h + fy) * e.w + fx) * e.c + g * cg;
          if (count == 0) zero_pixels<V>(grid, to + lane, end - lane);
          taps_of_pixels t{.channels = kg};
          index_t first = 0;
          const auto flush = [&] {
            const index_t held = t.taps;
            t.merge();
            lanes_of_runs<V>(grid, v.p, to, lane, end, cg, t, panels, first * kg, b_size, first > 0);
            first += held;
            t.taps = 0, t.channels = kg;
          };
          each_tap_back(e, fy, fx, [&](index_t r, index_t x) {
            t.tap[t.taps++] = tap_at(e, p.see, fy, fx, r, x, v);
            if (t.taps == tap_block) flush();
          });
          if (t.taps > 0) flush();
        }
    });
  }
  static index_t tap_at(const conv_extents& e, const cotangent_window& see, index_t fy, index_t fx, index_t r,
                        index_t s, const pixel_view<T>& v) {
    return ((fy + e.pad_top - r * e.dil_h) / e.stride_h - see.low_h) * v.line +
           ((fx + e.pad_left - s * e.dil_w) / e.stride_w - see.low_w) * v.pixel;
  }
};

} // namespace tapeless::cpu
