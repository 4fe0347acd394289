// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// 2-d convolution.           x: (n, c, h, w)   w: (k, c / groups, r, s)   y: (n, k, p, q)
//   fprop   y[n, k, p, q] = sum x[n, c, p sh - pt + r dh, q sw - pl + s dw] w[k, c, r, s] over c, r, s
//   dgrad   dx = the transpose of fprop in x        (wgrad: conv_wgrad.hpp)
//
// fprop: a band of output rows needs a tile of x, copied once into scratch with its zero padding; columns are
// split by their residue modulo sw, so that a vector of outputs meets a contiguous vector of x at every tap.
// Then it is the microkernel of matmul with one offset per tap. dgrad is the same on a tile of dy, once for
// each residue of (h, w) modulo (sh, sw): only the taps of that residue meet it. Padding takes part as zeros; c, k
// and the filter extents are at least 1.
#include <algorithm>
#include <cstdint>

#include "../core/geometry.hpp"
#include "matmul.hpp"
#include "simd.hpp"
#include "team.hpp"

namespace tapeless::cpu {
namespace detail {

constexpr index_t floor_div(index_t a, index_t b) { return a / b - (a % b < 0 ? 1 : 0); }

/// Rows of planes in scratch: column j of residue f at f * width + j.
struct image_tile {
  index_t planes, rows, residues, width;
  constexpr index_t line() const { return residues * width; }
  constexpr index_t plane() const { return rows * line(); }
  constexpr index_t size() const { return planes * plane(); }
};

/// tile[c, i, f, j] = x[c, y0 + i, x0 + j * residues + f], zero outside x. V names the architecture.
template <class V, class T>
void fill(const image_tile& t, T* to, const T* x, index_t h, index_t w, index_t y0, index_t x0) {
  for (index_t c = 0; c < t.planes; ++c, x += h * w)
    for (index_t i = 0; i < t.rows; ++i)
      for (index_t f = 0; f < t.residues; ++f, to += t.width) {
        const index_t y = y0 + i, start = x0 + f; // columns [first, end) of the tile lie inside x
        const bool inside = y >= 0 && y < h && start < w;
        const index_t first = inside && start < 0 ? std::min(ceil_div(-start, t.residues), t.width) : 0;
        const index_t end = inside ? std::clamp((w - 1 - start) / t.residues + 1, first, t.width) : 0;
        std::fill(to, to + first, T(0));
        if (first < end) {
          const T* const row = x + (y * w + start + first * t.residues);
          if (t.residues == 1) std::copy_n(row, end - first, to + first);
          else
            for (index_t j = 0; j < end - first; ++j) to[first + j] = row[j * t.residues];
        }
        std::fill(to + end, to + t.width, T(0));
      }
}

/// Output rows of one band: its tile near 256 KiB, its work near 2^23 products; bands of nearly equal size.
constexpr index_t band_rows(index_t out, index_t stride, index_t span, index_t line, index_t work,
                            index_t element) {
  out = std::max<index_t>(out, 1);
  const index_t fit = ((1 << 18) / (line * element) - span) / stride + 1;
  const index_t worth = std::max<index_t>(4, (1 << 23) / work);
  return ceil_div(out, ceil_div(out, std::clamp<index_t>(std::min(fit, worth), 1, out)));
}

/// Taps are taken this many at a time: their offsets lie on the stack.
inline constexpr int tap_block = 64;

/// y[k, i, j] (+)= sum_c sum_t w[k * w_row + c * w_step + t] * x[c * x_plane + i * x_row + tap[t] + j]
/// Reads x up to column round_up(cols, W) of every tap.
template <class V, class T> struct taps_of_band {
  index_t rows, cols, filters, channels;
  const T* w;
  index_t w_row, w_step;
  const T* x;
  index_t x_row, x_plane;
  T* y;
  index_t y_plane, y_row;

  void operator()(const index_t* tap, int taps, bool add) const {
    using B = blocking<V>;
    constexpr index_t W = B::W;
    constexpr index_t budget =
        (192 << 10) / static_cast<index_t>(sizeof(T)); // a panel of weights stays in L2
    const index_t panel = std::max<index_t>(1, budget / (channels * taps * B::MR)) * B::MR;
    for (index_t k0 = 0; k0 < filters; k0 += panel)
      for (index_t i = 0; i < rows; ++i)
        for (index_t j = 0, step; j < cols; j += step) {
          const index_t left = cols - j;
          const T* const xs = x + i * x_row + j;
          const auto run = [&](index_t k, auto m, auto nv) {
            const index_t last = std::min(W, left - (nv.value - 1) * W);
            micro<V, m.value, nv.value, true>(channels, w + k * w_row, w_row, w_step, xs, x_plane,
                                              y + k * y_plane + i * y_row + j, y_plane, last, add, tap, taps);
          };
          if (filters == 1 && left > 3 * W) {
            step = 4 * W;
            run(0, std::integral_constant<int, 1>{}, std::integral_constant<int, 4>{});
            continue;
          }
          step = B::NR;
          row_blocks<B::MR>(std::min(panel, filters - k0), [&](index_t k, auto m) {
            if (left > W) run(k0 + k, m, std::integral_constant<int, 2>{});
            else run(k0 + k, m, std::integral_constant<int, 1>{});
          });
        }
  }
};

/// Taps of one axis that meet outputs of residue f: those with (f + pad - t * dil) a multiple of the stride.
constexpr bool meets(index_t f, index_t pad, index_t t, index_t dil, index_t stride) {
  return (f + pad - t * dil) % stride == 0;
}

/// 1x1 without stride or padding: a matrix product for every image and group.
constexpr bool pointwise(const conv_extents& e) {
  return e.r == 1 && e.s == 1 && e.stride_h == 1 && e.stride_w == 1 && e.pad_top == 0 && e.pad_left == 0 &&
         e.p == e.h && e.q == e.w;
}

/// y[n, g, :, :] = a[g] x[n, g, :, :] with a of shape (rows, k) and x of shape (k, area)
template <class V, class T, class Team>
void pointwise_product(const Team& team, const conv_extents& e, index_t rows, index_t k, const matrix<T>& a,
                       const T* x, T* y, T* scratch) {
  using B = blocking<V>;
  const index_t area = e.h * e.w;
  const index_t nb = std::max(round_up((1 << 21) / (rows * k), B::NR), 8 * B::NR);
  const index_t parts = ceil_div(area, nb);
  team.run(e.n * e.groups * parts, [&](index_t chunk, int member) {
    const index_t j = chunk % parts * nb, image = chunk / parts, g = image % e.groups;
    for (index_t i = 0; i < rows; i += B::MC)
      tile<V>(std::min(B::MC, rows - i), std::min(nb, area - j), k,
              matrix<T>{a.p + g * rows * k, a.row, a.col}.at(i, 0),
              matrix<T>{x + image * k * area + j, area, 1}, y + (image * rows + i) * area + j, area,
              scratch + member * tile_scratch<V>);
  });
}

/// The tiles of fprop: x for a band of `band` output rows.
template <class T, class V> struct fprop_plan {
  index_t band, bands, cg, kg;
  image_tile tile;
  constexpr explicit fprop_plan(const conv_extents& e) : cg(e.c / e.groups), kg(e.k / e.groups) {
    const index_t span = (e.r - 1) * e.dil_h + 1;
    const index_t width = round_up(e.q, blocking<V>::W) + (e.s - 1) * e.dil_w / e.stride_w;
    const index_t work = kg * cg * e.r * e.s * std::max<index_t>(e.q, 1);
    band = band_rows(e.p, e.stride_h, span, cg * e.stride_w * width, work, sizeof(T));
    bands = ceil_div(e.p, band);
    tile = {cg, (band - 1) * e.stride_h + span, e.stride_w, width};
  }
  /// Where tap t (row-major number) of output (0, 0) lies in the tile.
  constexpr index_t tap(const conv_extents& e, index_t t) const {
    const index_t r = t / e.s, x = t % e.s * e.dil_w;
    return r * e.dil_h * tile.line() + x % e.stride_w * tile.width + x / e.stride_w;
  }
};

/// The tiles of dgrad: dy for a band of `band` rows of one residue; `out` for its rows of dx where sw > 1.
template <class T, class V> struct dgrad_plan {
  index_t band, bands, cg, kg, low_h, low_w, columns;
  image_tile tile;
  index_t out;
  constexpr explicit dgrad_plan(const conv_extents& e)
      : cg(e.c / e.groups),
        kg(e.k / e.groups),
        low_h(floor_div(e.pad_top - (e.r - 1) * e.dil_h, e.stride_h)),
        low_w(floor_div(e.pad_left - (e.s - 1) * e.dil_w, e.stride_w)),
        columns(ceil_div(e.w, e.stride_w)) {
    const index_t rows = ceil_div(e.h, e.stride_h);
    const index_t more_h = floor_div(e.stride_h - 1 + e.pad_top, e.stride_h) - low_h;
    const index_t more_w = floor_div(e.stride_w - 1 + e.pad_left, e.stride_w) - low_w;
    const index_t width = round_up(columns, blocking<V>::W) + more_w;
    const index_t work = kg * cg * e.r * e.s * std::max<index_t>(columns, 1);
    band = band_rows(rows, 1, more_h + 1, kg * width, work, sizeof(T));
    bands = ceil_div(rows, band);
    tile = {kg, band + more_h, 1, width};
    out = e.stride_w > 1 ? cg * band * columns : 0;
  }
};

} // namespace detail

// Elements of scratch per member and of the shared block: functions of all extents but n.
template <class T, class V = simd<T>> constexpr index_t conv2d_fprop_scratch(const conv_extents& e) {
  return detail::pointwise(e) ? detail::tile_scratch<V> : detail::fprop_plan<T, V>(e).tile.size();
}
template <class T, class V = simd<T>> constexpr index_t conv2d_fprop_shared(const conv_extents&) { return 0; }
template <class T, class V = simd<T>> constexpr index_t conv2d_dgrad_scratch(const conv_extents& e) {
  const detail::dgrad_plan<T, V> plan(e);
  return detail::pointwise(e) ? detail::tile_scratch<V> : plan.tile.size() + plan.out;
}
template <class T, class V = simd<T>> constexpr index_t conv2d_dgrad_shared(const conv_extents& e) {
  return detail::pointwise(e) ? 0 : e.k * (e.c / e.groups) * e.r * e.s;
}

/// y = x * w. n may be 0. y overlaps no input.
template <class T, team Team, class V = simd<T>>
void conv2d_fprop(const Team& team, const conv_extents& e, const T* x, const T* w, T* y, T* scratch, T*) {
  using namespace detail;
  const index_t cg = e.c / e.groups, kg = e.k / e.groups, taps = e.r * e.s;
  if (pointwise(e)) return pointwise_product<V>(team, e, kg, cg, matrix<T>{w, cg, 1}, x, y, scratch);
  const fprop_plan<T, V> plan(e);
  const image_tile& t = plan.tile;
  team.run(e.n * e.groups * plan.bands, [&](index_t chunk, int member) {
    const index_t i = chunk % plan.bands * plan.band, image = chunk / plan.bands, g = image % e.groups;
    T* const xs = scratch + member * t.size();
    fill<V>(t, xs, x + image * cg * e.h * e.w, e.h, e.w, i * e.stride_h - e.pad_top, -e.pad_left);
    for (index_t first = 0; first < taps; first += tap_block) {
      index_t at[tap_block];
      const int count = static_cast<int>(std::min<index_t>(tap_block, taps - first));
      for (int b = 0; b < count; ++b) at[b] = plan.tap(e, first + b);
      const taps_of_band<V, T> run{.rows = std::min(plan.band, e.p - i),
                                   .cols = e.q,
                                   .filters = kg,
                                   .channels = cg,
                                   .w = w + g * kg * cg * taps + first,
                                   .w_row = cg * taps,
                                   .w_step = taps,
                                   .x = xs,
                                   .x_row = e.stride_h * t.line(),
                                   .x_plane = t.plane(),
                                   .y = y + image * kg * e.p * e.q + i * e.q,
                                   .y_plane = e.p * e.q,
                                   .y_row = e.q};
      run(at, count, first > 0);
    }
  });
}

/// dx = the cotangent of x, overwritten. n may be 0. dx overlaps no input.
template <class T, team Team, class V = simd<T>>
void conv2d_dgrad(const Team& team, const conv_extents& e, const T* dy, const T* w, T* dx, T* scratch,
                  T* shared) {
  using namespace detail;
  const index_t cg = e.c / e.groups, kg = e.k / e.groups, taps = e.r * e.s, area = e.h * e.w;
  if (pointwise(e)) return pointwise_product<V>(team, e, cg, kg, matrix<T>{w, 1, cg}, dy, dx, scratch);
  const dgrad_plan<T, V> plan(e);
  const image_tile& t = plan.tile;
  const auto each_tap = [&](index_t fy, index_t fx, auto&& f) { // f(r, s) over the taps of one residue
    for (index_t r = 0; r < e.r; ++r)
      if (meets(fy, e.pad_top, r, e.dil_h, e.stride_h))
        for (index_t s = 0; s < e.s; ++s)
          if (meets(fx, e.pad_left, s, e.dil_w, e.stride_w)) f(r, s);
  };
  team.run(e.groups, [&](index_t g, int) { // shared: (group, residue, c, k, tap of the residue)
    T* to = shared + g * kg * cg * taps;
    for (index_t fy = 0; fy < e.stride_h; ++fy)
      for (index_t fx = 0; fx < e.stride_w; ++fx)
        for (index_t c = 0; c < cg; ++c)
          for (index_t k = 0; k < kg; ++k)
            each_tap(fy, fx,
                     [&](index_t r, index_t s) { *to++ = w[(((g * kg + k) * cg + c) * e.r + r) * e.s + s]; });
  });
  team.run(e.n * e.groups * plan.bands, [&](index_t chunk, int member) {
    const index_t i = chunk % plan.bands * plan.band, image = chunk / plan.bands, g = image % e.groups;
    T* const ds = scratch + member * (t.size() + plan.out);
    T* const out = ds + t.size();
    T* const planes = dx + image * cg * area;
    const T* ws = shared + g * kg * cg * taps;
    fill<V>(t, ds, dy + image * kg * e.p * e.q, e.p, e.q, i + plan.low_h, plan.low_w);
    for (index_t fy = 0; fy < e.stride_h; ++fy)
      for (index_t fx = 0; fx < e.stride_w; ++fx) {
        const index_t rows = std::min(plan.band, ceil_div(e.h - fy, e.stride_h) - i);
        const index_t cols = ceil_div(e.w - fx, e.stride_w);
        index_t count = 0;
        each_tap(fy, fx, [&](index_t, index_t) { ++count; });
        T* const corner = planes + (i * e.stride_h + fy) * e.w + fx;
        const bool direct = e.stride_w == 1;
        taps_of_band<V, T> run{.rows = rows,
                               .cols = cols,
                               .filters = cg,
                               .channels = kg,
                               .w = ws,
                               .w_row = kg * count,
                               .w_step = count,
                               .x = ds,
                               .x_row = t.line(),
                               .x_plane = t.plane(),
                               .y = direct ? corner : out,
                               .y_plane = direct ? area : rows * cols,
                               .y_row = direct ? e.stride_h * e.w : cols};
        ws += cg * kg * count;
        if (rows <= 0 || cols <= 0) continue;
        index_t at[tap_block];
        int held = 0;
        bool add = false;
        const auto flush = [&] {
          run(at, held, add);
          run.w += held;
          held = 0;
          add = true;
        };
        each_tap(fy, fx, [&](index_t r, index_t s) {
          at[held++] = ((fy + e.pad_top - r * e.dil_h) / e.stride_h - plan.low_h) * t.line() +
                       (fx + e.pad_left - s * e.dil_w) / e.stride_w - plan.low_w;
          if (held == tap_block) flush();
        });
        if (held > 0) flush();
        if (count > 0 && direct) continue;
        for (index_t c = 0; c < cg; ++c)
          for (index_t y = 0; y < rows; ++y)
            for (index_t x = 0; x < cols; ++x)
              corner[c * area + y * e.stride_h * e.w + x * e.stride_w] =
                  count > 0 ? out[(c * rows + y) * cols + x] : T(0);
      }
  });
}

} // namespace tapeless::cpu
