// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Minimal filtering in both layouts: the transform of the weights; in wgrad the products of transformed tiles, and the
// transposed transform of their sums.
#include <algorithm>
#include <type_traits>
#include "../../../core/geometry.hpp"
#include "../../base/simd.hpp"
#include "../../base/transpose.hpp"
#include "../../matmul/micro.hpp"
#include "winograd_transforms.hpp"

namespace tapeless::cpu {

/// The distance of two matrices, if all points are written together: a multiple of 4 KiB and one cache line.
template <class T> constexpr index_t apart(index_t elements) {
  constexpr index_t element = static_cast<index_t>(sizeof(T));
  return round_up(elements, 4096 / element) + 64 / element;
}

/// to[(point * rows + row) * pitch + i] = transformed weights, i < n, in whole vectors: the pitch has room for them;
/// filter (row, i) at w[row * w_row + i * w_step], its taps reversed where asked
template <class V, int M, bool Reversed, class Team, class T>
void winograd_weights(const Team& team, index_t rows, index_t n, const T* w, index_t w_row, index_t w_step,
                      T* to, index_t pitch) {
  constexpr index_t W = static_cast<index_t>(V::size);
  constexpr int A = M + 2;
  team.run(rows, [&](index_t row, int) {
    for (index_t i = 0; i < n; i += W) {
      T taps[9 * V::size];
      transpose<V, true>(std::min(W, n - i), 9, w + row * w_row + i * w_step, w_step, taps, W);
      V f[3][3], r[A][A];
      unroll<9>([&](auto t) { f[t / 3][t % 3] = load<V>(taps + (Reversed ? 8 - t : t.value) * W); });
      both_axes(typename winograd<M>::weights{}, f, r);
      unroll<A * A>([&](auto p) { store(to + (p * rows + row) * pitch + i, r[p / A][p % A]); });
    }
  });
}

/// Transformed tiles: channel or filter i of (point, tile) at p[point * point_step + tile * tile_step + i].
template <class T> struct winograd_operand {
  const T* p;
  index_t point_step, tile_step;
};
/// sums[point, filter, channel] (+)= the products of dy (`filters`, which lie dy_step apart) and x (`lanes` channels) over the
/// tiles. A point of the sums has `kg` filters of `lanes` channels.
template <class V, class T>
void winograd_products(index_t points, index_t filters, index_t lanes, index_t tiles,
                       const winograd_operand<T>& dy, index_t dy_step, const winograd_operand<T>& x, T* sums,
                       index_t kg, bool add) {
  using B = blocking<V>;
  for (index_t q = 0; q < points; ++q)
    for (index_t c = 0; c < lanes; c += B::NR)
      row_blocks<B::MR>(filters, [&](index_t k, index_t m) {
        const auto run = [&](auto nv) {
          micro_rows<V, nv.value>(m, tiles, dy.p + q * dy.point_step + k * dy_step, dy_step, dy.tile_step,
                                  x.p + q * x.point_step + c, x.tile_step, sums + (q * kg + k) * lanes + c,
                                  lanes, B::W, add);
        };
        if (lanes - c > B::W) run(std::integral_constant<int, 2>{});
        else run(std::integral_constant<int, 1>{});
      });
}

/// dw = the transposed transform of the weights, of the sums of all slots, in their order: (slot, group, point, filter,
/// channel), `lanes` of them
template <class V, int M, class Team, class T>
void winograd_sums(const Team& team, const conv_extents& e, index_t lanes, const T* sums, index_t slots,
                   T* dw) {
  constexpr index_t W = static_cast<index_t>(V::size);
  constexpr int A = M + 2;
  const index_t cg = e.c / e.groups, kg = e.k / e.groups, slot_size = e.k * A * A * lanes;
  team.run(e.k, [&](index_t filter, int) {
    const T* const sum = sums + (filter / kg * A * A * kg + filter % kg) * lanes;
    for (index_t c = 0; c < cg; c += W) {
      V u[A][A], f[3][3];
      unroll<A * A>([&](auto q) {
        const T* const from = sum + q * kg * lanes + c;
        V v = load<V>(from);
        for (index_t slot = 1; slot < slots; ++slot) v += load<V>(from + slot * slot_size);
        u[q / A][q % A] = v;
      });
      both_axes(typename winograd<M>::weights_cotangent{}, u, f);
      T taps[9 * V::size];
      unroll<9>([&](auto q) { store(taps + q * V::size, f[q / 3][q % 3]); });
      interleave<V>(9, std::min(W, cg - c), taps, W, dw + (filter * cg + c) * 9);
    }
  });
}

/// What wgrad plans in both layouts: sums over the tiles, (slot, group, point, filter, channel), in chunks of filters.
template <class V, int M> struct winograd_wgrad_plan {
  using T = typename V::value_type;
  static constexpr index_t W = static_cast<index_t>(V::size), points = (M + 2) * (M + 2);
  index_t cg, kg, lanes;     // lanes: whole vectors of channels
  index_t blocks, filters;   // chunks of a group, filters of a chunk
  index_t group, all, slots; // sums of a group, of all groups; slots: partial sums over the tiles
  index_t data_point = 0, cotangent_point = 0, rest = 0; // scratch: a point of x and of dy, and other
  constexpr explicit winograd_wgrad_plan(const conv_extents& e)
      : cg(e.c / e.groups),
        kg(e.k / e.groups),
        lanes(round_up(cg, W)),
        blocks(ceil_div(kg, 64)),
        filters(ceil_div(kg, blocks)),
        group(points * kg * lanes),
        all(e.groups * group),
        slots(std::clamp<index_t>((1 << 20) / all, 1, 8)) {}
  constexpr index_t scratch() const { return points * (data_point + cotangent_point) + rest; }
  constexpr scratch_need need() const { return {.each = scratch(), .shared = (slots + 2) * all}; }
};
/// A chunk: the filters [k0, k0 + filters) of a group, and the units [begin, end) of a slot.
template <class T> struct winograd_chunk {
  index_t g, k0, filters, begin, end;
  T *data, *cotangent, *rest; // transformed x, (point, tile, channel); transformed dy; other scratch
  T* sum;                     // (point, filter, channel)
};
/// dw in up to `slots` slots: add_up(chunk) makes the sums of a chunk over its units.
template <class V, int M, class Team, class T, class AddUp>
void winograd_wgrad_in_chunks(const winograd_wgrad_plan<V, M>& p, const Team& team, const conv_extents& e,
                              index_t units, index_t slots, const scratch_of_kernel<T>& s, T* dw,
                              const AddUp& add_up) {
  if (units == 0) return void(std::fill_n(dw, e.k * p.cg * 9, T(0)));
  const auto all = sum_in_rounds<V>(
      team, units, slots, p.all, s.shared, s.shared + (slots + 1) * p.all,
      [&](index_t first, index_t last, index_t parts, T* shared) {
        team.run(parts * e.groups * p.blocks, [&](index_t chunk, int member) {
          const index_t k0 = chunk % p.blocks * p.filters, g = chunk / p.blocks % e.groups;
          const index_t slot = chunk / (p.blocks * e.groups), count = last - first;
          T* const data = s.each + member * p.scratch();
          T* const cotangent = data + p.points * p.data_point;
          add_up(winograd_chunk<T>{g, k0, std::min(p.filters, p.kg - k0), first + slot * count / parts,
                                   first + (slot + 1) * count / parts, data, cotangent,
                                   cotangent + p.points * p.cotangent_point,
                                   shared + slot * p.all + g * p.group + k0 * p.lanes});
        });
      });
  winograd_sums<V, M>(team, e, p.lanes, all.p, all.slots, dw);
}

} // namespace tapeless::cpu
