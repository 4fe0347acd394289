// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// NHWC wgrad by minimal filtering: nchw/winograd_wgrad.hpp with the tiles of nhwc/winograd.hpp. Transformed dy is
// (tiles, filters), transformed x (tiles, channels). Their 16 products sum over the tiles.
#include "../common/tile.hpp"
#include "../common/winograd_transforms.hpp"
#include "../common/winograd_weights.hpp"
#include "winograd.hpp"

namespace tapeless::cpu {

template <class V> struct nhwc_winograd_wgrad {
  using T = typename V::value_type;
  // At least so many products in each point of a slot: each further slot has sums to write and to add.
  static constexpr index_t products_of_slot = 1 << 18;
  struct plan : winograd_wgrad_plan<V, filtered> {
    using base = winograd_wgrad_plan<V, filtered>;
    static constexpr index_t count = 128; // tiles of a unit, at most
    tile_list list;
    index_t pitch; // of the filters of a chunk
    constexpr explicit plan(const conv_extents& e)
        : base(e), list(e.p, e.q, e), pitch(round_up(this->filters, base::W)) {
      this->data_point = apart<T>(count * this->lanes);
      this->cotangent_point = apart<T>(count * pitch);
      this->rest = std::max(this->lanes, pitch);
    }
  };
  static constexpr scratch_need need(const conv_extents& e) { return plan(e).need(); }

  static constexpr bool reads_lists(const conv_extents&) { return true; }
  template <class Team> static void run(const Team& team, const conv_extents& e, const image_batch<T>& x,
                                        const image_batch<T>& dy, T* dw, const scratch_of_kernel<T>& s) {
    const plan p(e);
    const index_t tiles = e.n * p.list.of_image(e), units = ceil_div(tiles, p.count);
    const index_t slots = std::clamp<index_t>(tiles * p.cg * p.kg / products_of_slot, 1, p.slots);
    winograd_wgrad_in_chunks(p, team, e, units, slots, s, dw, [&](const winograd_chunk<T>& c) {
      std::fill_n(c.rest, p.rest, T(0));
      for (index_t u = c.begin; u < c.end; ++u) {
        const index_t first = u * tiles / units, last = (u + 1) * tiles / units;
        winograd_pixels<V>(e, p.list, first, last, x.from(c.g * p.cg), p.cg, c.rest, c.data, p.lanes,
                           p.data_point);
        p.list.each(e, first, last, [&](index_t t, index_t z, index_t i, index_t j) {
          const T* at[filtered][filtered];
          pixels_of_tile<filtered, const T>(dy(z) + c.g * p.kg + c.k0, e.p, e.q, e.k, i, j, e.dil_h, e.dil_w,
                                            c.rest, at);
          transform_pixels<V, winograd<filtered>::cotangent>(at, c.filters, c.cotangent + t * p.pitch,
                                                             p.cotangent_point);
        });
        winograd_products<V, T>(p.points, c.filters, p.lanes, last - first,
                                {c.cotangent, p.cotangent_point, p.pitch}, 1, {c.data, p.data_point, p.lanes},
                                c.sum, p.kg, u > c.begin);
      }
    });
  }
};

} // namespace tapeless::cpu
