// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// 3 x 3 convolution without stride by minimal filtering (winograd.hpp): 2.25 times fewer products than columns.
//
// A tile is an (M, M) block of outputs, `dil` apart, and the (M + 2, M + 2) inputs that it sees; lanes are neighbouring
// tiles of a line. For all tiles of a chunk the transformed inputs are (M + 2)^2 matrices (channels, tiles), the
// transformed weights as many matrices (filters, channels), and their products the transformed results. dgrad is fprop
// with the taps reversed, filters and channels exchanged. An infinity or NaN reaches all outputs of the tiles that
// see it.
#include "conv_tile.hpp"
#include "transpose.hpp"
#include "winograd.hpp"

namespace tapeless::cpu::detail {

constexpr bool three_by_three(const conv_extents& e) {
  return e.r == 3 && e.s == 3 && e.stride_h == 1 && e.stride_w == 1;
}

/// From one matrix to the next where all points are written side by side: a line more than a multiple of 4 KiB.
template <class T> constexpr index_t apart(index_t elements) {
  constexpr index_t element = static_cast<index_t>(sizeof(T));
  return round_up(elements, 4096 / element) + 64 / element;
}

/// The tiles of a chunk: bands of whole lines of one image, or several images.
template <class V, int M> struct winograd_tiles {
  static constexpr index_t W = static_cast<index_t>(V::size), A = M + 2, points = A * A;
  index_t line;                 // tiles of a line: of one row of tiles and one residue modulo dil_w
  index_t band, bands;          // output rows of a chunk, a multiple of M dil_h
  index_t images, count, pitch; // count: tiles of a chunk, at most; pitch: with room for whole vectors
  image_tile plane;             // one channel of x for a band of one image
  constexpr winograd_tiles(const conv_extents& e, index_t wanted) {
    line = ceil_div(ceil_div(e.q, e.dil_w), index_t(M));
    const index_t step = M * e.dil_h, steps = ceil_div(e.p, step), tiles = e.dil_h * e.dil_w * line;
    bands = ceil_div(steps, std::clamp<index_t>(wanted / tiles, 1, steps));
    const index_t together = ceil_div(steps, bands);
    bands = ceil_div(steps, together);
    band = together * step;
    images = bands > 1 ? 1 : std::clamp<index_t>(wanted / (together * tiles), 1, 8);
    count = images * together * tiles;
    pitch = round_up(count - line + round_up(line, W), 2 * W);
    plane = {1, band + 2 * e.dil_h, M * e.dil_w, round_up(line, W) + 1};
  }
  /// f(first tile, row, residue modulo dil_w) for each line of the first `rows` rows of a band: row is its first.
  template <class F> void each_line(const conv_extents& e, index_t rows, F&& f) const {
    index_t first = 0;
    for (index_t i = 0; i < rows; i += M * e.dil_h)
      for (index_t y = i; y < i + e.dil_h; ++y)
        for (index_t x = 0; x < e.dil_w; ++x, first += line) f(first, y, x);
  }
  constexpr index_t tiles_of_rows(const conv_extents& e, index_t rows) const {
    return ceil_div(rows, M * e.dil_h) * e.dil_h * e.dil_w * line;
  }
};

template <class V, int M> struct winograd_plan {
  using T = typename V::value_type;
  using B = blocking<V>;
  static constexpr index_t element = static_cast<index_t>(sizeof(T));
  index_t cg, kg, panel, panels; // panel: filters whose results are held at once
  winograd_tiles<V, M> tiles;
  constexpr explicit winograd_plan(const conv_extents& e)
      : cg(e.c / e.groups),
        kg(e.k / e.groups),
        tiles(e, std::clamp<index_t>((1 << 18) / (element * tiles.points * cg), 32, 256)) {
    panels = ceil_div(kg, std::max<index_t>(B::MR, (1 << 17) / (element * tiles.points * tiles.pitch)));
    panel = round_up(ceil_div(kg, panels), B::MR);
    panels = ceil_div(kg, panel);
  }
  constexpr index_t data_point() const { return apart<T>(cg * tiles.pitch); }
  constexpr index_t product_point() const { return apart<T>(panel * tiles.pitch); }
  constexpr index_t data() const { return tiles.points * data_point(); }
  constexpr index_t products() const { return tiles.points * product_point(); }
  constexpr index_t rows() const { return M * tiles.plane.line(); } // of one line of tiles
  constexpr index_t scratch() const { return data() + products() + rows() + tiles.plane.size(); }
};

/// to[i * to_point + j] = transformed inputs of the tiles j < n (and up to a whole vector); x[a * x_row + .]: their rows
template <class V, int M, class T> [[gnu::noinline]] void winograd_data(index_t n, const T* x, index_t x_row,
                                                                        index_t next, T* to,
                                                                        index_t to_point) {
  constexpr int A = M + 2;
  for (index_t j = 0; j < n; j += static_cast<index_t>(V::size)) {
    V d[A][A], r[A][A];
    unroll<A>([&](auto a) __attribute__((always_inline)) {
      unroll<A>([&](auto b) __attribute__((always_inline)) {
        d[a][b] = load<V>(x + a * x_row + b % M * next + b / M + j);
      });
    });
    both_axes(typename winograd<M>::data{}, d, r);
    unroll<A>([&](auto a) __attribute__((always_inline)) {
      unroll<A>([&](auto b)
                    __attribute__((always_inline)) { store(to + (a * A + b) * to_point + j, r[a][b]); });
    });
  }
}
/// y[a * y_row + b * next + j] = output (a, b) of tile j < n (and up to a whole vector)
template <class V, int M, class T> [[gnu::noinline]] void winograd_result(index_t n, const T* m,
                                                                          index_t m_point, T* y,
                                                                          index_t y_row, index_t next) {
  constexpr int A = M + 2;
  for (index_t j = 0; j < n; j += static_cast<index_t>(V::size)) {
    V d[A][A], r[M][M];
    unroll<A>([&](auto a) __attribute__((always_inline)) {
      unroll<A>([&](auto b)
                    __attribute__((always_inline)) { d[a][b] = load<V>(m + (a * A + b) * m_point + j); });
    });
    both_axes(typename winograd<M>::result{}, d, r);
    unroll<M>([&](auto a) __attribute__((always_inline)) {
      unroll<M>([&](auto b) __attribute__((always_inline)) { store(y + a * y_row + b * next + j, r[a][b]); });
    });
  }
}

/// to[(point * rows + row) * pitch + i] = transformed weights, i < n, and up to a whole vector where the pitch has room;
/// filter (row, i) at w[row * w_row + i * w_step], its taps reversed where asked
template <class V, int M, bool Reversed, class Team, class T>
void winograd_weights(const Team& team, index_t rows, index_t n, const T* w, index_t w_row, index_t w_step,
                      T* to, index_t pitch) {
  constexpr index_t W = static_cast<index_t>(V::size);
  constexpr int A = M + 2;
  team.run(rows, [&](index_t row, int) {
    for (index_t i = 0; i < n; i += W) {
      const index_t lanes = std::min(W, n - i);
      T taps[9 * V::size];
      transpose<V, true>(lanes, 9, w + row * w_row + i * w_step, w_step, taps, W);
      V f[3][3], r[A][A];
      unroll<9>([&](auto t) { f[t / 3][t % 3] = load<V>(taps + (Reversed ? 8 - t : t.value) * W); });
      both_axes(typename winograd<M>::weights{}, f, r);
      unroll<A * A>([&](auto p) {
        T* const q = to + (p * rows + row) * pitch + i;
        if (pitch - i >= W) store(q, r[p / A][p % A]);
        else store_n(q, r[p / A][p % A], lanes);
      });
    }
  });
}

/// y = conv(x, transformed weights)
template <class V, int M, class Team, class T> void winograd_conv(const Team& team, const conv_extents& e,
                                                                  const T* x, const T* w, T* y, T* scratch) {
  using B = blocking<V>;
  const winograd_plan<V, M> plan(e);
  const winograd_tiles<V, M>& t = plan.tiles;
  const index_t kg = plan.kg, cg = plan.cg, pitch = t.pitch, line = t.plane.line(), width = t.plane.width;
  const index_t groups_of_images = ceil_div(e.n, t.images);
  team.run(groups_of_images * e.groups * t.bands, [&](index_t chunk, int member) {
    const index_t i = chunk % t.bands * t.band, g = chunk / t.bands % e.groups;
    const index_t z0 = chunk / (t.bands * e.groups) * t.images, images = std::min(t.images, e.n - z0);
    const index_t rows = std::min(t.band, e.p - i), tiles = t.tiles_of_rows(e, rows);
    const auto fetch = [](const T* from, index_t n) {
      for (const T* at = from; at < from + n; at += 64 / static_cast<index_t>(sizeof(T)))
        __builtin_prefetch(at, 0, 2);
    };
    T* const data = scratch + member * plan.scratch();
    T* const products = data + plan.data();
    T* const out = products + plan.products();
    T* const plane = out + plan.rows();
    for (index_t z = 0; z < images; ++z)
      for (index_t c = 0; c < cg; ++c) {
        fill<V>(t.plane, plane, x + (((z0 + z) * e.groups + g) * cg + c) * e.h * e.w, e.h, e.w, i - e.pad_top,
                -e.pad_left);
        t.each_line(e, rows, [&](index_t first, index_t row, index_t residue) {
          winograd_data<V, M>(t.line, plane + row * line + residue * width, e.dil_h * line, e.dil_w * width,
                              data + c * pitch + z * tiles + first, plan.data_point());
        });
      }
    for (index_t k0 = 0; k0 < kg; k0 += plan.panel) {
      const index_t filters = std::min(plan.panel, kg - k0);
      for (index_t p = 0; p < t.points; ++p) {
        const T* const ws = w + ((g * t.points + p) * kg + k0) * cg;
        // what is written at the end comes from far: it is on its way while the products are taken
        for (index_t k = p * filters / t.points; k < (p + 1) * filters / t.points; ++k)
          for (index_t z = 0; z < images; ++z)
            fetch(y + (((z0 + z) * e.groups + g) * kg + k0 + k) * e.p * e.q + i * e.q, rows * e.q);
        for (index_t j = 0; j < images * tiles; j += B::NR)
          row_blocks<B::MR>(filters, [&](index_t k, auto m) {
            const auto run = [&](auto nv) {
              micro<V, m.value, nv.value>(cg, ws + k * cg, cg, 1, data + p * plan.data_point() + j, pitch,
                                          products + p * plan.product_point() + k * pitch + j, pitch, B::W,
                                          false);
            };
            if (images * tiles - j > B::W) run(std::integral_constant<int, 2>{});
            else run(std::integral_constant<int, 1>{});
          });
      }
      for (index_t k = 0; k < filters; ++k)
        for (index_t z = 0; z < images; ++z)
          t.each_line(e, rows, [&](index_t first, index_t row, index_t residue) {
            winograd_result<V, M>(t.line, products + k * pitch + z * tiles + first, plan.product_point(),
                                  out + residue * width, line, e.dil_w * width);
            if (residue + 1 < e.dil_w) return; // rows are whole with the last residue of their columns
            T* const to = y + (((z0 + z) * e.groups + g) * kg + k0 + k) * e.p * e.q;
            for (index_t a = 0; a < M; ++a)
              if (const index_t r = i + row + a * e.dil_h; r < e.p)
                merge_residues<V>(e.q, M * e.dil_w, out + a * line, width, to + r * e.q);
          });
    }
  });
}

template <class V, int M> struct winograd_fprop {
  using T = typename V::value_type;
  static constexpr scratch_need need(const conv_extents& e) {
    const winograd_plan<V, M> plan(e);
    return {.packed = plan.tiles.points * e.k * plan.cg, .each = plan.scratch()};
  }
  template <class Team>
  static void pack(const Team& team, const conv_extents& e, const T* w, T* packed) {
    const index_t cg = e.c / e.groups, kg = e.k / e.groups;
    for (index_t g = 0; g < e.groups; ++g)
      winograd_weights<V, M, false>(team, kg, cg, w + g * kg * cg * 9, cg * 9, 9,
                                    packed + g * (M + 2) * (M + 2) * kg * cg, cg);
  }
  template <class Team> static void run(const Team& team, const conv_extents& e, const T* x, const T*, T* y,
                                        const scratch_of_kernel<T>& s) {
    winograd_conv<V, M>(team, e, x, s.packed, y, s.each);
  }
};

template <class V, int M> struct winograd_dgrad {
  using T = typename V::value_type;
  /// The convolution of dy that makes dx.
  static constexpr conv_extents transposed(const conv_extents& e) {
    conv_extents r = e;
    std::swap(r.c, r.k);
    std::swap(r.h, r.p);
    std::swap(r.w, r.q);
    r.pad_top = 2 * e.dil_h - e.pad_top;
    r.pad_left = 2 * e.dil_w - e.pad_left;
    return r;
  }
  static constexpr scratch_need need(const conv_extents& e) {
    return winograd_fprop<V, M>::need(transposed(e));
  }
  template <class Team>
  static void pack(const Team& team, const conv_extents& e, const T* w, T* packed) {
    const index_t cg = e.c / e.groups, kg = e.k / e.groups;
    for (index_t g = 0; g < e.groups; ++g)
      winograd_weights<V, M, true>(team, cg, kg, w + g * kg * cg * 9, 9, cg * 9,
                                   packed + g * (M + 2) * (M + 2) * kg * cg, kg);
  }
  template <class Team> static void run(const Team& team, const conv_extents& e, const T* dy, const T*, T* dx,
                                        const scratch_of_kernel<T>& s) {
    winograd_conv<V, M>(team, transposed(e), dy, s.packed, dx, s.each);
  }
};

} // namespace tapeless::cpu::detail
