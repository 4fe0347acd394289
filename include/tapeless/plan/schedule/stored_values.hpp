// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The values that have a buffer, and the group that reads each buffer last.
#pragma once
#include "../../expr/program.hpp"
#include "../../ops/all.hpp"
#include "../analysis/batch_tiles.hpp"
#include "csr_sweeps.hpp"
#include "fusion_groups.hpp"
#include "loop_nodes.hpp"
#include "recompute.hpp"

namespace tapeless::detail {

template <int N, int O> class stored_values {
  const program<N, O>& p_;
  const vec<char>& is_output_;
  grouping& r_;
  // the other groups over a node's loop that read it, and how many; most_readers + 1: the node needs its buffer
  vec<int> reader_{most_readers * N, no_node}, readers_{N, 0};
  vec<char> own_{N, 0}; // a node of its group reads it
  int room_ = 3 * N;    // of the plan: three operands of every node

  // Node i, of another group or of another loop, reads the buffer of root.
  constexpr void add_reader(int i, int root, bool of_loop) {
    const int g = r_.of[i];
    r_.stored[root] = 1;
    if (!of_loop) readers_[root] = most_readers + 1;
    int k = 0;
    while (k < readers_[root] && k < most_readers && reader_[most_readers * root + k] != g) ++k;
    if (k == most_readers) readers_[root] = k + 1;
    else if (k == readers_[root]) reader_[most_readers * root + readers_[root]++] = g;
    // an epilogue runs in chunks with the step before it, so the operands of that step live one group longer
    const bool leads =
        leads_an_epilogue(p_.nodes[i].o) && (r_.loaded[i] != 0 || batch_tiling_of(p_.nodes, i).n == 0);
    const int until = leads ? g + 1 : g;
    if (until > r_.last[root]) r_.last[root] = until;
  }

public:
  constexpr stored_values(const program<N, O>& p, const vec<char>& is_output, grouping& r)
      : p_(p), is_output_(is_output), r_(r) {}

  constexpr void find_readers() {
    for (int i = 0; i < N; ++i) {
      const node& v = p_.nodes[i];
      const kind k = rule(v.o).k;
      if (k == kind::view || is_leaf(p_.nodes, r_, i)) continue;
      if (k != kind::elementwise || is_output_[i] || is_reorder(p_.nodes, i)) r_.stored[i] = 1;
      // perhaps only its extent is read
      if (has_data_dependent_rows(v) && r_.last[i] < r_.of[i]) r_.last[i] = r_.of[i];
      for (const int x : v.in) {
        if (x < 0) continue;
        --room_;
        const int u = register_source(p_.nodes, r_, i, x);
        if (u >= 0 && r_.of[u] == r_.of[i]) own_[u] = 1;
        else if (const int root = u >= 0 ? u : r_.root[x]; !is_leaf(p_.nodes, r_, root))
          add_reader(i, root, u >= 0);
      }
    }
  }

  // A cheap value loses its buffer if each group that reads it has room for one more op.
  constexpr void recompute() {
    const auto in_memory = [&](int root) { return is_leaf(p_.nodes, r_, root) || r_.stored[root]; };
    for (int i = 0; i < N; ++i) {
      const int n = readers_[i];
      if (n == 0 || n > most_readers || !r_.stored[i] || is_output_[i] || room_ < 3 * n) continue;
      bool fits = true;
      for (int k = 0; k < n; ++k)
        fits = fits && r_.groups[reader_[most_readers * i + k]].nodes < max_group_nodes;
      if (!fits || !recomputes(p_.nodes, r_, i, in_memory)) continue;
      r_.stored[i] = 0;
      room_ -= 3 * n;
      for (int k = 0; k < n; ++k) {
        const int g = reader_[most_readers * i + k];
        ++r_.groups[g].nodes;
        if (own_[i] == 0) { // a reader's group becomes its own
          own_[i] = 1;
          r_.of[i] = g;
        } else {
          r_.again.push_back({i, g});
        }
        for (const int x : p_.nodes[i].in)
          if (x >= 0 && !is_leaf(p_.nodes, r_, r_.root[x]) && g > r_.last[r_.root[x]])
            r_.last[r_.root[x]] = g;
      }
    }
  }

  // Results stay to the end.
  constexpr void keep_results() {
    for (int i = 0; i < N; ++i)
      if (is_output_[i]) r_.last[i] = r_.groups.size();
  }
};

// A back end may elide a gather: loops, products a^T b and wgrad then read its rows where they are, by their indices.
// So the tensor and the indices stay until the last of these has run.
template <int N, int O> constexpr void keep_gathered(const program<N, O>& p, grouping& r) {
  constexpr extent_t least = 512; // bytes of a row: copying shorter ones costs less than keeping their tensor
  vec<int> gathers;
  for (int i = 0; i < N; ++i) {
    const node& v = p.nodes[i];
    if (v.o != op::gather || v.attr != 0 || p.nodes[v.in[1]].s.rank != 1 || r.last[i] >= r.groups.size())
      continue;
    if (is_float(v.t) && row_of(v.s) * size_of(v.t) >= least) gathers.push_back(i);
  }
  for (int k = gathers.size(); k-- > 0;) {
    const int i = gathers[k];
    bool indexed = true;
    for (int j = i + 1; j < N && indexed; ++j) {
      const node& v = p.nodes[j];
      const kind is = rule(v.o).k;
      if (is == kind::elementwise || is == kind::reduction || is == kind::view) continue;
      const bool sums_rows = v.o == op::conv_wgrad || (v.o == op::matmul && (v.attr & 3u) == 1);
      for (const int x : v.in)
        indexed = indexed && (x < 0 || r.root[x] != i || (sums_rows && p.nodes[x].s == p.nodes[i].s));
    }
    if (!indexed) continue;
    for (const int x : {r.root[p.nodes[i].in[0]], r.root[p.nodes[i].in[1]]})
      if (r.stored[x] != 0 && r.last[x] < r.last[i]) r.last[x] = r.last[i];
  }
}

} // namespace tapeless::detail
