// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// NCHW wgrad by minimal filtering: the transpose of winograd.hpp in the weights. With u the transformed weights,
//   u_bar[point] = transformed dy (filters, tiles) times transformed x (tiles, channels),  dw = Gt u_bar G
// so (M + 2)^2 matrix products sum over the tiles. Lanes of x are channels. An infinity or NaN spreads to all taps
// of its filter or channel.
#include "../common/tile.hpp"
#include "../common/winograd_transforms.hpp"
#include "winograd.hpp"

namespace tapeless::cpu {

/// The tiles of a unit of wgrad: bands of whole lines of one image, or several images.
template <class V, int M> struct winograd_tiles {
  static constexpr index_t W = static_cast<index_t>(V::size), A = M + 2, points = A * A;
  index_t line;                 // tiles of a line: of one row of tiles and one residue modulo dil_w
  index_t band, bands;          // output rows of a unit, a multiple of M dil_h
  index_t images, count, pitch; // count: tiles of a unit, at most; pitch: with room for whole vectors
  image_tile plane;             // one channel of x for a band of one image
  constexpr winograd_tiles(const conv_extents& e, index_t wanted) {
    line = ceil_div(ceil_div(e.q, e.dil_w), index_t(M));
    const index_t step = M * e.dil_h, steps = ceil_div(e.p, step), tiles = e.dil_h * e.dil_w * line;
    bands = ceil_div(steps, std::clamp<index_t>(wanted / tiles, 1, steps));
    const index_t together = ceil_div(steps, bands);
    bands = ceil_div(steps, together);
    band = together * step;
    images = bands > 1 ? 1 : std::clamp<index_t>(wanted / (together * tiles), 1, 8);
    count = images * together * tiles;
    pitch = round_up(count - line + round_up(line, W), 2 * W);
    plane = {1, band + 2 * e.dil_h, M * e.dil_w, round_up(line, W) + 1};
  }
  /// f(first tile, row, residue modulo dil_w) for each line of the first `rows` rows of a band: row is its first.
  template <class F> void each_line(const conv_extents& e, index_t rows, F&& f) const {
    index_t first = 0;
    for (index_t i = 0; i < rows; i += M * e.dil_h)
      for (index_t y = i; y < i + e.dil_h; ++y)
        for (index_t x = 0; x < e.dil_w; ++x, first += line) f(first, y, x);
  }
  constexpr index_t tiles_of_rows(const conv_extents& e, index_t rows) const {
    return ceil_div(rows, M * e.dil_h) * e.dil_h * e.dil_w * line;
  }
};

/// to[i * to_point + t * to_tile] = one vector of channels of the transformed inputs of tile t < n;
/// x: (row, column, W channels), its tiles M * next apart
template <class V, int M, class T> [[gnu::noinline]] void winograd_channels(index_t n, const T* x,
                                                                            index_t x_row, index_t next,
                                                                            T* to, index_t to_point,
                                                                            index_t to_tile) {
  constexpr int A = M + 2;
  for (index_t t = 0; t < n; ++t, x += M * next, to += to_tile) {
    V d[A][A], r[A][A];
#pragma GCC unroll 8
    for (int a = 0; a < A; ++a)
#pragma GCC unroll 8
      for (int b = 0; b < A; ++b) d[a][b] = load<V>(x + a * x_row + b * next);
    both_axes(typename winograd<M>::data{}, d, r);
#pragma GCC unroll 8
    for (int a = 0; a < A; ++a)
#pragma GCC unroll 8
      for (int b = 0; b < A; ++b) store(to + (a * A + b) * to_point, r[a][b]);
  }
}
/// to[i * to_point + j] = transformed cotangents of the tiles j < n (and up to a whole vector)
template <class V, int M, class T> [[gnu::noinline]] void winograd_cotangent(index_t n, const T* y,
                                                                             index_t y_row, index_t next,
                                                                             T* to, index_t to_point) {
  constexpr int A = M + 2;
  for (index_t j = 0; j < n; j += static_cast<index_t>(V::size)) {
    V d[M][M], r[A][A];
#pragma GCC unroll 8
    for (int a = 0; a < M; ++a)
#pragma GCC unroll 8
      for (int b = 0; b < M; ++b) d[a][b] = load<V>(y + a * y_row + b * next + j);
    both_axes(typename winograd<M>::cotangent{}, d, r);
#pragma GCC unroll 8
    for (int a = 0; a < A; ++a)
#pragma GCC unroll 8
      for (int b = 0; b < A; ++b) store(to + (a * A + b) * to_point + j, r[a][b]);
  }
}

template <class V, int M> struct winograd_wgrad {
  using T = typename V::value_type;
  using B = blocking<V>;
  struct plan {
    static constexpr index_t W = B::W, points = (M + 2) * (M + 2), element = static_cast<index_t>(sizeof(T));
    index_t cg, kg, lanes, filters, blocks; // lanes: whole vectors of channels; filters: of a chunk
    winograd_tiles<V, M> tiles;
    index_t columns, image;    // of W channels of a band of x
    index_t group, all, slots; // sums of a group, of all groups; slots: partial sums over the images
    constexpr explicit plan(const conv_extents& e)
        : cg(e.c / e.groups),
          kg(e.k / e.groups),
          lanes(round_up(cg, W)),
          tiles(e, std::clamp<index_t>((1 << 18) / (element * points * lanes), 32, 256)) {
      blocks = ceil_div(kg, 64);
      filters = ceil_div(kg, blocks);
      columns = e.dil_w * (M * tiles.line + 2);
      image = (tiles.band + 2 * e.dil_h) * columns * W;
      group = points * kg * lanes;
      all = e.groups * group;
      slots = std::clamp<index_t>((1 << 20) / all, 1, 8);
    }
    constexpr index_t data_point() const { return apart<T>(tiles.count * lanes); }
    constexpr index_t cotangent_point() const { return apart<T>(filters * tiles.pitch); }
    constexpr index_t scratch() const {
      return points * (data_point() + cotangent_point()) + std::max(image, tiles.plane.size());
    }
  };
  static constexpr scratch_need need(const conv_extents& e) {
    const plan p(e);
    return {.each = p.scratch(), .shared = (p.slots + 2) * p.all};
  }

  /// Transformed x of one image: `channels` channels, rows from y0 on.
  static void transform_data(const plan& p, const conv_extents& e, index_t rows, index_t y0, const T* x,
                             T* tile, T* to) {
    for (index_t c = 0; c < p.cg; c += p.W) {
      const index_t channels = std::min(p.W, p.cg - c);
      for (index_t i = 0; i < round_up(rows, M * e.dil_h) + 2 * e.dil_h; ++i) {
        T* const line = tile + i * p.columns * p.W;
        const index_t y = y0 + i;
        if (y < 0 || y >= e.h) {
          std::fill_n(line, p.columns * p.W, T(0));
          continue;
        }
        std::fill_n(line, e.pad_left * p.W, T(0));
        transpose<V, true>(channels, e.w, x + (c * e.h + y) * e.w, e.h * e.w, line + e.pad_left * p.W, p.W);
        std::fill_n(line + (e.pad_left + e.w) * p.W, (p.columns - e.pad_left - e.w) * p.W, T(0));
      }
      p.tiles.each_line(e, rows, [&](index_t first, index_t row, index_t residue) {
        winograd_channels<V, M>(p.tiles.line, tile + (row * p.columns + residue) * p.W,
                                e.dil_h * p.columns * p.W, e.dil_w * p.W, to + first * p.lanes + c,
                                p.data_point(), p.lanes);
      });
    }
  }

  static constexpr bool reads_lists(const conv_extents&) { return true; }
  template <class Team> static void run(const Team& team, const conv_extents& e, const image_batch<T>& x,
                                        const image_batch<T>& dy, T* dw, const scratch_of_kernel<T>& s) {
    const plan p(e);
    const winograd_tiles<V, M>& t = p.tiles;
    const index_t units = ceil_div(e.n, t.images) * t.bands;
    if (units == 0) return void(std::fill_n(dw, e.k * p.cg * 9, T(0)));
    const auto all = sum_in_rounds<V>(
        team, units, p.slots, p.all, s.shared, s.shared + (p.slots + 1) * p.all,
        [&](index_t begin_of_all, index_t last, index_t slots, T* shared) {
          team.run(slots * e.groups * p.blocks, [&](index_t chunk, int member) {
            const index_t k0 = chunk % p.blocks * p.filters, g = chunk / p.blocks % e.groups;
            const index_t slot = chunk / (p.blocks * e.groups), filters = std::min(p.filters, p.kg - k0);
            T* const data = s.each + member * p.scratch();         // (point, tile, channel)
            T* const cotangent = data + p.points * p.data_point(); // (point, filter, tile)
            T* const tile = cotangent + p.points * p.cotangent_point();
            T* const sum = shared + slot * p.all + g * p.group + k0 * p.lanes; // (point, filter, channel)
            const index_t count = last - begin_of_all, begin = begin_of_all + slot * count / slots,
                          end = begin_of_all + (slot + 1) * count / slots;
            for (index_t u = begin; u < end; ++u) {
              const index_t z0 = u / t.bands * t.images, i = u % t.bands * t.band;
              const index_t images = std::min(t.images, e.n - z0), rows = std::min(t.band, e.p - i);
              const index_t tiles = t.tiles_of_rows(e, rows);
              for (index_t z = 0; z < images; ++z)
                transform_data(p, e, rows, i - e.pad_top, x(z0 + z) + g * p.cg * e.h * e.w, tile,
                               data + z * tiles * p.lanes);
              image_tile plane = t.plane;
              plane.rows = t.band;
              for (index_t k = 0; k < filters; ++k)
                for (index_t z = 0; z < images; ++z) {
                  fill<V>(plane, tile, dy(z0 + z) + (g * p.kg + k0 + k) * e.p * e.q, e.p, e.q, i, index_t(0));
                  t.each_line(e, rows, [&](index_t first, index_t row, index_t residue) {
                    winograd_cotangent<V, M>(t.line, tile + row * plane.line() + residue * plane.width,
                                             e.dil_h * plane.line(), e.dil_w * plane.width,
                                             cotangent + k * t.pitch + z * tiles + first,
                                             p.cotangent_point());
                  });
                }
              winograd_products<V, T>(p.points, filters, p.lanes, images * tiles,
                                      {cotangent, p.cotangent_point(), 1}, t.pitch,
                                      {data, p.data_point(), p.lanes}, sum, p.kg, u > begin);
            }
          });
        });
    winograd_sums<V, M>(team, e, p.lanes, all.p, all.slots, dw);
  }
};

} // namespace tapeless::cpu
