// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// NCHW convolution of images that fit in a cache, by way of NHWC: the images of a chunk are transposed to NHWC
// scratch, run through the kernels of nhwc/trimmed.hpp, and the results are transposed back.
#include "common/tile.hpp"
#include "nhwc/trimmed.hpp"
#include "nhwc/trimmed_wgrad.hpp"

namespace tapeless::cpu {

/// Images of a chunk: as many as have at most 192 KB of x and y, but at least one.
struct images_via_nhwc {
  index_t of_x, of_y, count;
  constexpr explicit images_via_nhwc(const conv_extents& e, index_t element)
      : of_x(e.c * e.h * e.w),
        of_y(e.k * e.p * e.q),
        count(std::clamp<index_t>((3 << 16) / element / std::max<index_t>(of_x + of_y, 1), 1, 32)) {}
  constexpr index_t each() const { return count * (of_x + of_y); }
  /// Fewer, if a team needs more chunks.
  index_t together(index_t n, int team) const { return std::clamp<index_t>(ceil_div(n, team), 1, count); }
};
/// x and y of one image stay in the second-level cache.
template <class T> constexpr bool takes_via_nhwc(const conv_extents& e) {
  constexpr index_t element = static_cast<index_t>(sizeof(T));
  return takes_trimmed(e) && (e.c * e.h * e.w + e.k * e.p * e.q) * element <= 1 << 19;
}

/// Transposes images from `first` on: (channels, pixels) to (pixels, channels).
template <class V, class T> void to_nhwc(const image_batch<T>& from, index_t first, index_t images,
                                         index_t channels, index_t pixels, T* to) {
  for (index_t z = 0; z < images; ++z)
    transpose<V>(channels, pixels, from(first + z), pixels, to + z * channels * pixels, channels);
}
/// Transposes channels [first, end) back.
template <class V, class T> void to_nchw(index_t images, index_t channels, index_t pixels, index_t first,
                                         index_t end, const T* from, T* to) {
  for (index_t z = 0; z < images; ++z)
    transpose<V>(pixels, end - first, from + z * channels * pixels + first, channels,
                 to + (z * channels + first) * pixels, pixels);
}

/// fprop, or (ToImage) dgrad.
template <class V, bool ToImage> struct via_nhwc_conv {
  using T = typename V::value_type;
  using kernel = std::conditional_t<ToImage, nhwc_trimmed_dgrad<V>, nhwc_trimmed_fprop<V>>;
  struct side {
    index_t channels, pixels;
    constexpr index_t size() const { return channels * pixels; }
  };
  static constexpr scratch_need need(const conv_extents& e) {
    return {.packed = kernel::need(e).packed, .each = images_via_nhwc(e, sizeof(T)).each()};
  }
  template <class Team> static void pack(const Team& team, const conv_extents& e, const T* w, T* packed) {
    kernel::pack(team, e, w, packed);
  }
  template <class Team> static void run(const Team& team, const conv_extents& e, const T* a, const T*,
                                        T* result, const scratch_of_kernel<T>& s) {
    const images_via_nhwc i(e, sizeof(T));
    const side x{e.c, e.h * e.w}, y{e.k, e.p * e.q}, in = ToImage ? y : x, out = ToImage ? x : y;
    const index_t together = i.together(e.n, team.size()), chunks = ceil_div(e.n, together);
    const index_t cuts = cuts_of_lanes<V>(chunks, out.channels, e.n * i.of_y * e.c * e.r * e.s, team.size());
    team.run(chunks * cuts, [&](index_t unit, int member) {
      const index_t z = unit / cuts * together, cut = unit % cuts, images = std::min(together, e.n - z);
      const index_t lane = first_of_cut<V>(cut, cuts, out.channels);
      const index_t end = first_of_cut<V>(cut + 1, cuts, out.channels);
      T* const from = s.each + member * i.each();
      T* const to = from + i.count * in.size();
      to_nhwc<V>(image_batch<T>{a, in.size()}, z, images, in.channels, in.pixels, from);
      kernel::some(e, images, {0, 1, lane, end}, from, s.packed, to);
      to_nchw<V>(images, out.channels, out.pixels, lane, end, to, result + z * out.size());
    });
  }
};
template <class V> using via_nhwc_fprop = via_nhwc_conv<V, false>;
template <class V> using via_nhwc_dgrad = via_nhwc_conv<V, true>;

/// Sums over parts of the batch (slots) are added in their order.
template <class V> struct via_nhwc_wgrad {
  using T = typename V::value_type;
  using kernel = nhwc_trimmed_wgrad<V>;
  static constexpr bool takes(const conv_extents& e) { return takes_via_nhwc<T>(e) && kernel::takes(e); }
  static constexpr index_t slots(const conv_extents& e) {
    return std::clamp<index_t>((1 << 18) / (e.k * e.c * e.r * e.s), 1, 8);
  }
  static constexpr scratch_need need(const conv_extents& e) {
    return {.each = images_via_nhwc(e, sizeof(T)).each(), .shared = (slots(e) + 2) * e.k * e.c * e.r * e.s};
  }
  static constexpr bool reads_lists(const conv_extents&) { return true; }
  template <class Team> static void run(const Team& team, const conv_extents& e, const image_batch<T>& x,
                                        const image_batch<T>& dy, T* dw, const scratch_of_kernel<T>& s) {
    const images_via_nhwc i(e, sizeof(T));
    const index_t size = e.k * e.c * e.r * e.s, units = kernel::units_of(e, 1), most = slots(e);
    if (e.n == 0) return void(std::fill_n(dw, size, T(0)));
    // a slot of few images takes fewer at a time
    const index_t together =
        std::clamp<index_t>(ceil_div(e.n, most), 1, std::min(i.count, kernel::images_at_once(e)));
    const auto all = sum_in_rounds<V>(
        team, ceil_div(e.n, together), most, size, s.shared, s.shared + (most + 1) * size,
        [&](index_t first, index_t end_of_all, index_t parts, T* to) {
          const index_t cuts = team.size() == 1 ? 1 : std::clamp<index_t>(2 * team.size() / parts, 1, units);
          team.run(parts * cuts, [&](index_t chunk, int member) {
            const index_t slot = chunk / cuts, cut = chunk % cuts, count = end_of_all - first;
            const index_t begin = first + slot * count / parts, end = first + (slot + 1) * count / parts;
            T* const xs = s.each + member * i.each();
            T* const ys = xs + i.count * i.of_x;
            for (index_t u = begin; u < end; ++u) {
              const index_t z = u * together, images = std::min(together, e.n - z);
              to_nhwc<V>(x, z, images, e.c, e.h * e.w, xs);
              to_nhwc<V>(dy, z, images, e.k, e.p * e.q, ys);
              kernel::some(e, images, 1, cut * units / cuts, (cut + 1) * units / cuts, xs, ys,
                           to + slot * size, u > begin);
            }
          });
        });
    kernel::finish(team, e, all.slots, all.p, dw);
  }
};

} // namespace tapeless::cpu
