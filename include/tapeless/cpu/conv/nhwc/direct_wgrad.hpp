// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Direct NHWC wgrad: a row is a pair of channel and tap, lanes are filters, sums run over output pixels. dy is
// copied into panels of lanes, x into blocks of few channels with zero padding: a microkernel reads contiguous
// memory. Sums over parts of the batch (slots) are added in their order.
#include "../common/row_panel.hpp"
#include "../common/tile.hpp"
#include "direct.hpp"
#include "run_panel.hpp"

namespace tapeless::cpu {

template <class V> struct nhwc_direct_wgrad {
  using T = typename V::value_type;
  static constexpr index_t W = static_cast<index_t>(V::size), NR = lane_blocking<V>::NR;
  static constexpr index_t most_pixels = 512; // of one unit; their offsets lie on the stack
  static constexpr index_t most_block = 2 * lane_blocking<V>::rows(lane_blocking<V>::NV);

  struct plan {
    index_t cg, kg, taps, lanes;
    index_t cols, segments, band, bands, images; // a unit: some columns, rows and images of dy
    index_t rows, width;                         // the part of one image that it reads
    index_t block, blocks, part; // channels that lie side by side; how many such blocks; in one tile
    index_t pitch;               // from block to block of a tile; the last pixel is written as whole vectors
    index_t slots;
    constexpr explicit plan(const conv_extents& e)
        : cg(e.c / e.groups), kg(e.k / e.groups), taps(e.r * e.s), lanes(whole_lanes<V>(kg)) {
      const index_t p = std::max<index_t>(e.p, 1), q = std::max<index_t>(e.q, 1);
      constexpr index_t pixels = 256;
      segments = ceil_div(q, most_pixels), cols = ceil_div(q, segments), segments = ceil_div(q, cols);
      bands = ceil_div(p, std::clamp<index_t>(pixels / cols, 1, p));
      band = ceil_div(p, bands), bands = ceil_div(p, band);
      images = bands * segments > 1 ? 1 : std::max<index_t>(1, pixels / (band * cols));
      rows = (band - 1) * e.stride_h + (e.r - 1) * e.dil_h + 1;
      width = (cols - 1) * e.stride_w + (e.s - 1) * e.dil_w + 1;
      block = cg <= most_block ? cg : most_block / 2;
      blocks = ceil_div(cg, block);
      pitch = images * rows * width * block + W;
      part = std::clamp<index_t>((128 << 10) / static_cast<index_t>(sizeof(T)) / pitch, 1, blocks);
      slots = std::clamp<index_t>((1 << 18) / (e.k * cg * taps), 1, 8);
    }
    constexpr index_t size() const { return cg * taps * lanes; } // sums of a group
    constexpr index_t dy() const { return images * band * cols * lanes; }
    constexpr index_t tile() const { return part * pitch; }
    constexpr index_t each() const { return dy() + tile() + block * taps * NR; }
  };
  static constexpr scratch_need need(const conv_extents& e) {
    const plan p(e);
    return {.each = p.each(), .shared = (p.slots + 2) * e.groups * p.size()};
  }

  /// to: (block, image, row, column, channel of the block), from channel c of the pixel on.
  static void fill_blocks(const conv_extents& e, const plan& p, index_t blocks, index_t images, index_t c,
                          index_t channels, const image_batch<T>& x, index_t z0, index_t y0, index_t x0,
                          T* to) {
    const index_t first = std::clamp<index_t>(-x0, 0, p.width);
    const index_t end = std::clamp<index_t>(e.w - x0, first, p.width);
    for (index_t b = 0; b < blocks; ++b, c += p.block, channels -= p.block) {
      const index_t here = std::min(channels, p.block);
      T* pixel = to + b * p.pitch;
      const auto copy = [&](auto nv,
                            auto whole) { // in this order: the next pixel overwrites the end of a vector
        for (index_t z = 0; z < images; ++z) {
          const T* const image = x(z0 + z);
          for (index_t i = y0; i < y0 + p.rows; ++i) {
            const bool inside = i >= 0 && i < e.h;
            const T* from = inside ? image + (i * e.w + x0 + first) * e.c + c : image;
            for (index_t j = 0; j < p.width; ++j, pixel += p.block) {
              const bool zero = !inside || j < first || j >= end;
              unroll<nv.value>([&](auto v) __attribute__((always_inline)) {
                const V value = zero ? V(T(0))
                                : whole.value
                                    ? load<V>(from + v * W)
                                    : load_n<V>(from + v * W, std::clamp<index_t>(here - v * W, 0, W));
                store(pixel + v * W, value);
              });
              if (!zero) from += e.c;
            }
          }
        }
      };
      const index_t vectors = ceil_div(p.block, W);
      unroll<static_cast<int>(ceil_div(most_block, W))>([&](auto v) {
        constexpr int NV = v.value + 1;
        if (vectors != NV) return;
        // whole vectors stay within the pixel
        if (c + NV * W <= e.c) copy(std::integral_constant<int, NV>{}, std::true_type{});
        else copy(std::integral_constant<int, NV>{}, std::false_type{});
      });
    }
  }
  /// to: (panel of lanes, pixel, lane), whole vectors.
  static void fill_panels(const conv_extents& e, const pixel_grid& g, index_t lanes, const image_batch<T>& dy,
                          index_t z0, T* to) {
    for (index_t j = 0; j < lanes; j += NR) {
      const index_t here = std::min(NR, lanes - j);
      for (index_t z = 0; z < g.images; ++z)
        for (index_t i = 0; i < g.rows; ++i) {
          const T* from = dy(z0 + z) + i * g.from.row + j;
          for (index_t x = 0; x < g.cols; ++x, from += e.k)
            for (index_t v = 0; v < here; v += W, to += W)
              store(to, here - v >= W ? load<V>(from + v) : load_n<V>(from + v, here - v));
        }
    }
  }

  static constexpr bool reads_lists(const conv_extents&) { return true; }
  template <class Team> static void run(const Team& team, const conv_extents& e, const image_batch<T>& x,
                                        const image_batch<T>& dy, T* dw, const scratch_of_kernel<T>& s) {
    if (e.n == 0) return void(std::fill_n(dw, e.k * (e.c / e.groups) * e.r * e.s, T(0)));
    const plan p(e);
    const index_t columns = p.cg * p.taps, of_image = p.bands * p.segments;
    const index_t together = of_image > 1 ? 1 : std::clamp<index_t>(ceil_div(e.n, p.slots), 1, p.images);
    const index_t units = ceil_div(e.n, together) * of_image;
    const index_t panels = ceil_div(p.kg, NR);
    const auto all = sum_in_rounds<V>(
        team, units, p.slots, e.groups * p.size(), s.shared, s.shared + (p.slots + 1) * e.groups * p.size(),
        [&](index_t first, index_t last, index_t slots, T* shared) {
          const bool straight = units == last - first && slots == 1; // to dw
          const index_t cuts =
              team.size() == 1 ? 1 : std::clamp<index_t>(4 * team.size() / (slots * e.groups), 1, panels);
          team.run(slots * e.groups * cuts, [&](index_t chunk, int member) {
            const index_t cut = chunk % cuts, g = chunk / cuts % e.groups, slot = chunk / (cuts * e.groups);
            const index_t k0 = panels * cut / cuts * NR, k1 = std::min(p.kg, panels * (cut + 1) / cuts * NR);
            T* const rows_of_dy = s.each + member * p.each();
            T* const tile = rows_of_dy + p.dy();
            T* const spare = tile + p.tile();
            const index_t begin = first + slot * (last - first) / slots,
                          end = first + (slot + 1) * (last - first) / slots;
            for (index_t u = begin; u < end; ++u) {
              const index_t q = u % p.segments * p.cols, i = u / p.segments % p.bands * p.band;
              const index_t z = u / of_image * together;
              const pixel_grid grid{
                  std::min(together, e.n - z),
                  std::min(p.band, e.p - i),
                  std::min(p.cols, e.q - q),
                  {e.p * e.q * e.k, e.q * e.k, e.k},
                  {p.rows * p.width * p.block, e.stride_h * p.width * p.block, e.stride_w * p.block}};
              fill_panels(e, grid, k1 - k0, dy.from((i * e.q + q) * e.k + g * p.kg + k0), z, rows_of_dy);
              index_t at[most_pixels];
              int pixels = 0;
              for (index_t m = 0; m < grid.images; ++m)
                for (index_t y = 0; y < grid.rows; ++y)
                  for (index_t j = 0; j < grid.cols; ++j)
                    at[pixels++] = m * grid.to.image + y * grid.to.row + j * grid.to.col;
              for (index_t b = 0; b < p.blocks; b += p.part) {
                const index_t blocks = std::min(p.part, p.blocks - b), c = b * p.block;
                fill_blocks(e, p, blocks, grid.images, g * p.cg + c, p.cg - c, x, z,
                            i * e.stride_h - e.pad_top, q * e.stride_w - e.pad_left, tile);
                // sums: (slot, group, panel, c, tap, filter of the panel); with one unit they go to dw
                T* const sum = shared + (slot * e.groups + g) * p.size() + k0 * columns;
                for (index_t j = 0; j < k1 - k0; j += NR)
                  for (index_t m = 0; m < blocks; ++m) {
                    const index_t lanes = whole_lanes<V>(std::min(NR, k1 - k0 - j)), c1 = c + m * p.block;
                    T* const to = units == 1 ? spare : sum + j * columns + c1 * p.taps * lanes;
                    const index_t rows = std::min(p.block, p.cg - c1) * p.taps;
                    rows_of_block(e, p, rows, lanes, pixels, at, tile + m * p.pitch, rows_of_dy + j * pixels,
                                  to, u > begin);
                    if (straight && u + 1 == end)
                      transpose<V>(rows, std::min(NR, k1 - k0 - j), to, lanes,
                                   dw + (g * p.kg + k0 + j) * columns + c1 * p.taps, columns);
                  }
              }
            }
          });
        });
    if (all.slots == 1 && all.p == s.shared) return;
    constexpr index_t part = 256; // rows of the sum
    const index_t parts = ceil_div(columns, part);
    team.run(e.groups * panels * parts, [&](index_t chunk, int) {
      const index_t m = chunk % parts * part, j = chunk / parts % panels * NR, g = chunk / (parts * panels);
      const index_t rows = std::min(part, columns - m), lanes = whole_lanes<V>(std::min(NR, p.kg - j));
      T* const sum = all.p + g * p.size() + j * columns + m * lanes;
      for (index_t slot = 1; slot < all.slots; ++slot)
        for (index_t l = 0; l < rows * lanes; ++l) sum[l] += sum[slot * e.groups * p.size() + l];
      transpose<V>(rows, std::min(NR, p.kg - j), sum, lanes, dw + (g * p.kg + j) * columns + m, columns);
    });
  }

  /// sum[(c, tap), lane] (+)= sum over the pixels for the channels of one block
  static void rows_of_block(const conv_extents& e, const plan& p, index_t rows, index_t lanes, int pixels,
                            const index_t* at, const T* x, const T* dy, T* sum, bool add) {
    const panel_of_lanes<T> panel{.outer = 1,
                                  .a_step = 0,
                                  .tap = at,
                                  .inner = pixels,
                                  .b = dy,
                                  .b_step = 0,
                                  .b_row = lanes,
                                  .add = add};
    index_t c = 0, r = 0, t = 0; // of the next row
    const auto next = [&](index_t m) {
      const row_of_lanes<T> row{x + (r * e.dil_h * p.width + t * e.dil_w) * p.block + c, sum + m * lanes};
      if (++t == e.s) {
        t = 0;
        if (++r == e.r) r = 0, ++c;
      }
      return row;
    };
    unroll<lane_blocking<V>::NV>([&](auto v) {
      constexpr int NV = v.value + 1, M = lane_blocking<V>::rows(NV);
      if (lanes != NV * W) return;
      T none[NV * W]{};
      row_of_lanes<T> block[M];
      for (index_t m = 0; m < rows; m += M) {
        for (index_t i = 0; i < M; ++i) {
          if (m + i < rows) block[i] = next(m + i);
          else block[i] = {x, none};
        }
        rows_kernel<V, M, NV>(block, panel);
      }
    });
  }
};

} // namespace tapeless::cpu
