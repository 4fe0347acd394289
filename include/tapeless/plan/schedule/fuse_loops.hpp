// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// make_groups: which nodes share a loop. A group is a set of elementwise ops and reductions over one iteration space
// (the shape without its axes of extent 1); any other op is a group of its own. Groups run in the order of their
// numbers.
//
// A value passes in a register between nodes of one group. Everything else passes through a buffer, or is computed
// again by each group that reads it (recompute.hpp).
// Invariants: a node's group is not below those of its operands; an operand that is no register value comes from an
// earlier group.
#pragma once
#include "../../expr/program.hpp"
#include "../../ops/all.hpp"
#include "fusion_groups.hpp"
#include "loop_nodes.hpp"
#include "loop_order.hpp"
#include "order_groups.hpp"
#include "stored_values.hpp"

namespace tapeless::detail {

// Puts each node into a group, in the order of the nodes.
template <int N, int O> class loop_fusion {
  const program<N, O>& p_;
  const vec<char>& is_output_;
  grouping& r_;
  const sides side_ = sides_of_csr_sweeps(p_, r_.loop);
  vec<int> uses_{N, 0},
      user_{N, no_node};     // readers of a node, and the last one; no_node: it needs the buffer
  vec<int> earliest_{N, 0};  // the first group that may compute a node
  vec<int> weight_{N, 0};    // ops of a node and of the nodes that wait for it
  vec<char> lanes_{N, 0};    // the same of lanes
  vec<char> deferred_{N, 0}; // waits for its one reader, and goes into the reader's group
  vec<int> selections_;      // whose rows depend on data
  vec<int> stack_;

  constexpr int source(int consumer, int x) const { return register_source(p_.nodes, r_, consumer, x); }

  constexpr void count_uses() {
    for (int i = 0; i < N; ++i) {
      if (rule(p_.nodes[i].o).k == kind::view) continue;
      for (const int x : p_.nodes[i].in) {
        if (x < 0) continue;
        const int u = source(i, x), root = u >= 0 ? u : r_.root[x];
        ++uses_[root];
        user_[root] = u >= 0 ? i : no_node;
        if (u < 0) uses_[root] += 2;
      }
    }
  }

  // Puts v, and the deferred trees below it, into group g.
  constexpr void settle(int v, int g) {
    stack_.push_back(v);
    while (!stack_.empty()) {
      const int x = stack_.pop_back();
      r_.of[x] = g;
      deferred_[x] = 0;
      for (const int y : p_.nodes[x].in) {
        if (y < 0) continue;
        const int u = r_.through[y];
        if (deferred_[u]) stack_.push_back(u);
      }
    }
  }
  constexpr bool is_wide(int v) const { return (lanes_[v] & lanes_64) != 0; }
  constexpr bool is_narrow(int v) const { return (lanes_[v] & lanes_32) != 0; }
  constexpr bool fits(int v, const group& g) const {
    return g.fused && g.it == r_.loop[v] && g.loaded == (r_.loaded[v] != 0) &&
           g.nodes + weight_[v] <= max_group_nodes && !(is_wide(v) && g.narrow) &&
           !(is_narrow(v) && g.wide) && !(side_.behind[v] != 0 && g.ahead) &&
           !(side_.ahead[v] != 0 && g.behind);
  }
  // Puts v into the first group that it fits, or into a new one.
  constexpr void place(int v) {
    constexpr int window = 8; // groups that are tried, the last ones: the search stays short
    const int n = r_.groups.size();
    int g = earliest_[v] > n - window ? earliest_[v] : n - window;
    if (g < 0) g = 0;
    if (earliest_[v] < g && earliest_[v] < n && fits(v, r_.groups[earliest_[v]])) g = earliest_[v];
    while (g < n && !fits(v, r_.groups[g])) ++g;
    if (g == n) {
      r_.groups.push_back({});
      start_loop(r_.groups[g], v);
    }
    group& to = r_.groups[g];
    to.nodes += weight_[v];
    to.wide = to.wide || is_wide(v);
    to.narrow = to.narrow || is_narrow(v);
    to.behind = to.behind || side_.behind[v] != 0;
    to.ahead = to.ahead || side_.ahead[v] != 0;
    settle(v, g);
  }
  constexpr void start_loop(group& g, int v) {
    g.fused = true;
    g.loaded = r_.loaded[v] != 0;
    g.it = r_.loop[v];
  }

  // The first group, from `low` on, for a node that has or reads extent e: after the selections that count e.
  constexpr int after_count(extent_t e, int low) const {
    for (const int x : selections_)
      if (has_name_of(e, p_.nodes[x].s.d[0]) && r_.of[x] + 1 > low) low = r_.of[x] + 1;
    return low;
  }
  constexpr int after_counts(int i) const {
    int low = 0;
    const auto after = [&](int x) {
      if (p_.nodes[x].o == op::extent) low = after_count(static_cast<extent_t>(p_.nodes[x].attr), low);
    };
    for (int a = 0; a < r_.loop[i].rank; ++a) low = after_count(r_.loop[i].d[a], low);
    for (const int x : p_.nodes[i].in) {
      if (x < 0) continue;
      const int root = r_.root[x];
      after(root);
      if (r_.inlined[root] != 0)
        for (const int y : p_.nodes[root].in)
          if (y >= 0) after(y);
    }
    return low;
  }

  // act(operand) for the deferred operands of i.
  template <class F> constexpr void each_waiting(int i, F act) {
    for (const int x : p_.nodes[i].in)
      if (const int u = x < 0 ? no_node : source(i, x); u >= 0 && deferred_[u]) act(u);
  }
  // Places the operands that cannot wait until i is placed.   -> lanes of i and of the operands that still wait
  constexpr int place_operands(int i, int own) {
    int all = own, waiting = 0;
    each_waiting(i, [&](int u) {
      all |= lanes_[u];
      waiting += weight_[u];
    });
    if (waiting >= max_group_nodes) each_waiting(i, [&](int u) { place(u); });
    if (all != (lanes_64 | lanes_32)) return all;
    each_waiting(i, [&](int u) { // a mask of the other width is computed in a group of its own
      if (lanes_[u] != own) place(u);
    });
    return own;
  }

  // The group of a reorder stands ahead of the loops that are there already, so that its reader may join one of them,
  // or be an epilogue. Nothing joins it.
  constexpr void insert_reorder(int i, int own) {
    int g = r_.groups.size();
    while (g > earliest_[i] && r_.groups[g - 1].fused) --g;
    for (int k = 0; k < i && g > earliest_[i]; ++k)
      if (r_.of[k] == g - 1 && leads_an_epilogue(p_.nodes[k].o)) --g;
    r_.groups.push_back({});
    for (int k = r_.groups.size() - 1; k > g; --k) r_.groups[k] = r_.groups[k - 1];
    for (int k = 0; k < i; ++k) {
      if (r_.of[k] >= g) ++r_.of[k];
      if (earliest_[k] >= g) ++earliest_[k];
    }
    r_.of[i] = g;
    r_.groups[g] = {};
    start_loop(r_.groups[g], i);
    r_.groups[g].nodes = max_group_nodes;
    r_.groups[g].wide = (own & lanes_64) != 0;
    r_.groups[g].narrow = (own & lanes_32) != 0;
  }
  constexpr void add_kernel(int i) {
    r_.of[i] = r_.groups.size();
    r_.groups.push_back({});
    r_.groups.back().loaded = r_.loaded[i] != 0;
    if (has_data_dependent_rows(p_.nodes[i])) selections_.push_back(i);
  }
  // Does i wait for its one reader, so that it is computed in the reader's group and never stored?
  constexpr bool waits(int i) const {
    return rule(p_.nodes[i].o).k == kind::elementwise && uses_[i] == 1 && user_[i] >= 0 && !is_output_[i] &&
           weight_[i] < max_group_nodes / 2 && r_.loop[user_[i]] == r_.loop[i];
  }
  constexpr void add(int i) {
    const node& v = p_.nodes[i];
    int low = selections_.empty() ? 0 : after_counts(i), weight = 1, own = lanes_of(v.t);
    for (const int x : v.in)
      if (x >= 0) own |= lanes_of(p_.nodes[x].t);
    if (v.o == op::convert) own = lanes_64;
    lanes_[i] = static_cast<char>(place_operands(i, own));
    for (const int x : v.in) {
      if (x < 0) continue;
      const int u = source(i, x);
      int l = 0;
      if (u >= 0) {
        l = deferred_[u] ? earliest_[u] : r_.of[u];
        if (deferred_[u]) weight += weight_[u];
      } else {
        const int root = r_.root[x];
        l = is_leaf(p_.nodes, r_, root) ? 0 : r_.of[root] + 1;
      }
      low = l > low ? l : low;
    }
    earliest_[i] = low;
    weight_[i] = weight;
    if (is_reorder(p_.nodes, i)) insert_reorder(i, own);
    else if (!fuses(v.o)) add_kernel(i);
    else if (waits(i)) deferred_[i] = 1;
    else place(i);
  }

public:
  constexpr loop_fusion(const program<N, O>& p, const vec<char>& is_output, grouping& r)
      : p_(p), is_output_(is_output), r_(r) {}
  constexpr void run() {
    count_uses();
    for (int i = 0; i < N; ++i)
      if (!is_leaf(p_.nodes, r_, i) && rule(p_.nodes[i].o).k != kind::view) add(i);
  }
};

template <int N, int O> constexpr grouping make_groups(const program<N, O>& p, int loaded_leaves = 0) {
  vec<char> is_output(N, 0);
  for (const int o : p.outputs)
    if (N > 0) is_output[o] = 1;
  grouping r = ungrouped(p, is_output, loaded_leaves);
  loop_fusion<N, O>(p, is_output, r).run();
  cluster_for_sweeps(p, r);
  choose_outermost_axes(p.nodes, N, r);
  stored_values<N, O> values(p, is_output, r);
  values.find_readers();
  values.recompute();
  values.keep_results();
  keep_gathered(p, r);
  return r;
}

} // namespace tapeless::detail
