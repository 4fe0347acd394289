// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Products of NHWC pixels with a panel of weights:
//   y_i[j] = sum_t sum_l x_i[tap[t] + l] * b[t, l, j]      l < run, j < lanes
// x_i is the address of the window of row i. Contiguous taps are one longer run. Trimmed windows leave gaps between
// runs of the weights.
#include "../common/row_panel.hpp"
#include "../common/tile.hpp"

namespace tapeless::cpu {

/// (rows, width, channels) of an image of pixels `pitch` apart, from (y0, x0) on, zero outside the image.
template <class V, class T> void fill_pixels(index_t rows, index_t width, index_t channels, T* to, const T* x,
                                             index_t pitch, index_t h, index_t w, index_t y0, index_t x0) {
  const index_t first = std::clamp<index_t>(-x0, 0, width), end = std::clamp<index_t>(w - x0, first, width);
  for (index_t i = 0; i < rows; ++i, to += width * channels) {
    const index_t y = y0 + i;
    if (y < 0 || y >= h) {
      zero_row<V>(to, width * channels);
      continue;
    }
    const T* const from = x + (y * w + x0 + first) * pitch;
    zero_row<V>(to, first * channels);
    if (pitch == channels) copy_row<V>(to + first * channels, from, (end - first) * channels);
    else
      for (index_t j = 0; j < end - first; ++j)
        copy_row<V>(to + (first + j) * channels, from + j * pitch, channels);
    zero_row<V>(to + end * channels, (width - end) * channels);
  }
}

template <class T> struct panel_of_runs {
  static constexpr bool partial = true;
  const index_t* tap;
  index_t outer, inner; // taps, numbers of a run
  index_t gap;          // numbers of b between two runs
  const T* b;           // (tap, l, lane)
  index_t last;         // lanes of the last vector
  bool add;

  template <class Term> [[gnu::always_inline]] void each_term(index_t t, index_t t_end, index_t l,
                                                              index_t l_end, index_t width,
                                                              const Term& term) const {
    for (; t < t_end; ++t) {
      const index_t end = tap[t] + l_end;
      const T* q = b + t * (inner * width + gap) + l * width;
      for (index_t at = tap[t] + l; at < end; ++at, q += width) {
        opaque_scalar(at); // one index for all rows, not a pointer for each
        term(at, q);
      }
    }
  }
};

/// Pixels (image, row, column), and how far apart they are where they are read and where they are written.
struct pixel_grid {
  index_t images, rows, cols;
  struct steps {
    index_t image, row, col;
  } from, to;
};
/// The addresses of these pixels in order; after the last one, that one again.
template <class T> class pixel_walk {
  const pixel_grid& g_;
  row_of_lanes<T> image_, row_, at_;
  index_t z_ = 0, i_ = 0, j_ = 0;

  static void move(row_of_lanes<T>& p, index_t from, index_t to) { p.from += from, p.to += to; }

public:
  pixel_walk(const pixel_grid& g, const T* from, T* to)
      : g_(g), image_{from, to}, row_(image_), at_(image_) {}
  row_of_lanes<T> next() {
    const row_of_lanes<T> p = at_;
    if (++j_ < g_.cols) return move(at_, g_.from.col, g_.to.col), p;
    if (++i_ < g_.rows) move(row_, g_.from.row, g_.to.row);
    else if (++z_ < g_.images) move(image_, g_.from.image, g_.to.image), row_ = image_, i_ = 0;
    else return p;
    at_ = row_, j_ = 0;
    return p;
  }
};

template <class V, class T> void zero_pixels(const pixel_grid& g, T* to, index_t lanes) {
  pixel_walk<T> walk(g, to, to);
  for (index_t m = g.images * g.rows * g.cols; m > 0; --m) zero_row<V>(walk.next().to, lanes);
}

/// All rows of one panel, in blocks of nearly equal size: a smaller block takes less time. Few: the last one or two
/// rows are a small block.
template <class V, int NV, bool Few, class T>
void rows_of_runs(const pixel_grid& g, const T* from, T* to, const panel_of_runs<T>& s) {
  constexpr int M = lane_blocking<V>::rows(NV), small = lane_blocking<V>::few;
  const index_t rows = g.images * g.rows * g.cols, blocks = ceil_div(rows, M);
  index_t less = rows < M * (M - 1) ? 0 : blocks * M - rows; // blocks of one row less
  pixel_walk<T> walk(g, from, to);
  T spare[NV * static_cast<index_t>(V::size)]{}; // for rows that only fill the last block
  index_t left = rows;
  const auto take = [&]<int N>(std::integral_constant<int, N>) {
    row_of_lanes<T> block[N];
    for (int m = 0; m < N; ++m) {
      block[m] = walk.next();
      if (m >= left) block[m].to = spare;
    }
    rows_kernel<V, N, NV>(block, s);
    left -= N;
  };
  for (; less > 0; --less) take(std::integral_constant<int, M - 1>{});
  while (left > 0) { // NOLINT(bugprone-infinite-loop): take() lowers it
    if constexpr (Few)
      if (left <= std::max(2, small)) {
        take(std::integral_constant<int, small>{});
        continue;
      }
    take(std::integral_constant<int, M>{});
  }
}

/// Taps in the order of their weights, `channels` numbers each, `gap` left out between two.
struct taps_of_pixels {
  index_t channels, taps = 0, gap = 0;
  index_t tap[tap_block] = {};

