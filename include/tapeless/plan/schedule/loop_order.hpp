// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Which axis of a group's loop is outermost: the first one, with one exception. Where several groups pass over one
// large tensor (N, C, ...) and sum it for each channel, as batch_norm and its derivative do, it is the axis of the
// channels. These groups are then a sweep (sweep.hpp) that reads the tensor from memory once, channel by channel, not
// once for each group.
#pragma once
#include "../analysis/strided_view.hpp"
#include "fusion_groups.hpp"

namespace tapeless::detail {

inline constexpr extent_t by_channels_elements =
    1 << 23; // of the tensor, at least: the last cache holds smaller ones
inline constexpr extent_t channel_elements = 1 << 19; // of a channel, at most: an inner cache holds it
inline constexpr extent_t channel_run = 1024;         // contiguous ones, at least
inline constexpr extent_t least_channels = 16;        // for threads, which take whole channels

// `it` with axis `outermost` in front; move_to_front: strides in that order
constexpr shape with_outermost(const shape& it, int outermost) {
  shape r = it;
  for (int a = outermost; a > 0; --a) r.d[a] = r.d[a - 1];
  if (outermost > 0) r.d[0] = it.d[outermost];
  return r;
}
constexpr void move_to_front(extent_t (&stride)[max_rank], int axis) {
  const extent_t first = stride[axis];
  for (int a = axis; a > 0; --a) stride[a] = stride[a - 1];
  stride[0] = first;
}

// The one axis of its loop that reduction v keeps, or how many it keeps.   operand: the shape that it reduces
inline constexpr int keeps_none = -2, keeps_several = -1;
constexpr int kept_axis(const node& v, const shape& operand) {
  int kept = keeps_none, a = 0;
  for (int i = 0; i < operand.rank; ++i) {
    if (operand.d[i] == 1) continue;
    if (((v.attr >> i) & 1u) == 0) kept = kept == keeps_none ? a : keeps_several;
    ++a;
  }
  return kept;
}
constexpr bool pays_as_outermost(const shape& it, int axis) {
  extent_t all = 1, run = 1;
  for (int a = 0; a < it.rank; ++a) {
    if (!is_static(it.d[a])) return false;
    all *= it.d[a];
    if (a > axis) run *= it.d[a];
  }
  return axis > 0 && all >= by_channels_elements && run >= channel_run && it.d[axis] >= least_channels &&
         all / it.d[axis] <= channel_elements;
}

// Sets the outermost axis of all groups. Groups that share a loop have the same.
constexpr void choose_outermost_axes(const node* nodes, int n, grouping& r) {
  // the axis that all reductions of a group keep; those over all axes do not count
  vec<int> axis(r.groups.size(), keeps_none);
  bool any = false;
  for (int i = 0; i < n; ++i) {
    const node& v = nodes[i];
    if (rule(v.o).k != kind::reduction) continue;
    const int g = r.of[i], kept = kept_axis(v, nodes[v.in[0]].s);
    if (kept == keeps_none) continue;
    axis[g] = axis[g] == keeps_none || axis[g] == kept ? kept : keeps_several;
    any = any || pays_as_outermost(r.groups[g].it, kept);
  }
  if (!any) return;
  for (int g = 0; g < r.groups.size(); ++g) {
    if (axis[g] < 0 || !pays_as_outermost(r.groups[g].it, axis[g])) continue;
    int sharing = 0;
    bool agree = true;
    for (int h = 0; h < r.groups.size(); ++h)
      if (r.groups[h].fused && r.groups[h].it == r.groups[g].it) {
        ++sharing;
        agree = agree && (axis[h] == keeps_none || axis[h] == axis[g]);
      }
    if (sharing < 2 || !agree) continue;
    for (int h = 0; h < r.groups.size(); ++h)
      if (r.groups[h].fused && r.groups[h].it == r.groups[g].it) r.groups[h].outermost = axis[g];
  }
}

} // namespace tapeless::detail
