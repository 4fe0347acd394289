// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// How NCHW minimal filtering cuts its work: register block, line of tiles of a chunk, scratch of a chunk.
#include "../common/tile.hpp"

namespace tapeless::cpu {

/// The register block: `filters` filters, `vectors` vectors of tiles, `points` points of a row (a divisor of M + 2).
/// Two vectors share the load of a weight: with one, a core of two FMA units waits for its loads.
template <class V, int M> struct winograd_block {
  static constexpr int sums = sizeof(V) == 64 ? 24 : 12, vectors = 2;
  static constexpr int points = M == 2 && sums == 24 ? 4 : 2, filters = sums / (points * vectors);
};

/// The tiles of a chunk, in one line: image, step of M * dil_h rows, row modulo dil_h, column modulo dil_w, column.
/// Each image has one step more than a band: the rows that its last tiles read.
template <class V, int M> struct winograd_line {
  using T = typename V::value_type;
  static constexpr index_t W = static_cast<index_t>(V::size), A = M + 2;
  index_t row, step;          // tiles of one residue of a row; of a step
  index_t steps, band, bands; // steps of an image, of a chunk, chunks of an image
  index_t images;             // of a chunk, at most
  constexpr explicit winograd_line(const conv_extents& e)
      : row(ceil_div(ceil_div(e.q, e.dil_w), index_t(M))),
        step(row * e.dil_w * e.dil_h),
        steps(ceil_div(e.p, M * e.dil_h)),
        images(1) {
    // so many steps of transformed rows and of results stay in cache
    const index_t wanted = (1 << 19) / (static_cast<index_t>(sizeof(T)) * M * step *
                                        std::max(A * (e.c / e.groups), M * (e.k / e.groups)));
    cut(std::clamp<index_t>(wanted, 1, steps));
    // so many images that the vectors are full
    const auto vectors_of = [&](index_t n) { return ceil_div(tiles(n, band), W); };
    if (bands == 1)
      for (index_t n = 2; n <= 8 && n * (band + 1) <= wanted; ++n)
        if (32 * vectors_of(n) * images < 31 * vectors_of(images) * n) images = n;
  }
  constexpr void cut(index_t wanted) {
    bands = ceil_div(steps, wanted);
    band = ceil_div(steps, bands);
    bands = ceil_div(steps, band);
  }
  /// The same in smaller bands, if the batch and its groups alone would leave members idle.
  winograd_line for_team(index_t batch, index_t groups, index_t members) const {
    winograd_line r = *this;
    const auto chunks = [&] { return ceil_div(batch, r.images) * groups * r.bands; };
    if (members == 1 || batch == 0 || chunks() >= 2 * members) return r;
    r.images = 1;
    if (chunks() < members) r.cut(ceil_div(steps * batch * groups, members));
    return r;
  }
  constexpr index_t tiles(index_t n, index_t steps_of_each) const {
    return ((n - 1) * (band + 1) + steps_of_each) * step;
  }
  /// Elements of a row of points of one channel, with room for a whole vector at its end.
  constexpr index_t pitch() const { return round_up(images * (band + 1) * step, W) + W; }
  /// Row r of a band of image z begins at at(..) of the rows of its phase, r / dil_h modulo M.
  constexpr index_t at(const conv_extents& e, index_t z, index_t r) const {
    return (z * (band + 1) + r / (M * e.dil_h)) * step + r % e.dil_h * e.dil_w * row;
  }
};

template <class V, int M> struct winograd_plan {
  using T = typename V::value_type;
  static constexpr index_t W = static_cast<index_t>(V::size), A = M + 2, points = A * A;
  index_t cg, kg;
  winograd_line<V, M> line;
  constexpr explicit winograd_plan(const conv_extents& e) : winograd_plan(e, winograd_line<V, M>(e)) {}
  constexpr winograd_plan(const conv_extents& e, const winograd_line<V, M>& l)
      : cg(e.c / e.groups), kg(e.k / e.groups), line(l) {}
  constexpr index_t rows() const { return cg * M * A * line.pitch(); } // (channel, phase, b, tile)
  constexpr index_t vector() const { return points * cg * W; }         // of tiles: its transformed inputs
  constexpr index_t result() const {                                   // an odd number of lines
    constexpr index_t cache_line = 64 / static_cast<index_t>(sizeof(T));
    return round_up(round_up(line.tiles(line.images, line.band), W) * M, 2 * cache_line) + cache_line;
  }
  constexpr index_t results() const { return kg * M * result(); } // (filter, row modulo M, column)
  constexpr image_tile plane(const conv_extents& e) const {
    return {1, (M * line.band + 2) * e.dil_h, e.dil_w, M * line.row + 2};
  }
  constexpr index_t scratch(const conv_extents& e) const {
    return rows() + winograd_block<V, M>::vectors * vector() + results() + plane(e).size() + 2 * M * W;
  }
};

} // namespace tapeless::cpu
