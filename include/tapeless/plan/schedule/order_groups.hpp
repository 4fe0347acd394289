// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The order of the groups in which strips are long: those that can take part in one sweep (plan/schedule/csr_sweeps.hpp), or in one strip
// of images (plan/analysis/batch_tiles.hpp), are neighbours. What depends on them and can not, as a mean that is finished between the loss and
// its gradient, stands behind; what they read and depends on none, as prepared weights or the sum of a mask, ahead. Loops
// over gathered images, as the loss of those that a selection keeps, move to the convolution or pool that reads what they make.
#pragma once
#include "../../expr/program.hpp"
#include "../../ops/all.hpp"
#include "../analysis/batch_tiles.hpp"
#include "csr_sweeps.hpp"
#include "fusion_groups.hpp"

namespace tapeless::detail {

inline constexpr extent_t longest_row = 4; // of strips but sweeps, in rows of their first step
inline constexpr int most_taken = 6;       // loops ahead of it: a strip without one has eight steps

// Renumbers the groups.
// @pre r.of and r.groups are final, and a group reads earlier ones only; what depends on the numbers comes later
template <int N, int O> constexpr void cluster_for_sweeps(const program<N, O>& p, grouping& r) {
  const int groups = r.groups.size();
  vec<int> opener(groups,
                  no_node); // of a group that is one: a sweeping op, or a convolution or pool by images
  bool any = false;
  for (int i = 0; i < N; ++i)
    if (r.of[i] >= 0 && ((is_sparse(p.nodes[i].o) && opens_csr_sweep(p.nodes, i)) ||
                         (r.loaded[i] == 0 && batch_tiling_of(p.nodes, i).n > 0))) {
      opener[r.of[i]] = i;
      any = true;
    }
  if (!any) return;
  vec<char> counts(groups, 0); // a selection: extents of what follows are known behind it only
  for (int i = 0; i < N; ++i)
    if (has_data_dependent_rows(p.nodes[i])) counts[r.of[i]] = 1;
  // What a group reads of an earlier one: the operand k of its node, made at root. Those of group g begin at first_read[g].
  struct read_of {
    int node, k, root, from;
  };
  vec<int> first_read(groups + 1, 0);
  vec<read_of> reads_of;
  {
    vec<read_of> by_node;
    for (int i = 0; i < N; ++i)
      for (int k = 0; r.of[i] >= 0 && k < 3; ++k) {
        const int x = p.nodes[i].in[k], root = x < 0 ? no_node : r.root[x];
        const int from = root < 0 ? no_node : r.of[root];
        if (from < 0 || from == r.of[i]) continue;
        by_node.push_back({i, k, root, from});
        ++first_read[r.of[i] + 1];
      }
    for (int g = 0; g < groups; ++g) first_read[g + 1] += first_read[g];
    vec<int> next = first_read;
    reads_of = by_node;
    for (int e = 0; e < by_node.size(); ++e) reads_of[next[r.of[by_node[e].node]]++] = by_node[e];
  }
  vec<int> order; // the old numbers in their new order
  vec<char> placed(groups, 0);
  // Of the groups behind a strip's first: may it take part; does it depend on nothing of the strip, and may stand ahead;
  // does it share a value with a member; does it stand ahead? Each is set, in ascending order, before it is read for a strip.
  vec<char> may(groups, 0), independent(groups, 0), shares(groups, 0), ahead(groups, 0);
  vec<int> near; // those that may or are independent
  // loops that read gathered rows, and of other groups no more than reductions
  vec<char> over_gathered(groups, 0);
  bool any_gathered = false;
  for (int g = 0; g < groups; ++g) {
    bool gathered = false, others = !r.groups[g].fused;
    for (int e = first_read[g]; e < first_read[g + 1]; ++e) {
      const op o = p.nodes[reads_of[e].root].o;
      if (o == op::gather || over_gathered[reads_of[e].from] != 0) gathered = true;
      else others = others || rule(o).k != kind::reduction;
    }
    over_gathered[g] = gathered && !others ? 1 : 0;
    any_gathered = any_gathered || over_gathered[g] != 0;
  }
  vec<int> taken; // of those loops, by the strip; the last one first
  // the last opener that reads a group, or of whose taken loops one does; the last one for which a group that stays ahead
  // reads it
  vec<int> wanted(any_gathered ? groups : 0, no_node), needed_ahead = wanted;
  for (int start = 0; start < groups; ++start) {
    if (placed[start]) continue;
    placed[start] = 1;
    const int first = opener[start];
    if (first < 0) {
      order.push_back(start);
      continue;
    }
    const bool sparse = is_sparse(p.nodes[first].o);
    const image_rows images = batch_tiling_of(p.nodes, first);
    const extent_t rows = sparse ? p.nodes[p.nodes[first].in[0]].s.d[0] : images.n;
    const extent_t widest = sparse ? widest_row : longest_row * images.row;
    const auto goes_with_first = [&](int s) {
      return sparse ? p.nodes[s].in[0] == p.nodes[first].in[0]
                    : is_batch_tiled(p.nodes[s].o) && p.nodes[p.nodes[s].in[0]].s.d[0] == rows;
    };
    const auto makes = [&](const node& v) {
      return is_batch_tiled(v.o) ? writes_batch_rows(v.o) : makes_rows(v);
    };
    const auto reads = [&](const node& v, int k) {
      return is_batch_tiled(v.o) ? reads_images(v.o, k) : operand_of_rows(v) == k;
    };
    taken.clear();
    const auto mark = [&](int g, vec<int>& read) {
      for (int e = first_read[g]; e < first_read[g + 1]; ++e) read[reads_of[e].from] = start;
    };
    if (any_gathered && !sparse) mark(start, wanted);
    const int oldest = any_gathered && !sparse ? order.size() - batch_sweep_steps : order.size();
    for (int k = order.size() - 1; k >= 0 && k >= oldest; --k) {
      const int g = order[k]; // one behind `start` is of an earlier strip
      const bool moves = g < start && taken.size() < most_taken && over_gathered[g] != 0 &&
                         wanted[g] == start && needed_ahead[g] != start &&
                         r.groups[g].loaded == r.groups[start].loaded &&
                         is_loop_over_rows(r.groups[g].it, rows, widest);
      mark(g, moves ? wanted : needed_ahead);
      if (!moves) continue;
      taken.push_back(g);
      placed[g] = 0;
      may[g] = 1;
      independent[g] = 0;
    }
    may[start] = 1;
    independent[start] = 0;
    // act(what g reads) for all that is not there ahead of the sweep
    const auto each_read = [&](int g, auto&& act) {
      for (int e = first_read[g]; e < first_read[g + 1]; ++e)
        if (!placed[reads_of[e].from] || reads_of[e].from == start) act(reads_of[e]);
    };
    // what a member reads may stand ahead, or is the row at hand of another one
    const auto own_row = [&](int g, const read_of& x) {
      return may[x.from] != 0 && rule(p.nodes[x.root].o).k != kind::reduction &&
             (opener[x.from] < 0 || makes(p.nodes[x.root])) && (opener[g] < 0 || reads(p.nodes[x.node], x.k));
    };
    near.clear();
    const int window = start + 4 * batch_sweep_steps, farthest = sparse || window > groups ? groups : window;
    for (int g = start + 1; g < farthest && !(counts[g] && !placed[g]); ++g) {
      may[g] = independent[g] = 0;
      if (placed[g] || r.groups[g].loaded != r.groups[start].loaded) continue;
      const int s = opener[g];
      const bool fits =
          s >= 0 ? goes_with_first(s) : r.groups[g].fused && is_loop_over_rows(r.groups[g].it, rows, widest);
      may[g] = fits ? 1 : 0;
      independent[g] = sparse || !fits ? 1 : 0;
      each_read(g, [&](const read_of& x) {
        if (independent[x.from] != 0) return;
        independent[g] = 0;
        if (!own_row(g, x)) may[g] = 0;
      });
      if (may[g] == 0 && independent[g] == 0) continue;
      near.push_back(g);
      shares[g] = 0;
      // a sum over rows that no product gives, for which a sweep would visit all of them
      ahead[g] = sparse && independent[g] != 0 && r.groups[g].ahead ? 1 : 0;
    }
    // more than a strip has room for keep their place, and so do loops that share no value with it
    if (!sparse) {
      for (const int g : near)
        each_read(g, [&](const read_of& x) {
          if (may[g] != 0 && may[x.from] != 0) shares[g] = shares[x.from] = 1;
        });
      int n = 1 + taken.size();
      for (const int g : near)
        if (may[g] != 0 && ((shares[g] == 0 && opener[g] < 0) || ++n > batch_sweep_steps)) may[g] = 0;
    }
    // what a member reads whole stands ahead too, and what that reads
    for (int k = near.size() - 1; k >= 0; --k)
      each_read(near[k], [&](const read_of& x) {
        const int g = near[k];
        const bool needed = ahead[g] != 0 || (may[g] != 0 && !own_row(g, x));
        if (needed && independent[x.from] != 0) ahead[x.from] = 1;
      });
    const auto place = [&](int g) {
      placed[g] = 1;
      order.push_back(g);
    };
    int kept = taken.empty() ? order.size() : 0;
    for (int k = kept; k < order.size(); ++k)
      if (placed[order[k]] != 0) order[kept++] = order[k];
    order.truncate(kept);
    for (const int g : near)
      if (ahead[g] != 0) place(g);
    for (int k = taken.size(); k-- > 0;) place(taken[k]);
    order.push_back(start);
    for (const int g : near)
      if (may[g] != 0 && ahead[g] == 0) place(g);
  }
  if (order.size() != groups) throw "each group has one place";
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
