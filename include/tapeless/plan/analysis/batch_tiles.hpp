// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Batch tiles: convolutions and pools that process a few images at a time. Steps that read only the current images of
// one another run in one sweep (plan/schedule/sweep.hpp) whose rows are images. The forward pass, the loss and both
// gradients of a layer then find x, y and dy in a cache.
#pragma once
#include "../../expr/node.hpp"
#include "../../ops/conv.hpp"
#include "../../ops/pool.hpp"

namespace tapeless::detail {

inline constexpr extent_t least_batch = 16;     // each thread gets chunks of its own
inline constexpr extent_t tile_grain = 1 << 15; // elements of the images in a tile
// Elements. An image and its result have at most most_of_pair, so that a cache holds them. All images and results have at
// least least_of_pairs: a cache holds fewer without tiles.
inline constexpr extent_t most_of_pair = 1 << 17, least_of_pairs = 1 << 18;
inline constexpr int batch_sweep_steps = 12; // a longer sweep would leave the cache
// A sweep has at most the convolutions of two layers, with their loops and reorders.
inline constexpr int batch_sweep_convolutions = 5;
constexpr extent_t images_of_tile(extent_t row) { return row < tile_grain ? tile_grain / row : 1; }

// May the op be a step of such a sweep?
constexpr bool is_batch_tiled(op o) { return is_conv(o) || slides(o); }
// n images; row: elements of one, the mean of operand and result. n == 0: no batch tiles.
struct batch_tiling {
  extent_t n = 0, row = 0;
};
template <class Nodes> constexpr batch_tiling batch_tiling_of(const Nodes& nodes, int i) {
  const node& v = nodes[i];
  if (!is_batch_tiled(v.o) || nodes[v.in[0]].t == dtype::bf16) return {};
  const bool wgrad = v.o == op::conv_wgrad;
  const shape &a = nodes[v.in[0]].s, &b = wgrad ? nodes[v.in[1]].s : v.s;
  if (!is_static(numel(a)) || !is_static(numel(b)) || a.d[0] < least_batch) return {};
  const extent_t n = a.d[0], both = (numel(a) + numel(b)) / n, row = both / 2;
  if (both > most_of_pair || n * both < least_of_pairs) return {};
  // each tile reads all weights, or adds to all their gradients: not if these are most of what it reads
  if (is_conv(v.o) && numel(wgrad ? v.s : nodes[v.in[1]].s) * 2 > images_of_tile(row) * both) return {};
  return {n, row};
}
constexpr bool writes_batch_rows(op o) { return is_batch_tiled(o) && o != op::conv_wgrad; }
// Is operand k images? The other operand of a convolution is weights.
constexpr bool reads_batch_rows(op o, int k) {
  return k == 0 || (k == 1 && (o == op::conv_wgrad || slides(o)));
}

} // namespace tapeless::detail
