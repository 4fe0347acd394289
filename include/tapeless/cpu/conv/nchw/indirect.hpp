// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// NCHW convolution whose lanes are channels: vectors are full even if images are narrow, strided or of odd width.
//             row i            p          t             lanes j
//   fprop     output pixel     channel    tap           filters     b = w, transposed once
//   dgrad     image pixel      filter     tap           channels    b = w, taps sorted by residue
//   wgrad     (channel, tap)   image      output pixel  filters     b = dy, transposed tile by tile
// in the terms of row_panel.hpp; wgrad is in indirect_wgrad.hpp. Results have channels along their rows in scratch,
// and are transposed on their way out.
#include "../common/row_panel.hpp"
#include "../common/tile.hpp"

namespace tapeless::cpu {

/// A chunk computes `band` rows of `images` images: at most `pixels` elements of a plane and about 2^23 products,
/// but at least one row.
struct indirect_chunk {
  index_t band, bands, images;
  constexpr indirect_chunk(index_t rows, index_t cols, index_t pixels, index_t work) {
    rows = std::max<index_t>(rows, 1), cols = std::max<index_t>(cols, 1);
    pixels = std::min<index_t>(pixels, (1 << 23) / work + 1);
    bands = ceil_div(rows, std::clamp<index_t>(pixels / cols, 1, rows));
    band = ceil_div(rows, bands);
    bands = ceil_div(rows, band);
    const index_t size = band * cols, worth = std::max<index_t>(1, (1 << 20) / (size * work));
    images = bands > 1 ? 1 : std::clamp<index_t>(pixels / size, 1, std::min<index_t>(worth, 64));
  }
  // Fewer images, if their tiles would not stay in the cache.
  constexpr indirect_chunk with_tiles(index_t elements) const {
    indirect_chunk k = *this;
    k.images = std::clamp<index_t>((1 << 16) / std::max<index_t>(elements, 1), 1, images);
    return k;
  }
};

/// Where x or dy is read: in place if no window leaves the image, else in a tile with zeros around it.
template <class T> struct image_view {
  const T* p;
  index_t image, plane, line;
};

/// fprop and wgrad read x: `band` output rows see `rows` rows of `width` columns of some channels.
template <class V> struct indirect_input {
  index_t channels, rows, width;
  bool in_place;
  constexpr indirect_input(const conv_extents& e, index_t planes, index_t band) : channels(planes) {
    const index_t span_h = (e.r - 1) * e.dil_h + 1, span_w = (e.s - 1) * e.dil_w + 1;
    rows = (band - 1) * e.stride_h + span_h;
    width = (std::max<index_t>(e.q, 1) - 1) * e.stride_w + span_w;
    in_place = e.pad_top == 0 && e.pad_left == 0 && (e.p - 1) * e.stride_h + span_h <= e.h && width <= e.w;
  }
  constexpr index_t tile() const { return in_place ? 0 : channels * rows * width; }
  constexpr index_t tap(const conv_extents& e, index_t t, index_t line) const {
    return t / e.s * e.dil_h * line + t % e.s * e.dil_w;
  }
  /// `planes` channels from c on, of `images` images from z on, seen by output rows from i on.   @pre planes <=
  /// channels
  template <class T> image_view<T> view(const conv_extents& e, const image_batch<T>& x, index_t z,
                                        index_t images, index_t c, index_t planes, index_t i, T* to) const {
    const index_t area = e.h * e.w;
    if (in_place) return {x(z) + c * area + i * e.stride_h * e.w, x.size, area, e.w};
    const image_tile t{planes, rows, 1, width};
    for (index_t k = 0; k < images; ++k)
      fill<V>(t, to + k * t.size(), x(z + k) + c * area, e.h, e.w, i * e.stride_h - e.pad_top, -e.pad_left);
    return {to, t.size(), t.plane(), t.line()};
  }
};

template <class V> struct indirect_fprop {
  using T = typename V::value_type;
  static constexpr indirect_chunk chunk_of(const conv_extents& e) {
    const indirect_chunk k(e.p, e.q, 256, e.k / e.groups * (e.c / e.groups) * e.r * e.s);
    return k.with_tiles(indirect_input<V>(e, e.c / e.groups, k.band).tile());
  }
  static constexpr scratch_need need(const conv_extents& e) {
    const indirect_chunk k = chunk_of(e);
    const index_t lanes = whole_lanes<V>(e.k / e.groups);
    return {.packed = e.groups * lanes * (e.c / e.groups) * e.r * e.s,
            .each = k.images * (indirect_input<V>(e, e.c / e.groups, k.band).tile() + k.band * e.q * lanes)};
  }
  /// packed: (group, c, tap, filter)
  template <class Team> static void pack(const Team& team, const conv_extents& e, const T* w, T* packed) {
    const index_t kg = e.k / e.groups, size = e.c / e.groups * e.r * e.s, lanes = whole_lanes<V>(kg);
    constexpr index_t part = 8 * static_cast<index_t>(V::size);
    const index_t parts = ceil_div(kg, part);
    team.run(e.groups * parts, [&](index_t chunk, int) {
      const index_t g = chunk / parts, k = chunk % parts * part;
      transpose<V, true>(std::min(part, kg - k), size, w + (g * kg + k) * size, size,
                         packed + g * lanes * size + k, lanes);
    });
  }
  template <class Team> static void run(const Team& team, const conv_extents& e, const T* x, const T*, T* y,
                                        const scratch_of_kernel<T>& s) {
    const indirect_chunk k = chunk_of(e);
    const indirect_input<V> in(e, e.c / e.groups, k.band);
    const index_t kg = e.k / e.groups, cg = e.c / e.groups, taps = e.r * e.s, lanes = whole_lanes<V>(kg);
    const index_t each = need(e).each;
    team.run(ceil_div(e.n, k.images) * e.groups * k.bands, [&](index_t chunk, int member) {
      const index_t i = chunk % k.bands * k.band, g = chunk / k.bands % e.groups;
      const index_t z0 = chunk / (k.bands * e.groups) * k.images;
      const index_t images = std::min(k.images, e.n - z0), rows = std::min(k.band, e.p - i);
      T* const out = s.each + member * each; // (image, row, column, filter)
      const image_view<T> v = in.view(e, image_batch<T>{x, e.c * e.h * e.w}, z0, images, g * cg, cg, i,
                                      out + k.images * k.band * e.q * lanes);
      const index_t pixels = rows * e.q;
      for (index_t first = 0; first < taps; first += tap_block) {
        index_t tap[tap_block];
        const int count = static_cast<int>(std::min<index_t>(tap_block, taps - first));
        for (int b = 0; b < count; ++b) tap[b] = in.tap(e, first + b, v.line);
        const panel_of_lanes<T> panel{.outer = cg,
                                      .a_step = v.plane,
                                      .tap = tap,
                                      .inner = count,
                                      .b = s.packed + (g * cg * taps + first) * lanes,
                                      .b_step = taps * lanes,
                                      .b_row = lanes,
                                      .add = first > 0};
        rows_of_lanes<V>(images * pixels, kg, panel, [&](index_t m) {
          const index_t z = m / pixels, at = m % pixels;
          return row_of_lanes<T>{v.p + z * v.image + at / e.q * e.stride_h * v.line + at % e.q * e.stride_w,
                                 out + m * lanes};
        });
      }
      for (index_t z = 0; z < images; ++z)
        transpose<V>(pixels, kg, out + z * pixels * lanes, lanes,
                     y + ((z0 + z) * e.k + g * kg) * e.p * e.q + i * e.q, e.p * e.q);
    });
  }
};

template <class V> struct indirect_dgrad {
  using T = typename V::value_type;
  static constexpr image_tile tile_of(const conv_extents& e, index_t band) {
    const cotangent_window see(e);
    return {e.k / e.groups, band + see.more_h, 1, ceil_div(e.w, e.stride_w) + see.more_w};
  }
  // Bands are rows of one residue.
  static constexpr indirect_chunk chunk_of(const conv_extents& e) {
    const indirect_chunk k(ceil_div(e.h, e.stride_h), e.stride_h * e.w, 256,
                           e.k / e.groups * (e.c / e.groups) * e.r * e.s);
    return k.with_tiles(tile_of(e, k.band).size());
  }
  static constexpr scratch_need need(const conv_extents& e) {
    const indirect_chunk k = chunk_of(e);
    const index_t lanes = whole_lanes<V>(e.c / e.groups), taps = e.r * e.s;
    return {.packed = e.groups * lanes * (e.k / e.groups) * taps,
            .each = k.images * (tile_of(e, k.band).size() + k.band * e.stride_h * e.w * lanes)};
  }
  /// packed: (group, residue, filter, tap of the residue, channel)
  template <class Team> static void pack(const Team& team, const conv_extents& e, const T* w, T* packed) {
    const index_t kg = e.k / e.groups, cg = e.c / e.groups, taps = e.r * e.s, lanes = whole_lanes<V>(cg);
    team.run(e.k, [&](index_t filter, int) {
      const index_t g = filter / kg, k = filter % kg;
      T* to = packed + g * kg * taps * lanes;
      for (index_t fy = 0; fy < e.stride_h; ++fy)
        for (index_t fx = 0; fx < e.stride_w; ++fx) {
          const index_t count = count_taps(e, fy, fx);
          T* row = to + k * count * lanes;
          to += kg * count * lanes;
          const T* const from = w + filter * cg * taps;
          if (count == taps) transpose<V, true>(cg, taps, from, taps, row, lanes);
          else
            each_tap(e, fy, fx, [&](index_t r, index_t s) {
              for (index_t c = 0; c < lanes; ++c) row[c] = c < cg ? from[c * taps + r * e.s + s] : T(0);
              row += lanes;
            });
        }
    });
  }
  template <class Team> static void run(const Team& team, const conv_extents& e, const T* dy, const T*, T* dx,
                                        const scratch_of_kernel<T>& s) {
    const indirect_chunk k = chunk_of(e);
    const image_tile t = tile_of(e, k.band);
    const cotangent_window see(e);
    const index_t kg = e.k / e.groups, cg = e.c / e.groups, taps = e.r * e.s, lanes = whole_lanes<V>(cg);
    const index_t each = need(e).each, area = e.h * e.w;
    team.run(ceil_div(e.n, k.images) * e.groups * k.bands, [&](index_t chunk, int member) {
      const index_t i = chunk % k.bands * k.band, g = chunk / k.bands % e.groups;
      const index_t z0 = chunk / (k.bands * e.groups) * k.images;
      const index_t images = std::min(k.images, e.n - z0);
      const index_t height = std::min(k.band * e.stride_h, e.h - i * e.stride_h), pixels = height * e.w;
      T* const out = s.each + member * each; // (image, row, column, channel)
      T* const tile = out + k.images * k.band * e.stride_h * e.w * lanes;
      for (index_t z = 0; z < images; ++z)
        fill<V>(t, tile + z * t.size(), dy + ((z0 + z) * e.k + g * kg) * e.p * e.q, e.p, e.q, i + see.low_h,
                see.low_w);
      const T* b = s.packed + g * kg * taps * lanes;
      for (index_t fy = 0; fy < e.stride_h; ++fy)
        for (index_t fx = 0; fx < e.stride_w; ++fx) {
          const index_t rows = ceil_div(height - fy, e.stride_h), cols = ceil_div(e.w - fx, e.stride_w);
          const index_t count = count_taps(e, fy, fx);
          const auto to = [&](index_t m) { // element m of the residue
            const index_t z = m / (rows * cols), at = m % (rows * cols);
            return out +
                   (z * pixels + (at / cols * e.stride_h + fy) * e.w + at % cols * e.stride_w + fx) * lanes;
          };
          if (rows > 0 && cols > 0 && count == 0)
            for (index_t m = 0; m < images * rows * cols; ++m) std::fill_n(to(m), lanes, T(0));
          index_t tap[tap_block];
          int held = 0;
          bool add = false;
          const auto flush = [&] {
            if (rows > 0 && cols > 0)
              rows_of_lanes<V>(images * rows * cols, cg,
                               panel_of_lanes<T>{.outer = kg,
                                                 .a_step = t.plane(),
                                                 .tap = tap,
                                                 .inner = held,
                                                 .b = b,
                                                 .b_step = count * lanes,
                                                 .b_row = lanes,
                                                 .add = add},
                               [&](index_t m) {
                                 const index_t z = m / (rows * cols), at = m % (rows * cols);
                                 return row_of_lanes<T>{
                                     tile + z * t.size() + at / cols * t.line() + at % cols, to(m)};
                               });
            b += held * lanes;
            held = 0;
            add = true;
          };
          each_tap(e, fy, fx, [&](index_t r, index_t x) {
            tap[held++] = see.at(e, fy, fx, r, x, t.line());
            if (held == tap_block) flush();
          });
          if (held > 0) flush();
          b += (kg - 1) * count * lanes;
        }
      for (index_t z = 0; z < images; ++z)
        transpose<V>(pixels, cg, out + z * pixels * lanes, lanes,
                     dx + ((z0 + z) * e.c + g * cg) * area + i * e.stride_h * e.w, area);
    });
  }
};

} // namespace tapeless::cpu
