// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Convolution of small channels-last images: windows are trimmed to the image, and no tile is filled.
//   fprop, dgrad   pixels whose windows hold the same taps are rows of one product, over all images of a chunk
//   wgrad          each tap by itself: rows are channels, lanes filters, sums run over the pixels where it is inside
// All pixels are read in place. No sum depends on how a team cuts the work.
#include "../common/as_matmul.hpp"
#include "../common/geometry.hpp"
#include "../common/row_panel.hpp"
#include "../common/tile.hpp"
#include "direct.hpp"
#include "direct_wgrad.hpp"
#include "run_panel.hpp"

namespace tapeless::cpu {

/// One axis of windows: position i reads tap t at i * step + base + t, where that is in [0, extent).
struct axis_of_taps {
  index_t positions, taps, base, step, extent;
  constexpr index_t at(index_t i) const { return i * step + base; }
  constexpr index_t first(index_t i) const { return std::clamp<index_t>(-at(i), 0, taps); }
  constexpr index_t end(index_t i) const { return std::clamp<index_t>(extent - at(i), first(i), taps); }
  constexpr index_t inside() const {
    index_t n = 0;
    for (index_t i = 0; i < positions; ++i) n += end(i) - first(i);
    return n;
  }
  /// f(position, how many like it follow, tap, taps) for the positions of one band
  template <class F> constexpr void each_window(F&& f, index_t band = 0, index_t bands = 1) const {
    const index_t stop = (band + 1) * positions / bands;
    for (index_t i = band * positions / bands, next = 0; i < stop; i = next) {
      for (next = i + 1; next < stop && first(next) == first(i) && end(next) == end(i);) ++next;
      f(i, next - i, first(i), end(i) - first(i));
    }
  }
};
constexpr axis_of_taps rows_of_taps(const conv_extents& e) { return {e.p, e.r, -e.pad_top, e.stride_h, e.h}; }
constexpr axis_of_taps cols_of_taps(const conv_extents& e) {
  return {e.q, e.s, -e.pad_left, e.stride_w, e.w};
}
/// Of one image, one channel and one filter.
constexpr index_t products_inside(const conv_extents& e) {
  return rows_of_taps(e).inside() * cols_of_taps(e).inside();
}
/// Pixels of dx of residue f modulo the stride; tap 0 is the last one that meets them.
constexpr axis_of_taps residue_of_taps(index_t f, index_t extent, index_t taps, index_t pad, index_t stride,
                                       index_t results) {
  index_t last = taps - 1, count = 0;
  while (last >= 0 && !meets(f, pad, last, 1, stride)) --last;
  for (index_t t = last; t >= 0; t -= stride) ++count;
  return {ceil_div(std::max<index_t>(extent - f, 0), stride), count, last < 0 ? 0 : (f + pad - last) / stride,
          1, results};
}
constexpr bool takes_trimmed(const conv_extents& e) {
  return e.groups == 1 && e.dil_h == 1 && e.dil_w == 1 && e.r <= tap_block && !is_product(e);
}

/// How the results of a chunk of images are cut for a team: a band of rows, lanes [lane, end).
struct trimmed_part {
  index_t band, bands, lane, end;
};
/// y = the sums over the taps inside, of one part; b: all taps of this axis, panel after panel.
template <class V, class T>
void lanes_of_trimmed(const axis_of_taps& rows, const axis_of_taps& cols, index_t channels,
                      const pixel_grid& g, const T* from, T* to, const trimmed_part& part, index_t lanes,
                      const T* b) {
  const index_t band = part.band, bands = part.bands, lane = part.lane, end = part.end;
  const auto row = [&](index_t i, index_t like_i, index_t r, index_t high) {
    cols.each_window([&](index_t j, index_t like_j, index_t s, index_t wide) {
      const pixel_grid grid{g.images, like_i, like_j, g.from, g.to};
      T* const y = to + i * g.to.row + j * g.to.col;
      if (high == 0 || wide == 0) return zero_pixels<V>(grid, y + lane, end - lane);
      const index_t line = g.from.row / rows.step, pixel = g.from.col / cols.step;
      taps_of_pixels t{.channels = wide * channels, .taps = high, .gap = (cols.taps - wide) * channels};
      for (index_t k = 0; k < high; ++k) t.tap[k] = k * line;
      lanes_of_runs<V, true>(grid, from + (rows.at(i) + r) * line + (cols.at(j) + s) * pixel, y, lane, end,
                             lanes, t, b, (r * cols.taps + s) * channels, rows.taps * cols.taps * channels,
                             false);
    });
  };
  rows.each_window(row, band, bands);
}
/// Images of a chunk: so many that the rows of a corner fill blocks, where the image has few others.
inline index_t images_of_trimmed(index_t n, index_t area, int team) {
  return std::clamp<index_t>(ceil_div(n, team), area < 128 ? 8 : 1, 32);
}
/// f(first image, images, part, member): chunks of `together` images, cut further where a team has too few of them.
template <class V, class Team, class F>
void each_trimmed_part(const Team& team, index_t n, index_t together, index_t rows, index_t lanes,
                       index_t work, F&& f) {
  const index_t chunks = ceil_div(n, together), cuts = cuts_of_lanes<V>(chunks, lanes, work, team.size());
  index_t bands = 1;
  while (team.size() > 1 && chunks * cuts * bands < 4 * team.size() && 8 * bands <= rows &&
         work > (chunks * cuts * bands) << 21)
    bands *= 2;
  team.run(chunks * cuts * bands, [&](index_t unit, int member) {
    const index_t band = unit % bands, cut = unit / bands % cuts, z = unit / (bands * cuts) * together;
    f(z, std::min(together, n - z),
      trimmed_part{band, bands, first_of_cut<V>(cut, cuts, lanes), first_of_cut<V>(cut + 1, cuts, lanes)},
      member);
  });
}

template <class V> struct channels_last_trimmed_fprop {
  using T = typename V::value_type;
  using untrimmed = channels_last_fprop<V>;
  static constexpr scratch_need need(const conv_extents& e) { return {.packed = untrimmed::need(e).packed}; }
  template <class Team> static void pack(const Team& team, const conv_extents& e, const T* w, T* packed) {
    untrimmed::pack(team, e, w, packed);
  }
  template <class Team> static void run(const Team& team, const conv_extents& e, const T* x, const T*, T* y,
                                        const scratch_of_kernel<T>& s) {
    each_trimmed_part<V>(team, e.n, images_of_trimmed(e.n, e.p * e.q, team.size()), e.p, e.k,
                         e.n * e.p * e.q * e.k * e.c * e.r * e.s,
                         [&](index_t z, index_t images, const trimmed_part& part, int) {
                           some(e, images, part, x + z * e.h * e.w * e.c, s.packed, y + z * e.p * e.q * e.k);
                         });
  }
  /// A part of y of some images.
  static void some(const conv_extents& e, index_t images, const trimmed_part& part, const T* x,
                   const T* packed, T* y) {
    const pixel_grid grid{images,
                          0,
                          0,
                          {e.h * e.w * e.c, e.stride_h * e.w * e.c, e.stride_w * e.c},
                          {e.p * e.q * e.k, e.q * e.k, e.k}};
    lanes_of_trimmed<V>(rows_of_taps(e), cols_of_taps(e), e.c, grid, x, y, part, e.k, packed);
  }
};

template <class V> struct channels_last_trimmed_dgrad {
  using T = typename V::value_type;
  using untrimmed = channels_last_dgrad<V>;
  static constexpr scratch_need need(const conv_extents& e) { return {.packed = untrimmed::need(e).packed}; }
  template <class Team> static void pack(const Team& team, const conv_extents& e, const T* w, T* packed) {
    untrimmed::pack(team, e, w, packed);
  }
  template <class Team> static void run(const Team& team, const conv_extents& e, const T* dy, const T*, T* dx,
                                        const scratch_of_kernel<T>& s) {
    each_trimmed_part<V>(team, e.n, images_of_trimmed(e.n, e.h * e.w, team.size()), e.h / e.stride_h, e.c,
                         e.n * e.p * e.q * e.k * e.c * e.r * e.s,
                         [&](index_t z, index_t images, const trimmed_part& part, int) {
                           some(e, images, part, dy + z * e.p * e.q * e.k, s.packed,
                                dx + z * e.h * e.w * e.c);
                         });
  }
  /// A part of dx of some images.
  static void some(const conv_extents& e, index_t images, const trimmed_part& part, const T* dy,
                   const T* packed, T* dx) {
    const pixel_grid grid{images,
                          0,
                          0,
                          {e.p * e.q * e.k, e.q * e.k, e.k},
                          {e.h * e.w * e.c, e.stride_h * e.w * e.c, e.stride_w * e.c}};
    for (index_t fy = 0; fy < e.stride_h; ++fy)
      for (index_t fx = 0; fx < e.stride_w; ++fx) {
        const axis_of_taps rows = residue_of_taps(fy, e.h, e.r, e.pad_top, e.stride_h, e.p);
        const axis_of_taps cols = residue_of_taps(fx, e.w, e.s, e.pad_left, e.stride_w, e.q);
        lanes_of_trimmed<V>(rows, cols, e.k, grid, dy, dx + (fy * e.w + fx) * e.c, part, e.c, packed);
        packed += whole_lanes<V>(e.c) * rows.taps * cols.taps * e.k;
      }
  }
};

/// c[i][j] (+)= sum over pixels of a_i[pixel] * b[pixel, j];  g.from: where pixels lie in a, g.to: in b
template <class V, int M, int NV, class T>
[[gnu::noinline]] void pixels_kernel(const pixel_grid& g, const T* b, bool add,
                                     const row_of_lanes<T> (&row)[M]) {
  constexpr index_t W = static_cast<index_t>(V::size);
  V acc[M][NV];
  const T* a[M];
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i) {
    a[i] = row[i].from;
#pragma GCC unroll 16
    for (int j = 0; j < NV; ++j) acc[i][j] = V(T(0));
  }
  const index_t a_step = g.from.col, b_step = g.to.col, cols = g.cols;
  chain_sums<V, M, NV> sums;
  const auto chain = [&](index_t n, index_t n_end, index_t x0, index_t x_end) __attribute__((always_inline)) {
    for (index_t z = n / g.rows, y = n % g.rows; n < n_end; ++n) {
      index_t at = z * g.from.image + y * g.from.row + x0 * a_step;
      const T* p = b + z * g.to.image + y * g.to.row + x0 * b_step;
      if (++y == g.rows) ++z, y = 0;
      for (index_t x = x0; x < x_end; ++x, at += a_step, p += b_step) {
        opaque_scalar(at); // one index for all rows, not a pointer for each
        V lane[NV];
#pragma GCC unroll 16
        for (int j = 0; j < NV; ++j) {
          V v = load<V>(p + j * W);
          opaque(v);
          lane[j] = v;
        }
#pragma GCC unroll 16
        for (int i = 0; i < M; ++i) {
          const V v(a[i][at]);
#pragma GCC unroll 16
          for (int j = 0; j < NV; ++j) acc[i][j] = fma(v, lane[j], acc[i][j]);
        }
      }
    }
  };
  const index_t lines = g.images * g.rows;
  in_chains_of_rows(lines, cols, steps_of_chain<V>(lines * cols), acc, sums, chain);
  sums.finish(acc);
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 16
    for (int j = 0; j < NV; ++j) {
      T* const q = row[i].to + j * W;
      store(q, add ? load<V>(q) + acc[i][j] : acc[i][j]);
    }
}

