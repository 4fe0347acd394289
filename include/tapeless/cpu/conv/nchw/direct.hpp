// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Direct NCHW convolution: lanes are columns of an image.
//
// fprop: a band of output rows needs a tile of x. It is copied once into scratch with its zero padding. Its columns
// are sorted by residue modulo sw, so a vector of outputs meets a contiguous vector of x at every tap. Then the
// microkernel of matmul runs with one offset per tap. dgrad does the same on a tile of dy, once for each residue of
// (h, w) modulo (sh, sw), with the taps of that residue. Padding takes part as zeros.
#include "../common/tile.hpp"
#include "../../base/transpose.hpp"

namespace tapeless::cpu {

/// Output rows of one band: a tile of about 128 KiB, about 2^23 products. All bands are of nearly equal size.
constexpr index_t band_rows(index_t out, index_t stride, index_t span, index_t line, index_t work,
                            index_t element) {
  out = std::max<index_t>(out, 1);
  const index_t fit = ((1 << 17) / std::max<index_t>(line * element, 1) - span) / stride + 1;
  const index_t worth = std::max<index_t>(4, (1 << 23) / work);
  return ceil_div(out, ceil_div(out, std::clamp<index_t>(std::min(fit, worth), 1, out)));
}

/// Weights in the order in which the microkernel reads them: (block of row_blocks, channel, tap, filter of the block),
/// or as they are: (filter, channel, tap).
template <class T> struct weights_of_band {
  const T* p;
  index_t channels, taps; // all taps of a channel
  bool blocked;
  struct panel {
    const T* p;
    index_t row, step, tap;
  };
  /// channels from c and taps from t on of the block of m filters that begins with k
  panel at(index_t k, index_t m, index_t c, index_t t) const {
    const T* const from = p + k * channels * taps;
    if (blocked) return {from + (c * taps + t) * m, 1, taps * m, m};
    return {from + c * taps + t, channels * taps, taps, 1};
  }
};

/// y[k, i, j] (+)= sum_c sum_t w[k, c, first + t] * x[c * x_plane + i * x_row + tap[t] + j]
/// Reads x up to column round_up(cols, W) of every tap.
template <class V, class T> struct taps_of_band {
  index_t rows, cols, filters, channels;
  weights_of_band<T> w;
  const T* x;
  index_t x_row, x_plane;
  T* y;
  index_t y_plane, y_row;

  void operator()(const index_t* tap, int taps, index_t first) const {
    using B = blocking<V>;
    constexpr index_t W = B::W, element = static_cast<index_t>(sizeof(T));
    constexpr index_t budget = (192 << 10) / element; // a panel of weights stays in L2
    const index_t blocks = ceil_div(filters, B::MR);
    const index_t panel = std::max<index_t>(1, budget / (channels * taps * B::MR));
    // So many channels of a block of columns stay in L1 for a panel of filters. A channel takes less than NR
    // elements a tap, because taps of one row share cache lines.
    const index_t near = std::max<index_t>(1, (16 << 10) / ((taps + 1) * B::NR * element * 3 / 4));
    const index_t together = ceil_div(channels, std::min(blocks_in_order, ceil_div(channels, near)));
    for (index_t b = 0; b < blocks; b += panel)
      for (index_t i = 0; i < rows; ++i)
        for (index_t c = 0; c < channels; c += together)
          for (index_t j = 0, step; j < cols; j += step) {
            const index_t left = cols - j;
            const T* const xs = x + i * x_row + c * x_plane + j;
            const auto run = [&](index_t k, index_t m, index_t vectors,
                                 auto& kernel) __attribute__((always_inline)) {
              const index_t last = std::min(W, left - (vectors - 1) * W);
              const auto ws = w.at(k, m, c, first);
              const taps_of_step step_taps{tap, taps, ws.tap};
              kernel(std::min(together, channels - c), ws.p, ws.row, ws.step, xs, x_plane,
                     y + k * y_plane + i * y_row + j, y_plane, last, first + c > 0, nullptr, &step_taps);
            };
            if (filters == 1 && left > 3 * W) {
              step = 4 * W;
              run(0, 1, 4, micro<V, 1, 4, true>);
              continue;
            }
            step = B::NR;
            row_blocks<B::MR>(filters, b, std::min(b + panel, blocks), [&](index_t k, index_t m) {
              if (left > W) run(k, m, 2, *micro_of<V, 2, true>(m));
              else run(k, m, 1, *micro_of<V, 1, true>(m));
            });
          }
  }
};

/// Do copies of the tile pay, one for each column of taps? Then lines of results are contiguous, and odd widths
/// leave no lane empty.
template <class V> constexpr bool copies_pay(const conv_extents& e) {
  return e.s > 1 && e.stride_h == 1 && e.stride_w == 1 && e.dil_h == 1 && e.dil_w == 1 &&
         e.k / e.groups >= 16 && e.q * 100 < 90 * round_up(e.q, blocking<V>::W);
}
/// The tiles of fprop: x for a band of `band` output rows.
template <class T, class V> struct fprop_plan {
  index_t band, bands, cg, kg;
  index_t copies; // of the tile
  image_tile tile;
  constexpr explicit fprop_plan(const conv_extents& e, bool may_copy = false)
      : cg(e.c / e.groups), kg(e.k / e.groups), copies(may_copy && copies_pay<V>(e) ? e.s : 1) {
    const index_t span = (e.r - 1) * e.dil_h + 1;
    const index_t width = copies > 1 ? e.q : round_up(e.q, blocking<V>::W) + (e.s - 1) * e.dil_w / e.stride_w;
    const index_t work = kg * cg * e.r * e.s * std::max<index_t>(e.q, 1);
    band = band_rows(e.p, e.stride_h, span, copies * cg * e.stride_w * width, work, sizeof(T));
    bands = ceil_div(e.p, band);
    tile = {cg, (band - 1) * e.stride_h + span, e.stride_w, width};
  }
  constexpr index_t elements() const { return copies * tile.size(); }
  /// Where tap t (row-major number) of output (0, 0) lies in the tile.
  constexpr index_t tap(const conv_extents& e, index_t t) const {
    const index_t r = t / e.s, x = t % e.s * e.dil_w;
    if (copies > 1) return t % e.s * tile.size() + r * e.dil_h * tile.width;
    return r * e.dil_h * tile.line() + x % e.stride_w * tile.width + x / e.stride_w;
  }
};

/// The tiles of dgrad: dy for a band of `band` rows of one residue; if sw > 1, `out` for its rows of dx, sorted by
/// the residue of their columns.
template <class T, class V> struct dgrad_plan {
  cotangent_window see;
  index_t band, bands, cg, kg;
  image_tile tile;
  index_t columns, out; // columns of one residue
  constexpr explicit dgrad_plan(const conv_extents& e) : see(e), cg(e.c / e.groups), kg(e.k / e.groups) {
    const index_t rows = ceil_div(e.h, e.stride_h);
    columns = ceil_div(e.w, e.stride_w);
    const index_t width = round_up(columns, blocking<V>::W) + see.more_w;
    const index_t work = kg * cg * e.r * e.s * std::max<index_t>(columns, 1);
    band = band_rows(rows, 1, see.more_h + 1, kg * width, work, sizeof(T));
    bands = ceil_div(rows, band);
    tile = {kg, band + see.more_h, 1, width};
    out = e.stride_w > 1 ? e.stride_w * cg * band * columns : 0;
  }
};

template <class V> struct direct_fprop {
  using T = typename V::value_type;
  static constexpr scratch_need need(const conv_extents& e) {
    return {.packed = reorders(e) ? e.k * (e.c / e.groups) * e.r * e.s : 0,
            .each = fprop_plan<T, V>(e, true).elements() + blocking<V>::W}; // read up to a whole vector
  }
  /// Reordering the weights pays if each is used often. The batch does not count: a run may take it in parts.
  static constexpr bool reorders(const conv_extents& e) { return e.p * e.q >= 256; }
  /// packed: (group, block of filters, c, tap, filter of the block)
  template <class Team>
  static void pack(const Team& team, const conv_extents& e, const T* w, T* packed) {
    const index_t kg = e.k / e.groups, size = e.c / e.groups * e.r * e.s;
    constexpr int MR = blocking<V>::MR;
    const index_t blocks = ceil_div(kg, MR);
    if (!reorders(e)) return;
    team.run(e.groups * blocks, [&](index_t chunk, int) {
      const index_t b = chunk % blocks;
      row_blocks<MR>(kg, b, b + 1, [&](index_t k, index_t m) {
        const index_t at = (chunk / blocks * kg + k) * size;
        interleave<V>(m, size, w + at, size, packed + at);
      });
    });
  }
  template <class Team> static void run(const Team& team, const conv_extents& e, const T* x, const T* w, T* y,
                                        const scratch_of_kernel<T>& scratch) {
    const index_t cg = e.c / e.groups, kg = e.k / e.groups, taps = e.r * e.s;
    const fprop_plan<T, V> plan(e, true);
    const image_tile& t = plan.tile;
    const bool packed = reorders(e);
    team.run(e.n * e.groups * plan.bands, [&](index_t chunk, int member) {
      const index_t i = chunk % plan.bands * plan.band, image = chunk / plan.bands, g = image % e.groups;
      T* const xs = scratch.each + member * (plan.elements() + blocking<V>::W);
      const index_t rows = std::min(plan.band, e.p - i);
      for (index_t c = 0; c < plan.copies; ++c)
        fill<V>(t, xs + c * t.size(), x + image * cg * e.h * e.w, e.h, e.w, i * e.stride_h - e.pad_top,
                c * e.dil_w - e.pad_left);
      for (index_t first = 0; first < taps; first += tap_block) {
        index_t at[tap_block];
        const int count = static_cast<int>(std::min<index_t>(tap_block, taps - first));
        for (int b = 0; b < count; ++b) at[b] = plan.tap(e, first + b);
        const taps_of_band<V, T> run{
            .rows = plan.copies > 1 ? 1 : rows,
            .cols = plan.copies > 1 ? rows * e.q : e.q,
            .filters = kg,
            .channels = cg,
            .w = {(packed ? scratch.packed : w) + g * kg * cg * taps, cg, taps, packed},
            .x = xs,
            .x_row = e.stride_h * t.line(),
            .x_plane = t.plane(),
            .y = y + image * kg * e.p * e.q + i * e.q,
            .y_plane = e.p * e.q,
            .y_row = e.q};
        run(at, count, first);
      }
    });
  }
};

template <class V> struct direct_dgrad {
  using T = typename V::value_type;
  static constexpr scratch_need need(const conv_extents& e) {
    const dgrad_plan<T, V> plan(e);
    return {.packed = e.k * (e.c / e.groups) * e.r * e.s, .each = plan.tile.size() + plan.out};
  }
  /// packed: (group, residue, block of channels, k, tap of the residue, channel of the block)
  template <class Team>
  static void pack(const Team& team, const conv_extents& e, const T* w, T* packed) {
    const index_t cg = e.c / e.groups, kg = e.k / e.groups, taps = e.r * e.s;
    constexpr int MR = blocking<V>::MR;
    const index_t blocks = ceil_div(cg, MR);
    team.run(e.groups * blocks, [&](index_t chunk, int) {
      const index_t g = chunk / blocks, b = chunk % blocks;
      row_blocks<MR>(cg, b, b + 1, [&](index_t c, index_t m) {
        const T* const from = w + (g * kg * cg + c) * taps;
        T* to = packed + g * kg * cg * taps;
        for (index_t fy = 0; fy < e.stride_h; ++fy)
          for (index_t fx = 0; fx < e.stride_w; ++fx) {
            const index_t count = count_taps(e, fy, fx);
            index_t done = 0;
            each_tap(e, fy, fx, [&](index_t r, index_t s) {
              T* row = to + (c * kg * count) + done++ * m;
              const T* f = from + r * e.s + s;
              for (index_t k = 0; k < kg; ++k, f += cg * taps, row += count * m)
                for (int i = 0; i < m; ++i) row[i] = f[i * taps];
            });
            to += cg * kg * count;
          }
      });
    });
  }
  template <class Team> static void run(const Team& team, const conv_extents& e, const T* dy, const T*, T* dx,
                                        const scratch_of_kernel<T>& scratch) {
    const index_t cg = e.c / e.groups, kg = e.k / e.groups, taps = e.r * e.s, area = e.h * e.w;
    const dgrad_plan<T, V> plan(e);
    const image_tile& t = plan.tile;
    team.run(e.n * e.groups * plan.bands, [&](index_t chunk, int member) {
      const index_t i = chunk % plan.bands * plan.band, image = chunk / plan.bands, g = image % e.groups;
      T* const ds = scratch.each + member * (t.size() + plan.out);
      T* const out = ds + t.size();
      T* const planes = dx + image * cg * area;
      const T* ws = scratch.packed + g * kg * cg * taps;
      fill<V>(t, ds, dy + image * kg * e.p * e.q, e.p, e.q, i + plan.see.low_h, plan.see.low_w);
      for (index_t fy = 0; fy < e.stride_h; ++fy) {
        const index_t rows = std::min(plan.band, ceil_div(e.h - fy, e.stride_h) - i);
        T* const line = planes + (i * e.stride_h + fy) * e.w;
        const bool direct = e.stride_w == 1;
        const index_t part = cg * plan.band * plan.columns; // of `out`: (residue, channel, row, column)
        for (index_t fx = 0; fx < e.stride_w; ++fx) {
          const index_t cols = ceil_div(e.w - fx, e.stride_w), count = count_taps(e, fy, fx);
          const taps_of_band<V, T> run{.rows = rows,
                                       .cols = cols,
                                       .filters = cg,
                                       .channels = kg,
                                       .w = {ws, kg, count, true},
                                       .x = ds,
                                       .x_row = t.line(),
                                       .x_plane = t.plane(),
                                       .y = direct ? line : out + fx * part,
                                       .y_plane = direct ? area : plan.band * plan.columns,
                                       .y_row = direct ? e.stride_h * e.w : plan.columns};
          ws += cg * kg * count;
          if (rows <= 0 || cols <= 0) continue;
          if (count == 0)
            for (index_t c = 0; c < cg; ++c)
              for (index_t r = 0; r < rows; ++r) zero_row<V>(run.y + c * run.y_plane + r * run.y_row, cols);
          index_t at[tap_block];
          int held = 0;
          index_t first = 0;
          const auto flush = [&] {
            run(at, held, first);
            first += held;
            held = 0;
          };
          each_tap(e, fy, fx, [&](index_t r, index_t s) {
            at[held++] = plan.see.at(e, fy, fx, r, s, t.line());
            if (held == tap_block) flush();
          });
          if (held > 0) flush();
        }
        for (index_t c = 0; !direct && c < cg; ++c)
          for (index_t r = 0; r < rows; ++r)
            merge_residues<V>(e.w, e.stride_w, out + (c * plan.band + r) * plan.columns, part,
                              line + c * area + r * e.stride_h * e.w);
      }
    });
  }
};

} // namespace tapeless::cpu
