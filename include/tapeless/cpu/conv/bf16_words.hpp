// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Packs bf16 operands of a convolution into 32-bit words: pairs of elements in NHWC, or widened elements.
#include "../../core/bf16.hpp"
#include "../base/bf16.hpp"
#include "../matmul/bf16.hpp"
#include "common/tile.hpp"

namespace tapeless::cpu {

/// Two lines of elements, which become one line of words; nullptr: zeros.
struct pair_of_lines {
  const bf16 *first, *second;
  constexpr pair_of_lines at(index_t i) const {
    return {first != nullptr ? first + i : first, second != nullptr ? second + i : second};
  }
};
/// Words of n elements of two lines.   @pre second is nullptr where words are widened elements
template <class L> [[gnu::always_inline]] inline simd<float> words_of_pair(pair_of_lines p, index_t n) {
  using V = simd<float>;
  const auto halves = [&](const bf16* q) __attribute__((always_inline)) {
    return q == nullptr ? words_of<V>{} : n >= L::W ? load_halves<V>(q) : load_halves_n<V>(q, n);
  };
  if constexpr (L::depth == 1) return lanes_of_words<V>(halves(p.first) << 16);
  else return lanes_of_words<V>(halves(p.first) | halves(p.second) << 16);
}
/// to[i] = the words of two lines of n elements
template <class L> void put_pair(index_t n, pair_of_lines p, float* to) {
  for (index_t i = 0; i < n; i += L::W)
    if (const auto v = words_of_pair<L>(p.at(i), n - i); n - i >= L::W) store(to + i, v);
    else store_n(to + i, v, n - i);
}
/// to[i * pitch + j] = the words of lines(j), i < n, j < count
template <class L, class Lines>
void transpose_pairs(index_t count, index_t n, const Lines& lines, index_t pitch, float* to) {
  using V = simd<float>;
  constexpr index_t W = L::W;
  for (index_t j = 0; j < count; j += W) {
    pair_of_lines line[V::size];
    for (index_t r = 0; r < W; ++r) line[r] = j + r < count ? lines(j + r) : pair_of_lines{nullptr, nullptr};
    for (index_t i = 0; i < n; i += W) {
      V v[V::size];
      unroll<V::size>([&](auto r)
                          __attribute__((always_inline)) { v[r] = words_of_pair<L>(line[r].at(i), n - i); });
      transpose_lanes(v);
      unroll<V::size>([&](auto x) __attribute__((always_inline)) {
        if (i + x >= n) return;
        float* const row = to + (i + x) * pitch + j;
        if (count - j >= W) store(row, v[x]);
        else store_n(row, v[x], count - j);
      });
    }
  }
}
/// to[s] = the word of neighbours p[s * depth] ..., of n elements
template <class L> void put_neighbours(index_t n, const bf16* p, float* to) {
  const index_t steps = steps_of<L>(n);
  for (index_t s = 0; s < steps; s += L::W) {
    const simd<float> v = L::along(p + s * L::depth, n - s * L::depth);
    if (steps - s >= L::W) store(to + s, v);
    else store_n(to + s, v, steps - s);
  }
}

/// Images of (groups, channels of a group), NCHW or (last) NHWC -> (pixel, group, word of neighbouring channels).
template <class L, class Team> void words_of_channels(const Team& team, index_t images, index_t groups,
                                                      index_t channels, index_t pixels, bool last,
                                                      const bf16* x, float* to) {
  constexpr index_t block = 256; // pixels
  const index_t words = steps_of<L>(channels), pitch = groups * words, parts = ceil_div(pixels, block);
  team.run(images * parts, [&](index_t unit, int) {
    const index_t i = unit % parts * block, n = std::min(block, pixels - i), z = unit / parts;
    const bf16* const image = x + z * groups * channels * pixels;
    float* const out = to + (z * pixels + i) * pitch;
    if (!last)
      for (index_t g = 0; g < groups; ++g)
        transpose_pairs<L>(
            words, n,
            [&](index_t j) {
              const index_t c = j * L::depth;
              const bf16* const p = image + (g * channels + c) * pixels + i;
              return pair_of_lines{p, L::depth == 2 && c + 1 < channels ? p + pixels : nullptr};
            },
            pitch, out + g * words);
    else if (const bf16* const from = image + i * groups * channels; channels % L::depth == 0)
      put_neighbours<L>(n * groups * channels, from, out);
    else
      for (index_t k = 0; k < n * groups; ++k)
        put_neighbours<L>(channels, from + k * channels, out + k * words);
  });
}
/// (n, rows, width) of pairs of lines, NCHW with planes of `plane` elements or (last) NHWC -> (n, rows, width,
/// channel).
///   lines(z, i): row i of pair z, of its first channel
template <class L, class Team, class Lines>
void words_of_lines(const Team& team, index_t pairs, index_t rows, index_t width, index_t channels,
                    index_t plane, bool last, const Lines& lines, float* to) {
  constexpr index_t block = 256; // columns
  const index_t parts = ceil_div(width, block);
  team.run(pairs * rows * parts, [&](index_t unit, int) {
    const index_t j = unit % parts * block, n = std::min(block, width - j), row = unit / parts;
    const pair_of_lines p = lines(row / rows, row % rows);
    float* const out = to + (row * width + j) * channels;
    if (last) put_pair<L>(n * channels, p.at(j * channels), out);
    else transpose_pairs<L>(channels, n, [&](index_t c) { return p.at(c * plane + j); }, channels, out);
  });
}
/// (images, pixels, channels) -> (images, channels, pixels)
template <class Team>
void to_planes(const Team& team, index_t images, index_t channels, index_t pixels, const float* from,
               float* to) {
  constexpr index_t block = 16; // channels
  const index_t parts = ceil_div(channels, block);
  team.run(images * parts, [&](index_t unit, int) {
    const index_t z = unit / parts, c = unit % parts * block;
    transpose<simd<float>>(pixels, std::min(block, channels - c), from + z * pixels * channels + c, channels,
                           to + (z * channels + c) * pixels, pixels);
  });
}

} // namespace tapeless::cpu
