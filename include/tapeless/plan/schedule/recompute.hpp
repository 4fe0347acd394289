// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Values that are not stored: every group that reads one computes it again. Such a value is cheap. It is made of one
// tensor that is in memory anyway and of operands that broadcast with it, as x - mean. The groups read that tensor.
#pragma once
#include "../analysis/strided_view.hpp"
#include "fusion_groups.hpp"

namespace tapeless::detail {

inline constexpr int most_readers = 3;        // groups that compute a value again
inline constexpr extent_t recompute_row = 64; // a loop over shorter rows is slower than one over all elements

// Products are not: where a sum follows, the compiler may round once instead of twice. Each group must compute the
// same bits.
constexpr bool is_cheap(op o) {
  return o == op::add || o == op::sub || o == op::neg || o == op::relu || o == op::widen;
}

// The length of the innermost run of a loop over s in which a broadcast operand is either contiguous or constant.
constexpr extent_t run_of(const strided_view& w, const shape& x, const shape& s) {
  extent_t run = 1;
  bool begun = false, repeats = false;
  for (int i = s.rank - 1; i >= 0; --i) {
    if (s.d[i] == 1) continue;
    const int k = i - (s.rank - x.rank);
    const bool still = k < 0 || x.d[k] == 1 || w.stride[k] == 0;
    if (begun && still != repeats) break;
    if (!is_static(s.d[i])) return 0;
    run *= s.d[i];
    repeats = still;
    begun = true;
  }
  return run;
}

// May each reader of node i compute it from what is in memory?
// in_memory(root): is it an argument, or does it have a buffer?
template <class F> constexpr bool recomputes(const node* nodes, const grouping& g, int i, F in_memory) {
  const node& v = nodes[i];
  if (!is_cheap(v.o) || !is_float(v.t)) return false;
  int whole = 0;
  for (const int x : v.in) {
    if (x < 0) continue;
    const int root = g.root[x];
    if (nodes[root].o == op::constant || nodes[root].o == op::extent || g.inlined[root] != 0) continue;
    if (!in_memory(root)) return false;
    if (g.through[x] == root && squeezed(nodes[root].s) == g.loop[i]) ++whole;
    else if (squeezed(nodes[root].s).rank >= g.loop[i].rank ||
             run_of(strides_through_views(nodes, x), nodes[x].s, v.s) < recompute_row)
      return false;
  }
  return whole == 1;
}

} // namespace tapeless::detail
