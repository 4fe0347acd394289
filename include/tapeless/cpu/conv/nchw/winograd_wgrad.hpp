// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// NCHW wgrad by minimal filtering: the transpose of winograd.hpp in the weights. With u the transformed weights,
//   u_bar[point] = transformed dy (filters, tiles) times transformed x (tiles, channels),  dw = Gt u_bar G
// so (M + 2)^2 matrix products sum over the tiles. Lanes of x are channels. An infinity or NaN spreads to all taps
// of its filter or channel.
#include "../common/tile.hpp"
#include "../common/winograd_transforms.hpp"
#include "../common/winograd_weights.hpp"
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
  struct plan : winograd_wgrad_plan<V, M> {
    using base = winograd_wgrad_plan<V, M>;
    using base::lanes, base::points, base::W;
    winograd_tiles<V, M> tiles;
    index_t columns; // of W channels of a band of x
    constexpr explicit plan(const conv_extents& e)
        : base(e),
          tiles(e,
                std::clamp<index_t>((1 << 18) / (static_cast<index_t>(sizeof(T)) * points * lanes), 32, 256)),
          columns(e.dil_w * (M * tiles.line + 2)) {
      this->data_point = apart<T>(tiles.count * lanes);
      this->cotangent_point = apart<T>(this->filters * tiles.pitch);
      this->rest = std::max((tiles.band + 2 * e.dil_h) * columns * W, tiles.plane.size());
    }
  };
  static constexpr scratch_need need(const conv_extents& e) { return plan(e).need(); }

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
                                p.data_point, p.lanes);
      });
    }
  }

  static constexpr bool reads_lists(const conv_extents&) { return true; }
  template <class Team> static void run(const Team& team, const conv_extents& e, const image_batch<T>& x,
                                        const image_batch<T>& dy, T* dw, const scratch_of_kernel<T>& s) {
    const plan p(e);
    const winograd_tiles<V, M>& t = p.tiles;
    winograd_wgrad_in_chunks(
        p, team, e, ceil_div(e.n, t.images) * t.bands, p.slots, s, dw, [&](const winograd_chunk<T>& c) {
          for (index_t u = c.begin; u < c.end; ++u) {
            const index_t z0 = u / t.bands * t.images, i = u % t.bands * t.band;
            const index_t images = std::min(t.images, e.n - z0), rows = std::min(t.band, e.p - i);
            const index_t tiles = t.tiles_of_rows(e, rows);
            for (index_t z = 0; z < images; ++z)
              transform_data(p, e, rows, i - e.pad_top, x(z0 + z) + c.g * p.cg * e.h * e.w, c.rest,
                             c.data + z * tiles * p.lanes);
            image_tile plane = t.plane;
            plane.rows = t.band;
            for (index_t k = 0; k < c.filters; ++k)
              for (index_t z = 0; z < images; ++z) {
                fill<V>(plane, c.rest, dy(z0 + z) + (c.g * p.kg + c.k0 + k) * e.p * e.q, e.p, e.q, i,
                        index_t(0));
                t.each_line(e, rows, [&](index_t first, index_t row, index_t residue) {
                  winograd_cotangent<V, M>(t.line, c.rest + row * plane.line() + residue * plane.width,
                                           e.dil_h * plane.line(), e.dil_w * plane.width,
                                           c.cotangent + k * t.pitch + z * tiles + first, p.cotangent_point);
                });
              }
            winograd_products<V, T>(p.points, c.filters, p.lanes, images * tiles,
                                    {c.cotangent, p.cotangent_point, 1}, t.pitch,
                                    {c.data, p.data_point, p.lanes}, c.sum, p.kg, u > c.begin);
          }
        });
  }
};

} // namespace tapeless::cpu
