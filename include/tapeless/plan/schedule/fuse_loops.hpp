// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Which nodes share a loop. A group is a set of elementwise ops and reductions over one iteration space (the shape
// without its axes of extent 1); a whole-tensor op is a group of its own. Groups run in the order of their numbers.
//
// A value passes in a register between nodes of one group; everything else passes through a buffer, or is computed again
// by each group that reads it (plan/schedule/recompute.hpp).
// Invariants: a node's group is not below those of its operands; an operand that is no register value comes from an
// earlier group.
#pragma once
#include "../../expr/program.hpp"
#include "../../ops/all.hpp"
#include "csr_sweeps.hpp"
#include "fusion_groups.hpp"
#include "loop_order.hpp"
#include "order_groups.hpp"
#include "recompute.hpp"

namespace tapeless::detail {

inline constexpr int simd_width_class = 1, wide_lanes = 2;
constexpr int lanes_of(dtype t) {
  return t == dtype::f32 || t == dtype::bf16 ? simd_width_class : t == dtype::f64 ? wide_lanes : 0;
}
// The whole-tensor ops whose rows a fused group may follow one by one.
constexpr bool leads_an_epilogue(op o) {
  return o == op::matmul || o == op::conv_fprop || o == op::conv_dgrad;
}
// A loop of its own: one that reads vectors across lines of memory takes several times as long as the copy.
constexpr bool is_reorder(const node* nodes, int x) {
  return nodes[x].o == op::copy && nodes[nodes[x].in[0]].o == op::transpose;
}
constexpr bool fuses(op o) { return rule(o).k == kind::elementwise || rule(o).k == kind::reduction; }

// Which nodes follow from the first `leaves` leaves of the arguments alone, and are no results: they are computed when
// these are loaded, not in each run. Their extents are static.
template <int N, int O> constexpr vec<char> of_loaded(const program<N, O>& p, int leaves) {
  vec<char> r(N, 0);
  if (leaves == 0) return r;
  vec<char> is_output(N, 0);
  for (const int o : p.outputs)
    if (N > 0) is_output[o] = 1;
  for (int i = 0; i < N; ++i) {
    const node& v = p.nodes[i];
    bool all = is_output[i] == 0 && is_static(numel(v.s)) && v.o != op::extent &&
               (v.o != op::input || v.attr < static_cast<std::uint64_t>(leaves));
    for (const int x : v.in) all = all && (x < 0 || r[x] != 0);
    r[i] = all ? 1 : 0;
  }
  return r;
}

// Numbers such as 1 / n, which would be steps of their own between the loops that read them.
// @pre r.root
template <int N, int O>
constexpr void find_inlined(const program<N, O>& p, const vec<char>& is_output, grouping& r) {
  vec<char> in_buffer(N, 0); // a whole-tensor op reads it
  for (int i = 0; i < N; ++i)
    if (rule(p.nodes[i].o).k == kind::kernel)
      for (const int x : p.nodes[i].in)
        if (x >= 0) in_buffer[r.root[x]] = 1;
  for (int i = 0; i < N; ++i) {
    const node& v = p.nodes[i];
    bool known = rule(v.o).k == kind::elementwise && v.s.rank == 0 && !is_custom(v.o) && is_output[i] == 0 &&
                 in_buffer[i] == 0;
    for (const int x : v.in)
      known = known && (x < 0 || p.nodes[x].o == op::constant || p.nodes[x].o == op::extent);
    r.inlined[i] = known ? 1 : 0;
  }
}

// Which side of the products that open sweeps a node is on: `behind` one, on whose rows it depends; or `ahead` of all, as
// a number, or a sum over rows, which steps of a sweep may read, and what these are made of. One loop has nodes of one side
// only, for it would have to run before the sweep and behind its product. What else depends on no such product is on
// neither.
struct sides {
  vec<char> behind, ahead;
};
template <int N, int O> constexpr sides sides_of_csr_sweeps(const program<N, O>& p, const vec<shape>& loop) {
  sides r{vec<char>(N, 0), vec<char>(N, 0)};
  bool any = false;
  for (int i = 0; i < N; ++i) {
    const node& v = p.nodes[i];
    bool behind = is_sparse(v.o) && opens_csr_sweep(p.nodes, i);
    for (const int x : v.in) behind = behind || (x >= 0 && r.behind[x] != 0);
    r.behind[i] = behind ? 1 : 0;
    any = any || behind;
  }
  for (int i = 0; i < N && any; ++i)
    if (r.behind[i] == 0 && fuses(p.nodes[i].o) &&
        (loop[i].rank == 0 || rule(p.nodes[i].o).k == kind::reduction))
      r.ahead[i] = 1;
  for (int i = N; any && i-- > 0;)
    for (const int x : p.nodes[i].in)
      if (r.ahead[i] != 0 && x >= 0 && (fuses(p.nodes[x].o) || rule(p.nodes[x].o).k == kind::view))
        r.ahead[x] = 1;
  return r;
}

// A back end may read the rows of a gather where they are, by their list, instead of copying them: where loops, products
// a^T b and wgrad read them. So their tensor and the list stay until these are done.
template <int N, int O> constexpr void keep_gathered(const program<N, O>& p, grouping& r) {
  constexpr extent_t least = 512; // bytes of a row: to copy shorter ones costs less than to keep their tensor
  vec<int> gathers;
  for (int i = 0; i < N; ++i) {
    const node& v = p.nodes[i];
    if (v.o != op::gather || v.attr != 0 || p.nodes[v.in[1]].s.rank != 1 || r.last[i] >= r.groups.size())
      continue;
    extent_t row = 1;
    for (int a = 1; a < v.s.rank; ++a) row = is_static(v.s.d[a]) ? row * v.s.d[a] : 0;
    if (is_float(v.t) && row * size_of(v.t) >= least) gathers.push_back(i);
  }
  for (int k = gathers.size(); k-- > 0;) {
    const int i = gathers[k];
    bool listed = true;
    for (int j = i + 1; j < N && listed; ++j) {
      const node& v = p.nodes[j];
      const kind is = rule(v.o).k;
      if (is == kind::elementwise || is == kind::reduction || is == kind::view) continue;
      const bool sums_rows = v.o == op::conv_wgrad || (v.o == op::matmul && (v.attr & 3u) == 1);
      for (const int x : v.in)
        listed = listed && (x < 0 || r.root[x] != i || (sums_rows && p.nodes[x].s == p.nodes[i].s));
    }
    if (!listed) continue;
    for (const int x : {r.root[p.nodes[i].in[0]], r.root[p.nodes[i].in[1]]})
      if (r.stored[x] != 0 && r.last[x] < r.last[i]) r.last[x] = r.last[i];
  }
}

template <int N, int O> constexpr grouping make_groups(const program<N, O>& p, int loaded_leaves = 0) {
  grouping r;
  r.loaded = of_loaded(p, loaded_leaves);
  r.of = vec<int>(N, no_node);
  r.stored = vec<char>(N, 0);
  r.last = vec<int>(N, no_node);
  vec<int> uses(N, 0), user(N, no_node), earliest(N, 0), weight(N, 0);
  vec<char> is_output(N, 0), deferred(N, 0), lanes(N, 0); // lanes: those of v and what waits for it
  for (const int o : p.outputs)
    if (N > 0) is_output[o] = 1;
  const auto is_view = [&](int x) { return rule(p.nodes[x].o).k == kind::view; };
  r.inlined = vec<char>(N, 0);
  const auto is_leaf = [&](int x) { return rule(p.nodes[x].o).k == kind::leaf || r.inlined[x] != 0; };
  r.loop = vec<shape>(N, shape{});
  r.through = vec<int>(N, no_node);
  r.root = vec<int>(N, no_node);
  for (int i = 0; i < N; ++i) {
    const node& v = p.nodes[i];
    r.loop[i] = rule(v.o).k == kind::reduction ? squeezed(p.nodes[v.in[0]].s) : squeezed(v.s);
    const bool same_order =
        v.o == op::checked_index || (v.o == op::reshape && r.loop[i] == squeezed(p.nodes[v.in[0]].s));
    r.through[i] = same_order ? r.through[v.in[0]] : i;
    r.root[i] = is_view(i) ? r.root[v.in[0]] : i;
  }
  find_inlined(p, is_output, r);
  const sides side = sides_of_csr_sweeps(p, r.loop);
  // the node whose register a fused consumer would read, or no_node where it reads memory
  const auto register_source = [&](int consumer, int x) {
    const int u = r.through[x];
    return fuses(p.nodes[consumer].o) && rule(p.nodes[u].o).k == kind::elementwise &&
                   !is_reorder(p.nodes, u) && r.loop[u] == r.loop[consumer] &&
                   r.loaded[u] == r.loaded[consumer]
               ? u
               : no_node;
  };
  for (int i = 0; i < N; ++i) {
    if (is_view(i)) continue;
    for (const int x : p.nodes[i].in) {
      if (x < 0) continue;
      const int u = register_source(i, x), source = u >= 0 ? u : r.root[x];
      ++uses[source];
      user[source] = u >= 0 ? i : no_node; // no_node: some consumer needs the buffer
      if (u < 0) uses[source] += 2;
    }
  }

  vec<int> stack;
  const auto settle = [&](int v, int g) { // v, and the deferred trees below it
    stack.push_back(v);
    while (!stack.empty()) {
      const int x = stack.pop_back();
      r.of[x] = g;
      deferred[x] = 0;
      for (const int y : p.nodes[x].in) {
        if (y < 0) continue;
        const int u = r.through[y];
        if (deferred[u]) stack.push_back(u);
      }
    }
  };
  const auto place = [&](int v) {
    const shape& it = r.loop[v];
    constexpr int window = 8; // how many groups back a new one is avoided
    const bool wide = (lanes[v] & wide_lanes) != 0, narrow = (lanes[v] & simd_width_class) != 0;
    const auto fits = [&](int g) {
      return r.groups[g].fused && r.groups[g].it == it && r.groups[g].loaded == (r.loaded[v] != 0) &&
             r.groups[g].nodes + weight[v] <= max_group_nodes && !(wide && r.groups[g].narrow) &&
             !(narrow && r.groups[g].wide) && !(side.behind[v] != 0 && r.groups[g].ahead) &&
             !(side.ahead[v] != 0 && r.groups[g].behind);
    };
    const int n = r.groups.size();
    int g = earliest[v] > n - window ? earliest[v] : n - window;
    if (g < 0) g = 0;
    if (earliest[v] < g && earliest[v] < n && fits(earliest[v])) g = earliest[v];
    while (g < n && !fits(g)) ++g;
    if (g == n) {
      r.groups.push_back({});
      r.groups[g].fused = true;
      r.groups[g].loaded = r.loaded[v] != 0;
      r.groups[g].it = it;
    }
    r.groups[g].nodes += weight[v];
    r.groups[g].wide = r.groups[g].wide || wide;
    r.groups[g].narrow = r.groups[g].narrow || narrow;
    r.groups[g].behind = r.groups[g].behind || side.behind[v] != 0;
    r.groups[g].ahead = r.groups[g].ahead || side.ahead[v] != 0;
    settle(v, g);
  };

  // What reads an extent that a selection counts, or has it, comes after the selection.
  vec<int> selections;
  const auto after_count = [&](extent_t e, int low) {
    for (const int x : selections)
      if (has_name_of(e, p.nodes[x].s.d[0]) && r.of[x] + 1 > low) low = r.of[x] + 1;
    return low;
  };
  for (int i = 0; i < N; ++i) {
    const node& v = p.nodes[i];
    if (is_leaf(i) || is_view(i)) continue;
    int low = 0, w = 1, own = lanes_of(v.t), all = 0;
    if (!selections.empty()) {
      for (int a = 0; a < r.loop[i].rank; ++a) low = after_count(r.loop[i].d[a], low);
      for (const int x : v.in) {
        if (x < 0) continue;
        const int root = r.root[x];
        if (p.nodes[root].o == op::extent) low = after_count(static_cast<extent_t>(p.nodes[root].attr), low);
        if (r.inlined[root] != 0)
          for (const int y : p.nodes[root].in)
            if (y >= 0 && p.nodes[y].o == op::extent)
              low = after_count(static_cast<extent_t>(p.nodes[y].attr), low);
      }
    }
    for (const int x : v.in)
      if (x >= 0) own |= lanes_of(p.nodes[x].t);
    const auto each_waiting = [&](auto&& act) { // operands that would be computed in the group of i
      for (const int x : v.in)
        if (const int u = x < 0 ? no_node : register_source(i, x); u >= 0 && deferred[u]) act(u);
    };
    all = own;
    int waiting = 0;
    each_waiting([&](int u) {
      all |= lanes[u];
      waiting += weight[u];
    });
    if (waiting >= max_group_nodes) each_waiting(place);
    if (all ==
        (wide_lanes | simd_width_class)) { // a mask of the other width is computed in a group of its own
      each_waiting([&](int u) {
        if (lanes[u] != own) place(u);
      });
      all = own;
    }
    lanes[i] = static_cast<char>(all);
    for (const int x : v.in) {
      if (x < 0) continue;
      const int u = register_source(i, x);
      int l = 0;
      if (u >= 0) {
        l = deferred[u] ? earliest[u] : r.of[u];
        if (deferred[u]) w += weight[u];
      } else {
        const int root = r.root[x];
        l = is_leaf(root) ? 0 : r.of[root] + 1;
      }
      low = l > low ? l : low;
    }
    earliest[i] = low;
    weight[i] = w;
    if (is_reorder(p.nodes, i)) {
      // ahead of the loops that are there already, so that its reader may join one of them, or be an epilogue
      int g = r.groups.size();
      while (g > low && r.groups[g - 1].fused) --g;
      for (int k = 0; k < i && g > low; ++k)
        if (r.of[k] == g - 1 && leads_an_epilogue(p.nodes[k].o)) --g;
      r.groups.push_back({});
      for (int k = r.groups.size() - 1; k > g; --k) r.groups[k] = r.groups[k - 1];
      for (int k = 0; k < i; ++k) {
        if (r.of[k] >= g) ++r.of[k];
        if (earliest[k] >= g) ++earliest[k];
      }
      r.of[i] = g;
      r.groups[g] = {};
      r.groups[g].fused = true;
      r.groups[g].loaded = r.loaded[i] != 0;
      r.groups[g].it = r.loop[i];
      r.groups[g].nodes = max_group_nodes; // nothing joins it
      r.groups[g].wide = (own & wide_lanes) != 0;
      r.groups[g].narrow = (own & simd_width_class) != 0;
      continue;
    }
    if (!fuses(v.o)) {
      r.of[i] = r.groups.size();
      r.groups.push_back({});
      r.groups.back().loaded = r.loaded[i] != 0;
      if (has_data_dependent_rows(v)) selections.push_back(i);
      continue;
    }
    const shape& it = r.loop[i];
    // A value with one reader waits for it, so that it is computed in the reader's group and never stored.
    const int u = user[i];
    if (rule(v.o).k == kind::elementwise && uses[i] == 1 && u >= 0 && !is_output[i] &&
        w < max_group_nodes / 2 && r.loop[u] == it)
      deferred[i] = 1;
    else place(i);
  }

  cluster_for_sweeps(p, r);
  choose_leading_axes(p.nodes, N, r);

  // readers: other groups of the node's loop that read it; most_readers + 1 of them where some node needs the buffer
  vec<int> reader(most_readers * N, no_node), readers(N, 0);
  vec<char> own(N, 0); // a node of its group reads it
  int room = 0;        // the plan has place for three operands of every node
  for (int i = 0; i < N; ++i) {
    room += 3;
    if (is_leaf(i) || is_view(i)) continue;
    if (!(rule(p.nodes[i].o).k == kind::elementwise) || is_output[i] || is_reorder(p.nodes, i))
      r.stored[i] = 1;
    if (has_data_dependent_rows(p.nodes[i]) && r.last[i] < r.of[i])
      r.last[i] = r.of[i]; // its extent alone may be read
    for (const int x : p.nodes[i].in) {
      if (x < 0) continue;
      --room;
      const int u = register_source(i, x);
      if (u >= 0 && r.of[u] == r.of[i]) {
        own[u] = 1;
        continue;
      }
      const int root = u >= 0 ? u : r.root[x];
      if (is_leaf(root)) continue;
      r.stored[root] = 1;
      if (u < 0) readers[root] = most_readers + 1;
      int k = 0;
      while (k < readers[root] && k < most_readers && reader[most_readers * root + k] != r.of[i]) ++k;
      if (k == most_readers) readers[root] = k + 1;
      else if (k == readers[root]) reader[most_readers * root + readers[root]++] = r.of[i];
      // an epilogue runs in chunks with the step before it, which still reads: its operands live one group longer
      const bool leads =
          leads_an_epilogue(p.nodes[i].o) && (r.loaded[i] != 0 || batch_tiling_of(p.nodes, i).n == 0);
      const int until = leads ? r.of[i] + 1 : r.of[i];
      if (until > r.last[root]) r.last[root] = until;
    }
  }
  const auto in_memory = [&](int root) { return is_leaf(root) || r.stored[root]; };
  for (int i = 0; i < N; ++i) {
    const int n = readers[i];
    if (n == 0 || n > most_readers || !r.stored[i] || is_output[i] || room < 3 * n) continue;
    bool fits = true;
    for (int k = 0; k < n; ++k) fits = fits && r.groups[reader[most_readers * i + k]].nodes < max_group_nodes;
    if (!fits || !recomputes(p.nodes, r, i, in_memory)) continue;
    r.stored[i] = 0;
    room -= 3 * n;
    for (int k = 0; k < n; ++k) {
      const int g = reader[most_readers * i + k];
      ++r.groups[g].nodes;
      if (own[i] == 0) { // a reader's group becomes its own
        own[i] = 1;
        r.of[i] = g;
      } else {
        r.again.push_back({i, g});
      }
      for (const int x : p.nodes[i].in)
        if (x >= 0 && !is_leaf(r.root[x]) && g > r.last[r.root[x]]) r.last[r.root[x]] = g;
    }
  }
  for (int i = 0; i < N; ++i)
    if (is_output[i]) r.last[i] = r.groups.size();
  keep_gathered(p, r);
  return r;
}

} // namespace tapeless::detail
