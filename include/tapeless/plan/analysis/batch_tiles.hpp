// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Which convolutions and pools pass over a few images at a time, together with the steps beside them that read of one
// another the images at hand only: the forward pass, the loss and both gradients of a layer then find x, y and dy in a
// cache near by. Such steps are a strip (plan/schedule/sweep.hpp) whose rows are images.
#pragma once
#include "../../expr/node.hpp"
#include "../../ops/conv.hpp"
#include "../../ops/pool.hpp"

namespace tapeless::detail {

inline constexpr extent_t least_images = 16;     // each thread has chunks of its own
inline constexpr extent_t image_grain = 1 << 15; // elements of the images that pass together
// Of images and results together: of one, else a cache holds not even that, and of all, else it holds all.
inline constexpr extent_t most_of_image = 1 << 17, least_of_images = 1 << 18;
inline constexpr int batch_sweep_steps = 12; // a longer strip would leave the cache
inline constexpr int convolutions_of_sweep =
    5; // of two layers: with their loops and reorders they are a strip
constexpr extent_t images_at_once(extent_t row) { return row < image_grain ? image_grain / row : 1; }

// May it be a step of such a strip?
constexpr bool is_batch_tiled(op o) { return is_conv(o) || slides(o); }
// n images; row: elements of one, the mean of the operand and the result. n == 0: it takes no part.
struct image_rows {
  extent_t n = 0, row = 0;
};
template <class Nodes> constexpr image_rows batch_tiling_of(const Nodes& nodes, int i) {
  const node& v = nodes[i];
  if (!is_batch_tiled(v.o) || nodes[v.in[0]].t == dtype::bf16) return {};
  const bool wgrad = v.o == op::conv_wgrad;
  const shape &a = nodes[v.in[0]].s, &b = wgrad ? nodes[v.in[1]].s : v.s;
  if (!is_static(numel(a)) || !is_static(numel(b)) || a.d[0] < least_images) return {};
  const extent_t n = a.d[0], both = (numel(a) + numel(b)) / n, row = both / 2;
  if (both > most_of_image || n * both < least_of_images) return {};
  // weights, and sums of their gradient, pass by once for all images at hand
  if (is_conv(v.o) && numel(wgrad ? v.s : nodes[v.in[1]].s) * 2 > images_at_once(row) * both) return {};
  return {n, row};
}
constexpr bool writes_batch_rows(op o) { return is_batch_tiled(o) && o != op::conv_wgrad; }
// Is operand k images? Of a convolution the other one is weights.
constexpr bool reads_images(op o, int k) { return k == 0 || (k == 1 && (o == op::conv_wgrad || slides(o))); }

} // namespace tapeless::detail
