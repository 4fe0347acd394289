// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Which kernel of 2-d convolution and which layout of its tensors is the fastest: a function of all extents but the
// batch, known at compile time. Thresholds were measured with bench_kernels on machines with AVX2 and AVX-512; those
// of AVX-512 with random layers, too.
#include "../../core/geometry.hpp"
#include "../base/simd.hpp"
#include "common/geometry.hpp"
#include "kernels.hpp" // IWYU pragma: export
#include "nchw/narrow_groups_wgrad.hpp"
#include "nchw/winograd.hpp"
#include "nchw/winograd_tiling.hpp"
#include "nhwc/depthwise.hpp"
#include "nhwc/trimmed.hpp"
#include "nhwc/trimmed_wgrad.hpp"
#include "nhwc/winograd.hpp"
#include "via_nhwc.hpp"

namespace tapeless::cpu {
/// Tiles of 4 x 4 do not give an exact 0 where a window has only padding, and gain nothing on small images.
constexpr bool takes_larger_tiles(const conv_extents& e) {
  const index_t bottom = e.p + 1 - e.pad_top - (e.h - 1), right = e.q + 1 - e.pad_left - (e.w - 1);
  return e.winograd == 4 && e.dil_h == 1 && e.dil_w == 1 && std::min(e.p, e.q) >= 20 &&
         std::max(std::max(e.pad_top, e.pad_left), std::max(bottom, right)) <= 2;
}
/// How much faster tiles of 2 x 2 are than direct products. Counts vectors of products (direct kernels reach 0.9 of
/// the peak) and of the transforms, with coefficients fitted to square images of 8 to 112 columns, 4 to 32 channels,
/// dilation 1 and 2. 0.15 too high for many channels.   e: extents of fprop; for dgrad the transposed ones
template <class V> constexpr double filtering_gain(const conv_extents& e) {
  const winograd_line<V, 2> l(e);
  const index_t W = l.W, cg = e.c / e.groups, kg = e.k / e.groups;
  const double in = static_cast<double>(cg), out = static_cast<double>(kg);
  const bool dilated = e.dil_h > 1 || e.dil_w > 1, straight = !dilated && e.q % (2 * W) == 0;
  const double products = (sizeof(V) == 64 ? 16 : 22) * in * out;
  const double columns = (dilated ? 170 : 70) * in, back = (dilated ? 110 : straight ? 25 : 50) * out;
  const auto vectors =
      static_cast<double>(ceil_div(l.tiles(l.images, l.band), W) * l.bands) / static_cast<double>(l.images);
  const auto rows = static_cast<double>(l.steps * e.dil_h * e.dil_w * ceil_div(l.row, W));
  const double direct = 9 * 1.12 * static_cast<double>(e.p * e.q) / static_cast<double>(W) * in * out;
  return direct / (vectors * (products + columns + back) + 50 * rows * in);
}
/// The transforms pay if each transformed element is used in many products, if lines of tiles fill vectors, and if the
/// transformed weights stay in the cache.
template <class V> constexpr bool winograd_pays(conv_pass p, const conv_extents& e) {
  const index_t cg = e.c / e.groups, kg = e.k / e.groups, weights = 16 * cg * kg;
  constexpr index_t W = static_cast<index_t>(V::size);
  constexpr bool avx512 = sizeof(V) == 64;
  if (!three_by_three(e) || std::min(e.p, e.q) < 6) return false;
  if (e.p * e.q <= 144 && weights > 1 << 21) return false;
  if (p == conv_pass::fprop && e.p * e.q <= 576 && weights > 1 << 22) return false;
  const bool dilated = e.dil_w > 1 || e.dil_h > 1;
  const index_t line = ceil_div(e.q, e.dil_w); // columns of one residue: few lanes
  const bool torn = avx512 && dilated && (cg * kg < 1 << 12 || e.dil_w > 2);
  if (p == conv_pass::wgrad) {
    if (avx512 && dilated && std::max(cg, kg) <= 2 * W) return false;
    if (torn && line < (e.dil_w > 2 ? 24 : W)) return false;
    const bool wide = e.q >= std::min<index_t>(3 * W, 24);
    return (avx512 || (e.dil_w <= 2 && e.dil_h <= 2)) && kg >= (avx512 && cg >= 8 * kg ? 4 : 8) &&
           cg >= (wide ? 13 : 24) && weights < 1 << 23;
  }
  if (torn && line < W) return false;
  const conv_extents of = p == conv_pass::fprop ? e : transposed(e);
  if (avx512 && of.c / of.groups < 8) return false; // the kernel `direct` is up to 2.9 times as fast
  // on narrow images kernels with lanes of filters are faster too, if these lanes are full
  const index_t filters = of.k / of.groups;
  const bool others = of.q < (avx512 ? 24 : 32) && filters * 4 >= whole_lanes<V>(filters) * 3;
  return of.p * of.q >= 64 && filtering_gain<V>(of) >= (others ? 1.28 : 1.08);
}

/// How much faster minimal filtering of NHWC tensors is than the kernel `nhwc_direct`. Counts vectors of products
/// and of the transforms of a tile, with coefficients fitted to small-s1, masked and distill-a-2 of bench_kernels.
template <class V> constexpr double nhwc_filtering_gain(conv_pass p, const conv_extents& e) {
  constexpr bool avx512 = sizeof(V) == 64;
  if (!three_by_three(e)) return 0;
  const auto vectors = [](index_t n) { return whole_lanes<V>(n) / static_cast<index_t>(V::size); };
  const bool dgrad = p == conv_pass::dgrad;
  const tile_list list = dgrad ? tile_list(e.h, e.w, e) : tile_list(e.p, e.q, e);
  const index_t cg = e.c / e.groups, kg = e.k / e.groups;
  const index_t of_channels = vectors(cg), of_filters = vectors(kg);
  const index_t direct = (dgrad ? e.h * e.w * kg * of_channels : e.p * e.q * cg * of_filters);
  const index_t products = p == conv_pass::fprop ? cg * of_filters : kg * of_channels;
  const double transforms =
      dgrad ? 160.0 * static_cast<double>(of_filters) + 100.0 * static_cast<double>(of_channels)
      : p == conv_pass::wgrad
          ? 160.0 * static_cast<double>(of_channels + of_filters)
          : 160.0 * static_cast<double>(of_channels) + 100.0 * static_cast<double>(of_filters);
  // of a single vector direct kernels are slower than this count
  const bool one = avx512 && (dgrad ? of_channels : of_filters) == 1;
  const double plain = (p == conv_pass::wgrad ? (one ? 1.6 : 1.3)
                        : dgrad && one        ? 1.15
                                              : 1.0) *
                       9 * static_cast<double>(direct);
  return plain /
         (static_cast<double>(list.of_image(e)) * (16.0 * static_cast<double>(products) + transforms));
}
/// Trimming pays on small images. The windows of dgrad are the transposed ones. Weights too large for the nearest
/// caches are read more often than without trimming.
template <class V> constexpr bool trimmed_pays(conv_pass p, const conv_extents& e) {
  const bool heavy = (e.c / e.groups) * (e.k / e.groups) * e.r * e.s > 1 << 21;
  // many taps on a small image: hardly any two windows have the same taps inside
  const index_t alike = std::max<index_t>(e.h - e.r, 0) * std::max<index_t>(e.w - e.s, 0);
  constexpr bool avx512 = sizeof(V) == 64;
  if (avx512 && p != conv_pass::wgrad && e.r * e.s > 25 && e.pad_top > 0 && 5 * alike < 2 * e.h * e.w)
    return false;
  // larger images too, if x and y stay in a cache
  const auto stays = [&](index_t n) { return avx512 && e.h * e.w * e.c + e.p * e.q * e.k <= n; };
  if (p == conv_pass::dgrad) return !heavy && (e.h * e.w <= 1024 || stays(5 << 17));
  if (p == conv_pass::fprop) return !(heavy && e.p * e.q <= 64) && (e.p * e.q <= 1024 || stays(5 << 17));
  if (avx512 && e.r * e.s == 1) return e.c >= 8;
  if (e.r * e.s == 1 ? e.p * e.q > 256 : heavy && e.p * e.q > 64) return false;
  return e.c >= 8 && (avx512 ? e.p * e.q <= 1024 || stays(1 << 19) : e.p * e.q <= 64 && e.c <= 128);
}
/// NHWC scratch pays on narrow images, whose columns do not fill vectors, if their channels do.
template <class V> constexpr bool via_nhwc_pays(conv_pass p, const conv_extents& e) {
  constexpr index_t W = static_cast<index_t>(V::size);
  constexpr bool avx512 = sizeof(V) == 64;
  const auto filled = [](index_t n, index_t percent) { return n * 100 >= percent * whole_lanes<V>(n); };
  const index_t taps = e.r * e.s;
  if (sizeof(V) < 32 || !takes_via_nhwc<typename V::value_type>(e) || std::min(e.c, e.k) < 8) return false;
  if (taps == 1 && !(avx512 && p == conv_pass::dgrad && e.stride_w > 1)) return false;
  // with short vectors also wider images, if a filter has many taps: each transposed pixel is used by all taps
  const bool narrow = e.q <= W || (!avx512 && taps > 9 && e.q <= 4 * W && !filled(e.q, 87));
  switch (p) {
    case conv_pass::fprop:
      return narrow && filled(e.k, 75) &&
             (avx512 ? taps <= 9 || (e.k > 2 * W && e.p * e.q > 36) : e.c * taps <= 80 * W);
    case conv_pass::dgrad:
      return filled(e.c, 75) && !(avx512 && taps > 25 && e.stride_w == 1 && e.pad_left > 0) &&
             (e.w <= W || (e.stride_w > 1 && e.w <= 4 * W) || !filled(e.w, avx512 ? 87 : 88));
    case conv_pass::wgrad:
      return via_nhwc_wgrad<V>::takes(e) &&
             (avx512 ? narrow || !filled(e.q, 87) : narrow && (e.w <= W || taps > 9));
  }
  return false;
}

/// A product for each image pays if it has enough pixels, and if channels or filters fill vectors, or if it has so
/// many pixels that they come from memory.
template <class V> constexpr bool pointwise_wgrad_pays(const conv_extents& e) {
  const index_t cg = e.c / e.groups, kg = e.k / e.groups, area = e.p * e.q;
  const auto filled = [](index_t n) { return 4 * n >= 3 * whole_lanes<V>(n); };
  if (!pointwise(e) || area <= (sizeof(typename V::value_type) == 4 ? 36 : 49)) return false;
  constexpr bool avx512 = sizeof(V) == 64;
  const index_t few = std::min(cg, kg);
  const bool uneven = avx512 && few >= (area >= 1 << 10 ? 16 : 40) && std::max(cg, kg) >= 3 * few;
  return few <= (avx512 && area >= 1 << 8 ? 12 : 4) || area >= 1 << 13 ||
         ((few > (avx512 ? 48 : 32) || uneven) && (filled(cg) || filled(kg)));
}

/// Are the transformed weights few enough? fprop and dgrad read them once for each chunk of tiles, wgrad writes them
/// once in a run. The limit is higher for passes whose other kernels are slower.
template <class V> constexpr bool few_filtered_weights(conv_pass p, const conv_extents& e) {
  constexpr double million = 1 << 20;
  const auto weights = static_cast<double>(16 * (e.c / e.groups) * (e.k / e.groups));
  const index_t area = e.p * e.q;
  if (area >= 1024) return weights <= 16 * million;
  if (sizeof(V) < 64) return weights <= (area < 400 ? 1 : 4) * million;
  if (area < 144) return weights <= million;
  if (p == conv_pass::wgrad)
    return weights * static_cast<double>(e.groups) <= 16 * million; // 64 MB of floats
  if (p == conv_pass::dgrad) return weights <= 10 * million;
  return weights <= (area < 400 ? 2.5 : 4) * million;
}
/// Does minimal filtering of NHWC tensors pay, compared with nhwc_direct and nhwc_trimmed?
template <class V> constexpr bool nhwc_filtering_pays(conv_pass p, const conv_extents& e) {
  if (!three_by_three(e) || e.winograd == 0 || std::min(e.p, e.q) < 6 || !few_filtered_weights<V>(p, e))
    return false;
  const index_t area = p == conv_pass::dgrad ? e.h * e.w : e.p * e.q;
  const bool trimmed = p == conv_pass::wgrad ? nhwc_trimmed_wgrad<V>::takes(e) : takes_trimmed(e);
  const double inside = trimmed && trimmed_pays<V>(p, e)
                            ? static_cast<double>(products_inside(e)) / static_cast<double>(9 * area)
                            : 1;
  return nhwc_filtering_gain<V>(p, e) * inside >= 1.1;
}

/// The fastest kernel. Vectors of columns are half empty on narrow images. Vectors of channels need enough channels,
/// and each result is transposed once.
template <class V> constexpr conv_kernel conv_kernel_of(conv_pass p, const conv_extents& e) {
  constexpr index_t W = static_cast<index_t>(V::size);
  const auto filled = [](index_t n, index_t percent) { return n * 100 >= percent * whole_lanes<V>(n); };
  constexpr bool long_vectors = W >= 16; // columns often do not fill them
  const index_t cg = e.c / e.groups, kg = e.k / e.groups, taps = e.r * e.s;
  const bool strided = e.stride_w > 1;
  if (e.nhwc)
    return is_product(e)                        ? conv_kernel::nhwc_pointwise
           : one_filter_a_channel(e) && e.c > 1 ? conv_kernel::nhwc_depthwise
           : nhwc_filtering_pays<V>(p, e)       ? conv_kernel::nhwc_winograd
           : trimmed_pays<V>(p, e) && conv_kernel_takes<V>(p, conv_kernel::nhwc_trimmed, e)
               ? conv_kernel::nhwc_trimmed
               : conv_kernel::nhwc_direct;
  if (filters_cover_image(e)) return conv_kernel::dense;
  const bool via_nhwc = via_nhwc_pays<V>(p, e);
  // transformed weights that do not fit in the nearest caches
  const bool streamed = p != conv_pass::wgrad && e.p * e.q <= 256 && 16 * cg * kg >= 1 << 20;
  const index_t area = e.p * e.q;
  const bool small = !long_vectors                                ? area <= 64
                     : p == conv_pass::wgrad && cg * kg > 1 << 13 ? area < 64
                                                                  : area <= 144;
  if (via_nhwc && (small || streamed)) return conv_kernel::via_nhwc;
  if (e.winograd > 0 && winograd_pays<V>(p, e))
    return takes_larger_tiles(e) ? conv_kernel::winograd4 : conv_kernel::winograd;
  if (via_nhwc) return conv_kernel::via_nhwc;
  bool indirect = false;
  switch (p) {
    case conv_pass::fprop:
      if (cg == 1 && (e.groups > 1 || (e.q >= 8 * W && !pointwise(e)))) return conv_kernel::depthwise;
      // weights are transposed in each call, and must fit in the cache with the tile
      if (long_vectors)
        indirect = filled(kg, 75) && cg * taps >= 3 * W && (kg >= W || cg >= 8) &&
                   (taps > 1 || (strided && cg * kg <= 1 << 16)) &&
                   (cg * taps <= 80 * W || 2 * e.q <= W ||
                    ((e.q < 2 * W || taps >= 25) && kg * cg * taps <= 1 << 18)) &&
                   (e.q <= W || !filled(e.q, 88) || (strided && e.q <= 2 * W));
      else
        indirect = kg >= W && filled(kg, 87) && cg >= 4 && taps > 1 && cg * taps <= 80 * W &&
                   (e.q <= W || !filled(e.q, 87) ||
                    ((strided || !filled(e.q, 88)) && e.q <= 2 * W && kg > W && cg * taps <= 40 * W));
      if (e.q > W && cg <= 24 && copies_pay<V>(e)) indirect = false;
      break;
    case conv_pass::dgrad:
      if (cg == 1 && (e.groups > 1 ? kg <= 2 : taps > 1)) return conv_kernel::depthwise;
      indirect =
          (long_vectors ? cg >= W && filled(cg, 75) && kg * taps >= 3 * W : cg > W && filled(cg, 80)) &&
          (taps > 1 || (long_vectors && strided && cg >= 8 * W)) &&
          (kg * taps <= (long_vectors ? 200 : 160) * W ||
           (long_vectors && 2 * ceil_div(e.w, e.stride_w) <= W)) &&
          (strided ? !filled(ceil_div(e.w, e.stride_w), long_vectors && cg > W ? 89 : 87)
                   : e.w <= W || !filled(e.w, 87));
      break;
    case conv_pass::wgrad:
      if (cg == 1 && (e.groups > 1 || (e.q >= 8 * W && taps > 1))) return conv_kernel::depthwise;
      if (narrow_groups_wgrad<V>::takes(e)) return conv_kernel::narrow_groups;
      if (pointwise_wgrad_pays<V>(e)) return conv_kernel::pointwise;
      if (long_vectors) // `direct` takes up to five times as long for few filters of many channels, or with strides
        indirect =
            (e.q < 2 * W && cg * taps > 4 && 2 * kg > W) || (cg * taps >= 32 * W && cg >= 8 * kg) ||
            (strided && taps > 1 && cg >= W) || (taps == 1 && kg > 4 && cg > 4) ||
            (kg > W && filled(kg, 75) && cg * taps > 12 && (cg > 4 || strided || e.q < 2 * W || taps > 25));
      else
        indirect =
            e.q < (cg > 1 ? 2 * W : W) || (kg > W ? filled(kg, 80) && cg * taps > 2 * W : pointwise(e));
      break;
  }
  if (indirect && conv_kernel_takes<V>(p, conv_kernel::indirect, e)) return conv_kernel::indirect;
  return p != conv_pass::wgrad && pointwise(e) ? conv_kernel::pointwise : conv_kernel::direct;
}

/// Is the best NHWC kernel at least 5 % faster than the best NCHW kernel, without reorders? It gains where lanes of
/// columns are half empty, strided or far apart, and loses to minimal filtering.
///   @pre !e.nhwc
template <class V> constexpr bool nhwc_pays(conv_pass p, const conv_extents& e) {
  constexpr index_t W = static_cast<index_t>(V::size);
  const auto filled = [](index_t n, index_t percent) { return n * 100 >= percent * whole_lanes<V>(n); };
  constexpr bool long_vectors = W >= 16;
  const index_t cg = e.c / e.groups, kg = e.k / e.groups, area = e.p * e.q;
  if (one_filter_a_channel(e)) {
    const bool planes = reads_in_place<V>(e) && filled(e.q, 85); // wide enough
    return e.c >= W && (p == conv_pass::wgrad || !planes);
  }
  const conv_kernel now = conv_kernel_of<V>(p, e);
  if (now == conv_kernel::dense) return false;
  if (now == conv_kernel::via_nhwc) return true; // the same kernel without the transposes
  const bool dilated = e.dil_h > 1 || e.dil_w > 1;
  const conv_kernel there = conv_kernel_of<V>(p, in_nhwc(e));
  if (there == conv_kernel::nhwc_winograd)
    // dilation tears the lines of NCHW: it loses from 2 W channels on, else (but for wgrad) above 2 W
    return now == conv_kernel::winograd
               ? std::min(cg, kg) >= (dilated || p == conv_pass::wgrad ? 2 * W : 2 * W + 1)
               : now != conv_kernel::winograd4;
  if (now == conv_kernel::winograd || now == conv_kernel::winograd4)
    return there == conv_kernel::nhwc_trimmed && e.q <= (p == conv_pass::wgrad ? 8 : 10);
  const bool product = pointwise(e), strided = e.stride_h > 1 || e.stride_w > 1;
  const bool large = cg * kg >= 1 << 14;
  switch (p) {
    case conv_pass::fprop:
      if (kg < W || (cg < 4 && !(long_vectors && cg == 1)) || (long_vectors && !filled(kg, 75))) return false;
      if (product) return area <= 64 || area >= 1 << 14;
      if (!long_vectors && area < 64 && cg * kg * e.r * e.s > 1 << 21) return false; // packing takes too long
      if (cg == 1) return true;
      return strided || e.dil_w > 1 || e.q <= 2 * W || !filled(e.q, 87);
    case conv_pass::dgrad: return cg > W || (cg == W && (product || strided || !filled(e.w, 90)));
    case conv_pass::wgrad:
      if (long_vectors && strided && e.r * e.s == 1) return false;
      if (product) return area <= 1 << 10 || std::min(cg, kg) <= 4 * W;
      return std::min(cg, kg) >= W && (large || e.q <= (strided ? W : 2 * W));
  }
  return false;
}

} // namespace tapeless::cpu
