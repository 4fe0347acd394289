// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The order of the groups in which strips are long: those that can take part in one sweep (sweeps.hpp), or in one strip
// of images (images.hpp), are neighbours. What depends on them and can not, as a mean that is finished between the loss and
// its gradient, stands behind; what they read and depends on none, as prepared weights or the sum of a mask, ahead.
#pragma once
#include "images.hpp"
#include "sweeps.hpp"

namespace tapeless::detail {

inline constexpr extent_t longest_row = 4; // of strips but sweeps, in rows of their first step

// Renumbers the groups.
// @pre r.of and r.groups are final; what depends on the numbers comes later
template <int N, int O> constexpr void gather_strips(const program<N, O>& p, grouping& r) {
  const int groups = r.groups.size();
  vec<int> opener(groups, no_node); // of a group that is one: a sweeping op, or a convolution by images
  bool any = false;
  for (int i = 0; i < N; ++i)
    if (r.of[i] >= 0 && ((is_sparse(p.nodes[i].o) && sweeps(p.nodes, i)) ||
                         (r.loaded[i] == 0 && images_of(p.nodes, i).n > 0))) {
      opener[r.of[i]] = i;
      any = true;
    }
  if (!any) return;
  vec<char> counts(groups, 0); // a selection: extents of what follows are known behind it only
  for (int i = 0; i < N; ++i)
    if (is_counted(p.nodes[i])) counts[r.of[i]] = 1;
  vec<int> order; // the old numbers in their new order
  vec<char> placed(groups, 0);
  for (int start = 0; start < groups; ++start) {
    if (placed[start]) continue;
    placed[start] = 1;
    const int first = opener[start];
    if (first < 0) {
      order.push_back(start);
      continue;
    }
    const bool sparse = is_sparse(p.nodes[first].o);
    const image_rows images = images_of(p.nodes, first);
    const extent_t rows = sparse ? p.nodes[p.nodes[first].in[0]].s.d[0] : images.n;
    const extent_t widest = sparse ? widest_row : longest_row * images.row;
    const auto goes_with_first = [&](int s) {
      return sparse ? p.nodes[s].in[0] == p.nodes[first].in[0]
                    : is_conv(p.nodes[s].o) && p.nodes[p.nodes[s].in[0]].s.d[0] == rows;
    };
    const auto makes = [&](const node& v) { return is_conv(v.o) ? makes_images(v.o) : makes_rows(v); };
    const auto reads = [&](const node& v, int k) {
      return is_conv(v.o) ? reads_images(v.o, k) : operand_of_rows(v) == k;
    };
    vec<char> may(groups, 0),
        independent(groups, 0); // take part; depend on nothing of it, and may stand ahead
    int end = start + 1;        // of the groups that are looked at
    const int window = start + 4 * image_strip_steps, farthest = sparse || window > groups ? groups : window;
    for (; end < farthest && !(counts[end] && !placed[end]); ++end) {
      const int g = end;
      const int s = opener[g];
      const bool fits =
          s >= 0 ? goes_with_first(s) : r.groups[g].fused && is_loop_over_rows(r.groups[g].it, rows, widest);
      const bool here = !placed[g] && r.groups[g].loaded == r.groups[start].loaded;
      may[g] = fits && here ? 1 : 0;
      independent[g] = here && (sparse || !fits) ? 1 : 0;
    }
    may[start] = 1;
    vec<int> near; // their nodes
    for (int i = 0; i < N; ++i)
      if (r.of[i] > start && r.of[i] < end) near.push_back(i);
    // act(node, its group, operand, the root of that, the group of that) for all that is not there ahead of the sweep, until
    // none returns true
    const auto until_stable = [&](auto&& act) {
      for (bool changed = true; changed;) {
        changed = false;
        for (const int i : near)
          for (int k = 0; k < 3; ++k) {
            const int x = p.nodes[i].in[k], root = x < 0 ? no_node : r.root[x];
            const int from = root < 0 ? no_node : r.of[root];
            if (from < 0 || from == r.of[i] || (placed[from] && from != start)) continue;
            changed = act(i, r.of[i], k, root, from) || changed;
          }
      }
    };
    const auto unless = [](bool keeps, char& flag) {
      if (flag == 0 || keeps) return false;
      flag = 0;
      return true;
    };
    until_stable(
        [&](int, int g, int, int, int from) { return unless(independent[from] != 0, independent[g]); });
    // what a member reads may stand ahead, or is the row at hand of another one
    const auto own_row = [&](int i, int g, int k, int root, int from) {
      return may[from] != 0 && rule(p.nodes[root].o).k != kind::reduction &&
             (opener[from] < 0 || makes(p.nodes[root])) && (opener[g] < 0 || reads(p.nodes[i], k));
    };
    until_stable([&](int i, int g, int k, int root, int from) {
      return unless(own_row(i, g, k, root, from) || independent[from] != 0, may[g]);
    });
    // more than a strip has room for keep their place, and so do loops that share no value with it
    vec<char> shares(groups, 0);
    until_stable([&](int, int g, int, int, int from) {
      if (may[g] != 0 && may[from] != 0) shares[g] = shares[from] = 1;
      return false;
    });
    for (int g = start + 1, n = 1; g < end && !sparse; ++g)
      if (may[g] != 0 && ((shares[g] == 0 && opener[g] < 0) || ++n > image_strip_steps)) may[g] = 0;
    // 0: stands ahead, for a member reads it whole, or what stands ahead does; or as a sum over rows that no product gives,
    // for which a sweep would visit all of them
    vec<char> behind(groups, 1);
    for (int g = start + 1; g < end; ++g)
      if (sparse && independent[g] != 0 && r.groups[g].ahead) behind[g] = 0;
    until_stable([&](int i, int g, int k, int root, int from) {
      const bool needed = behind[g] == 0 || (may[g] != 0 && !own_row(i, g, k, root, from));
      return unless(independent[from] == 0 || !needed, behind[from]);
    });
    for (int g = start + 1; g < end; ++g)
      if (behind[g] == 0) may[g] = 0;
    const auto place = [&](int g) {
      placed[g] = 1;
      order.push_back(g);
    };
    for (int g = start + 1; g < end; ++g)
      if (behind[g] == 0) place(g);
    order.push_back(start);
    for (int g = start + 1; g < end; ++g)
      if (may[g]) place(g);
  }
  vec<int> now(groups, 0);
  const vec<group> old = r.groups;
  for (int k = 0; k < groups; ++k) {
    now[order[k]] = k;
    r.groups[k] = old[order[k]];
  }
  for (int i = 0; i < N; ++i)
    if (r.of[i] >= 0) r.of[i] = now[r.of[i]];
}

} // namespace tapeless::detail