  /// Joins taps without a gap into one, if all can be joined alike.
  void merge() {
    index_t n = 1;
    while (n < taps && tap[n] == tap[n - 1] + channels) ++n;
    for (index_t t = 1; t < taps; ++t)
      if (t % n != 0 && tap[t] != tap[t - 1] + channels) return;
    if (taps % n != 0) return;
    for (index_t t = 0; t < taps; t += n) tap[t / n] = tap[t];
    taps /= n, channels *= n;
  }
};

/// Steps of one panel of weights. The panel stays in the first-level cache for all rows, and what they read of x in
/// the second. With very many steps a panel has more of them, so that there are at most blocks_in_order panels.
constexpr index_t deep_of(index_t steps) { return std::max<index_t>(384, ceil_div(steps, blocks_in_order)); }

/// y (+)= the sums over all taps for lanes [lane, end); b: (panel of NR lanes, b_size, lane of the panel), whole
/// vectors, at the first of these taps in panel 0; `to` is where lane 0 goes.   @pre lane is a multiple of NR
template <class V, bool Few = false, class T>
void lanes_of_runs(const pixel_grid& g, const T* from, T* to, index_t lane, index_t end, index_t lanes,
                   const taps_of_pixels& t, const T* b, index_t b_first, index_t b_size, bool add) {
  using B = lane_blocking<V>;
  const index_t deep = deep_of(t.taps * t.channels), parts = ceil_div(t.channels, deep),
                run = ceil_div(t.channels, parts);
  const index_t together = parts > 1 ? 1 : std::max<index_t>(1, deep / t.channels);
  for (index_t first = 0; first < t.taps; first += together)
    for (index_t c = 0; c < t.channels; c += run)
      for (index_t j = lane; j < end; j += B::NR)
        unroll<B::NV>([&](auto v) {
          constexpr int NV = v.value + 1;
          const index_t here = std::min(B::NR, lanes - j);
          if (ceil_div(here, B::W) != NV) return;
          rows_of_runs<V, NV, Few>(
              g, from + c, to + j,
              panel_of_runs<T>{.tap = t.tap + first,
                               .outer = std::min(together, t.taps - first),
                               .inner = std::min(run, t.channels - c),
                               .gap = t.gap * NV * B::W,
                               .b = b + j * b_size + (b_first + first * (t.channels + t.gap) + c) * NV * B::W,
                               .last = here - (NV - 1) * B::W,
                               .add = add || first > 0 || c > 0});
        });
}

} // namespace tapeless::cpu
