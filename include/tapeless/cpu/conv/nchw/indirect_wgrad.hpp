// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// NCHW wgrad whose lanes are filters: a row is a (channel, tap), a tap of the microkernel is an output pixel.
#include "../common/row_panel.hpp"
#include "../common/tile.hpp"
#include "indirect.hpp"

namespace tapeless::cpu {

template <class V> struct indirect_wgrad {
  using T = typename V::value_type;
  static constexpr index_t most_pixels = 512; // their offsets lie on the stack
  static constexpr bool takes(const conv_extents& e) { return e.q <= most_pixels; }
  struct plan {
    indirect_chunk k;
    // filters and channels of a chunk; blocks and cuts: how many chunks for all; slots: partial sums over the images
    index_t filters, blocks, channels, cuts, slots, lanes, columns;
    constexpr explicit plan(const conv_extents& e) : k(e.p, e.q, pixels_of(e), 1) {
      const index_t kg = e.k / e.groups, cg = e.c / e.groups;
      columns = cg * e.r * e.s;
      slots = slots_of(e);
      blocks = ceil_div(kg, 128);
      filters = ceil_div(kg, blocks);
      lanes = whole_lanes<V>(filters);
      // eight chunks for a team, but dy is transposed in each
      cuts =
          std::clamp<index_t>(ceil_div(8, slots * e.groups * blocks), 1, std::max<index_t>(columns / 128, 1));
      channels = ceil_div(cg, cuts);
      cuts = ceil_div(cg, channels);
      k = k.with_tiles(indirect_input<V>(e, channels, k.band).tile() + k.band * e.q * lanes);
    }
  };
  static constexpr index_t slots_of(const conv_extents& e) {
    return std::clamp<index_t>((1 << 19) / (e.k * (e.c / e.groups) * e.r * e.s), 1, 8);
  }
  static constexpr index_t pixels_of(const conv_extents& e) {
    return slots_of(e) > 1 ? std::clamp<index_t>(e.p * e.q / 4, 128, most_pixels) : most_pixels;
  }
  static constexpr scratch_need need(const conv_extents& e) {
    const plan p(e);
    return {
        .each = p.k.images * (indirect_input<V>(e, p.channels, p.k.band).tile() + p.k.band * e.q * p.lanes),
        .shared = (p.slots + 2) * e.groups * p.blocks * p.columns * p.lanes};
  }
  static constexpr bool reads_lists(const conv_extents& e) {
    return plan(e).k.images == 1 || !indirect_input<V>(e, plan(e).channels, plan(e).k.band).in_place;
  }
  template <class Team> static void run(const Team& team, const conv_extents& e, const image_batch<T>& x,
                                        const image_batch<T>& dy, T* dw, const scratch_of_kernel<T>& s) {
    const plan p(e);
    const indirect_chunk& k = p.k;
    const indirect_input<V> in(e, p.channels, k.band);
    const index_t kg = e.k / e.groups, cg = e.c / e.groups, taps = e.r * e.s, each = need(e).each;
    const index_t together = k.bands > 1 ? 1 : std::clamp<index_t>(ceil_div(e.n, p.slots), 1, k.images);
    const index_t units = ceil_div(e.n, together) * k.bands;
    const index_t block = p.columns * p.lanes, parts = e.groups * p.blocks;
    if (units == 0 || e.p * e.q == 0) return void(std::fill_n(dw, e.k * p.columns, T(0)));
    const auto all = sum_in_rounds<V>(
        team, units, p.slots, parts * block, s.shared, s.shared + (p.slots + 1) * parts * block,
        [&](index_t first, index_t last, index_t slots, T* shared) {
          team.run(slots * parts * p.cuts, [&](index_t chunk, int member) {
            const index_t at_sum = chunk / p.cuts; // shared: (slot, group, block, c, tap, filter)
            const index_t k0 = at_sum % p.blocks * p.filters, g = at_sum / p.blocks % e.groups,
                          slot = at_sum / parts;
            const index_t c0 = chunk % p.cuts * p.channels, channels = std::min(p.channels, cg - c0);
            const index_t filters = std::min(p.filters, kg - k0);
            T* const rows_of_dy = s.each + member * each; // (image, row, column, filter)
            T* const tile = rows_of_dy + k.images * k.band * e.q * p.lanes;
            T* const sum = shared + at_sum * block + c0 * taps * p.lanes;
            const index_t begin = first + slot * (last - first) / slots,
                          end = first + (slot + 1) * (last - first) / slots;
            for (index_t u = begin; u < end; ++u) {
              const index_t z0 = u / k.bands * together, i = u % k.bands * k.band;
              const index_t images = std::min(together, e.n - z0), rows = std::min(k.band, e.p - i);
              const index_t pixels = rows * e.q;
              const image_view<T> v = in.view(e, x, z0, images, g * cg + c0, channels, i, tile);
              for (index_t z = 0; z < images; ++z)
                transpose<V, true>(filters, pixels, dy(z0 + z) + (g * kg + k0) * e.p * e.q + i * e.q,
                                   e.p * e.q, rows_of_dy + z * pixels * p.lanes, p.lanes);
              index_t at[most_pixels];
              for (index_t m = 0; m < pixels; ++m)
                at[m] = m / e.q * e.stride_h * v.line + m % e.q * e.stride_w;
              const panel_of_lanes<T> panel{.outer = images,
                                            .a_step = v.image,
                                            .tap = at,
                                            .inner = static_cast<int>(pixels),
                                            .b = rows_of_dy,
                                            .b_step = pixels * p.lanes,
                                            .b_row = p.lanes,
                                            .add = u > begin};
              rows_of_lanes<V>(channels * taps, filters, panel, [&](index_t m) {
                return row_of_lanes<T>{v.p + m / taps * v.plane + in.tap(e, m % taps, v.line),
                                       sum + m * p.lanes};
              });
            }
          });
        });
    constexpr index_t part = 256; // rows of the sum
    const index_t cuts = ceil_div(p.columns, part);
    team.run(parts * cuts, [&](index_t chunk, int) {
      const index_t m = chunk % cuts * part, b = chunk / cuts, rows = std::min(part, p.columns - m);
      const index_t k0 = b % p.blocks * p.filters, g = b / p.blocks;
      T* const sum = all.p + b * block + m * p.lanes;
      for (index_t slot = 1; slot < all.slots; ++slot)
        for (index_t j = 0; j < rows * p.lanes; ++j) sum[j] += sum[slot * parts * block + j];
      transpose<V>(rows, std::min(p.filters, kg - k0), sum, p.lanes, dw + (g * kg + k0) * p.columns + m,
                   p.columns);
    });
  }
};

} // namespace tapeless::cpu
