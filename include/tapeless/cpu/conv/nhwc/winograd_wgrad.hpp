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
  using B = blocking<V>;
  // At least so many products in each point of a slot: each further slot has sums to write and to add.
  static constexpr index_t products_of_slot = 1 << 18;
  struct plan {
    static constexpr index_t points = filtered_points;
    index_t cg, kg, lanes, filters, blocks; // lanes: whole vectors of channels; filters: of a chunk
    static constexpr index_t count = 128;   // tiles of a unit, at most
    tile_list list;
    index_t group, all, slots; // sums of a group, of all groups; slots: partial sums over the tiles
    constexpr explicit plan(const conv_extents& e)
        : cg(e.c / e.groups), kg(e.k / e.groups), lanes(round_up(cg, B::W)), list(e.p, e.q, e) {
      blocks = ceil_div(kg, 64);
      filters = ceil_div(kg, blocks);
      group = points * kg * lanes;
      all = e.groups * group;
      slots = std::clamp<index_t>((1 << 20) / all, 1, 8);
    }
    constexpr index_t pitch() const { return round_up(filters, B::W); }
    constexpr index_t data_point() const { return apart<T>(count * lanes); }
    constexpr index_t cotangent_point() const { return apart<T>(count * pitch()); }
    constexpr index_t scratch() const {
      return points * (data_point() + cotangent_point()) + std::max(lanes, pitch());
    }
  };
  static constexpr scratch_need need(const conv_extents& e) {
    const plan p(e);
    return {.each = p.scratch(), .shared = (p.slots + 2) * p.all};
  }

  static constexpr bool reads_lists(const conv_extents&) { return true; }
  template <class Team> static void run(const Team& team, const conv_extents& e, const image_batch<T>& x,
                                        const image_batch<T>& dy, T* dw, const scratch_of_kernel<T>& s) {
    const plan p(e);
    const index_t tiles = e.n * p.list.of_image(e), units = ceil_div(tiles, p.count);
    if (units == 0) return void(std::fill_n(dw, e.k * p.cg * 9, T(0)));
    const index_t most =
        std::clamp<index_t>(tiles * p.cg * p.kg / products_of_slot, 1, std::min(p.slots, units));
    const auto all = sum_in_rounds<V>(
        team, units, most, p.all, s.shared, s.shared + (most + 1) * p.all,
        [&](index_t begin_of_all, index_t end_of_all, index_t slots, T* shared) {
          team.run(slots * e.groups * p.blocks, [&](index_t chunk, int member) {
            const index_t k0 = chunk % p.blocks * p.filters, g = chunk / p.blocks % e.groups;
            const index_t slot = chunk / (p.blocks * e.groups), filters = std::min(p.filters, p.kg - k0);
            T* const data = s.each + member * p.scratch();         // (point, tile, channel)
            T* const cotangent = data + p.points * p.data_point(); // (point, tile, filter)
            T* const zeros = cotangent + p.points * p.cotangent_point();
            T* const sum = shared + slot * p.all + g * p.group + k0 * p.lanes; // (point, filter, channel)
            std::fill_n(zeros, std::max(p.lanes, p.pitch()), T(0));
            const index_t some = end_of_all - begin_of_all, begin = begin_of_all + slot * some / slots,
                          end = begin_of_all + (slot + 1) * some / slots;
            for (index_t u = begin; u < end; ++u) {
              const index_t first = u * tiles / units, last = (u + 1) * tiles / units;
              winograd_pixels<V>(e, p.list, first, last, x.from(g * p.cg), p.cg, zeros, data, p.lanes,
                                 p.data_point());
              p.list.each(e, first, last, [&](index_t t, index_t z, index_t i, index_t j) {
                const T* at[filtered][filtered];
                pixels_of_tile<filtered, const T>(dy(z) + g * p.kg + k0, e.p, e.q, e.k, i, j, e.dil_h,
                                                  e.dil_w, zeros, at);
                transform_pixels<V, winograd<filtered>::cotangent>(at, filters, cotangent + t * p.pitch(),
                                                                   p.cotangent_point());
              });
              winograd_products<V, T>(p.points, filters, p.lanes, last - first,
                                      {cotangent, p.cotangent_point(), p.pitch()}, 1,
                                      {data, p.data_point(), p.lanes}, sum, p.kg, u > begin);
            }
          });
        });
    winograd_sums<V, filtered>(team, e, p.lanes, all.p, all.slots, dw);
  }
};

} // namespace tapeless::cpu