template <class V> struct channels_last_trimmed_wgrad {
  using T = typename V::value_type;
  using B = lane_blocking<V>;
  // filters fill vectors: dy is read in place
  static constexpr bool takes(const conv_extents& e) { return takes_trimmed(e) && e.k % B::W == 0; }
  static constexpr scratch_need need(const conv_extents& e) { return {.shared = 3 * e.k * e.c * e.r * e.s}; }
  /// The positions where tap t is inside.
  struct range {
    index_t first, count, at; // at: what the first one reads
    constexpr range(const axis_of_taps& x, index_t t) {
      first = std::clamp<index_t>(ceil_div(std::max<index_t>(-(x.base + t), 0), x.step), 0, x.positions);
      at = x.at(first) + t;
      count = at < x.extent ? std::min(x.positions - first, (x.extent - 1 - at) / x.step + 1) : 0;
    }
  };
  static constexpr bool reads_lists(const conv_extents& e) { return images_at_once(e) == 1; }
  template <class Team> static void run(const Team& team, const conv_extents& e, const image_batch<T>& x,
                                        const image_batch<T>& dy, T* dw, const scratch_of_kernel<T>& s) {
    if (e.n == 0) return void(std::fill_n(dw, e.k * e.c * e.r * e.s, T(0)));
    const index_t parts = team.size() == 1 ? 1 : ceil_div(e.c, index_t(16));
    const index_t units = units_of(e, parts), together = images_at_once(e);
    const index_t cuts = team.size() == 1 ? 1 : std::min<index_t>(units, 4 * team.size());
    const index_t size = e.k * e.c * e.r * e.s;
    const auto all = sum_in_rounds<V>(team, ceil_div(e.n, together), 1, size, s.shared, s.shared + 2 * size,
                                      [&](index_t first, index_t last, index_t, T* sums) {
                                        team.run(cuts, [&](index_t cut, int) {
                                          for (index_t u = first; u < last; ++u)
                                            some(e, std::min(together, e.n - u * together), parts,
                                                 cut * units / cuts, (cut + 1) * units / cuts,
                                                 x(u * together), dy(u * together), sums, u > first);
                                        });
                                      });
    finish(team, e, all.slots, all.p, dw);
  }
  /// A unit: one of so many parts of the channels, one tap and one panel of filters.
  static index_t units_of(const conv_extents& e, index_t parts) {
    return parts * e.r * e.s * ceil_div(e.k, B::NR);
  }
  /// What all channels read of so many images stays in the nearest cache.
  static constexpr index_t images_at_once(const conv_extents& e) {
    return std::max<index_t>(1, 64 * B::NV / std::max<index_t>(e.p * e.q, 1));
  }
  /// sums (+)= those of some images; sums: (panel, c, tap, filter of the panel)
  static void some(const conv_extents& e, index_t images, index_t parts, index_t unit, index_t end,
                   const T* x, const T* dy, T* sums, bool add) {
    const index_t taps = e.r * e.s;
    for (; unit < end; ++unit) {
      const index_t part = unit % parts, tap = unit / parts % taps, k = unit / (parts * taps) * B::NR;
      const index_t lanes = std::min(B::NR, e.k - k), c = part * e.c / parts,
                    c_end = (part + 1) * e.c / parts;
      const range rows(rows_of_taps(e), tap / e.s), cols(cols_of_taps(e), tap % e.s);
      const pixel_grid grid{rows.count * cols.count == 0 ? 0 : images,
                            rows.count,
                            cols.count,
                            {e.h * e.w * e.c, e.stride_h * e.w * e.c, e.stride_w * e.c},
                            {e.p * e.q * e.k, e.q * e.k, e.k}};
      sum_pixels(images_at_once(e) < e.q ? grid : images_inside(grid), c_end - c,
                 x + (rows.at * e.w + cols.at) * e.c + c, dy + (rows.first * e.q + cols.first) * e.k + k,
                 sums + k * e.c * taps + (c * taps + tap) * lanes, taps * lanes, lanes, add);
    }
  }
  /// dw = slots of sums, added in their order.
  template <class Team>
  static void finish(const Team& team, const conv_extents& e, index_t slots, T* sums, T* dw) {
    const index_t columns = e.c * e.r * e.s, panels = ceil_div(e.k, B::NR);
    constexpr index_t part = 256; // rows of the sum
    const index_t parts = ceil_div(columns, part);
    team.run(panels * parts, [&](index_t chunk, int) {
      const index_t m = chunk % parts * part, k = chunk / parts * B::NR, lanes = std::min(B::NR, e.k - k);
      const index_t rows = std::min(part, columns - m);
      T* const sum = sums + k * columns + m * lanes;
      for (index_t slot = 1; slot < slots; ++slot)
        for (index_t i = 0; i < rows * lanes; ++i) sum[i] += sum[slot * e.k * columns + i];
      transpose<V>(rows, lanes, sum, lanes, dw + k * columns + m, columns);
    });
  }
  /// The innermost loop of a kernel is a long one.
  static constexpr pixel_grid images_inside(const pixel_grid& g) {
    return {
        g.rows, g.cols, g.images, {g.from.row, g.from.col, g.from.image}, {g.to.row, g.to.col, g.to.image}};
  }
  /// to: (channel, lane), `pitch` from channel to channel
  static void sum_pixels(const pixel_grid& g, index_t channels, const T* x, const T* dy, T* to, index_t pitch,
                         index_t lanes, bool add) {
    unroll<B::NV>([&](auto v) {
      constexpr int NV = v.value + 1, M = B::rows(NV);
      if (lanes != NV * B::W) return;
      T spare[NV * B::W]{};
      row_of_lanes<T> block[M];
      for (index_t c = 0; c < channels; c += M) {
        for (index_t m = 0; m < M; ++m)
          block[m] = c + m < channels ? row_of_lanes<T>{x + c + m, to + (c + m) * pitch}
                                      : row_of_lanes<T>{x + c, spare};
        pixels_kernel<V, M, NV>(g, dy, add, block);
      }
    });
  }
};

} // namespace tapeless::cpu
