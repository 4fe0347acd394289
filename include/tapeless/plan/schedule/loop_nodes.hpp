// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Facts about each node before loops are formed. May it be in a loop? Is it computed at a load, or again wherever it is
// read? On which side of a CSR sweep is it?
#pragma once
#include "../../expr/program.hpp"
#include "../../ops/all.hpp"
#include "csr_sweeps.hpp"
#include "fusion_groups.hpp"

namespace tapeless::detail {

inline constexpr int lanes_32 = 1, lanes_64 = 2;
constexpr int lanes_of(dtype t) {
  return t == dtype::f32 || t == dtype::bf16 ? lanes_32 : t == dtype::f64 ? lanes_64 : 0;
}
// A kernel step behind which a loop may run row by row.
constexpr bool leads_an_epilogue(op o) {
  return o == op::matmul || o == op::conv_fprop || o == op::conv_dgrad;
}
// A copy in another order is a loop of its own: it takes several times as long as a copy, for its reads jump from
// line to line of memory.
constexpr bool is_reorder(const node* nodes, int x) {
  return nodes[x].o == op::copy && nodes[nodes[x].in[0]].o == op::transpose;
}
constexpr bool fuses(op o) { return rule(o).k == kind::elementwise || rule(o).k == kind::reduction; }

// The nodes that depend on the first `leaves` leaves of the arguments alone. They are computed when these are loaded, not
// in each run. They have static extents and are no results, but for the pattern of a matrix, which is not computed.
template <int N, int O>
constexpr vec<char> of_loaded(const program<N, O>& p, const vec<char>& is_output, int leaves) {
  vec<char> r(N, 0);
  if (leaves == 0) return r;
  for (int i = 0; i < N; ++i) {
    const node& v = p.nodes[i];
    bool all = (is_output[i] == 0 || is_pattern_leaf(v)) && is_static(numel(v.s)) && v.o != op::extent &&
               (v.o != op::input || v.attr < static_cast<std::uint64_t>(leaves));
    for (const int x : v.in) all = all && (x < 0 || r[x] != 0);
    r[i] = all ? 1 : 0;
  }
  return r;
}

// Numbers such as 1 / n. Each loop that reads one computes it, which saves a step. A number that a kernel step reads has a
// buffer.   @pre r.root
template <int N, int O>
constexpr void find_inlined(const program<N, O>& p, const vec<char>& is_output, grouping& r) {
  vec<char> in_buffer(N, 0); // a kernel step reads it
  for (int i = 0; i < N; ++i)
    if (rule(p.nodes[i].o).k == kind::kernel)
      for (const int x : p.nodes[i].in)
        if (x >= 0) in_buffer[r.root[x]] = 1;
  for (int i = 0; i < N; ++i) {
    const node& v = p.nodes[i];
    bool known = rule(v.o).k == kind::elementwise && v.s.rank == 0 && !is_custom(v.o) && v.o != op::convert &&
                 is_output[i] == 0 && in_buffer[i] == 0;
    for (const int x : v.in)
      known = known && (x < 0 || p.nodes[x].o == op::constant || p.nodes[x].o == op::extent);
    r.inlined[i] = known ? 1 : 0;
  }
}

// On which side of the products that open CSR sweeps a node is.
//   behind   it depends on the rows of such a product
//   ahead    it depends on none, and is a scalar or a sum over rows that a sweep may read, or an input of such a value
// Other nodes are on neither side. A loop has nodes of one side only: it would have to run both before and after the
// product.
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

// Is node i in no group, because it is a leaf or an inlined number?
constexpr bool is_leaf(const node* nodes, const grouping& r, int i) {
  return rule(nodes[i].o).k == kind::leaf || r.inlined[i] != 0;
}
// The node whose register `consumer` reads where both are in one loop; no_node where it reads memory. A float is converted from
// memory and to memory, in a loop of doubles.
constexpr int register_source(const node* nodes, const grouping& r, int consumer, int x) {
  const int u = r.through[x];
  if ((nodes[consumer].o == op::convert || nodes[u].o == op::convert) && nodes[x].t == dtype::f32)
    return no_node;
  return fuses(nodes[consumer].o) && rule(nodes[u].o).k == kind::elementwise && !is_reorder(nodes, u) &&
                 r.loop[u] == r.loop[consumer] && r.loaded[u] == r.loaded[consumer]
             ? u
             : no_node;
}

// A grouping that knows each node, but has no groups yet.
template <int N, int O>
constexpr grouping ungrouped(const program<N, O>& p, const vec<char>& is_output, int loaded_leaves) {
  grouping r;
  r.loaded = of_loaded(p, is_output, loaded_leaves);
  r.of = vec<int>(N, no_node);
  r.stored = vec<char>(N, 0);
  r.last = vec<int>(N, no_node);
  r.inlined = vec<char>(N, 0);
  r.loop = vec<shape>(N, shape{});
  r.through = vec<int>(N, no_node);
  r.root = vec<int>(N, no_node);
  for (int i = 0; i < N; ++i) {
    const node& v = p.nodes[i];
    r.loop[i] = rule(v.o).k == kind::reduction ? squeezed(p.nodes[v.in[0]].s) : squeezed(v.s);
    const bool same_order =
        v.o == op::checked_index || (v.o == op::reshape && r.loop[i] == squeezed(p.nodes[v.in[0]].s));
    r.through[i] = same_order ? r.through[v.in[0]] : i;
    r.root[i] = rule(v.o).k == kind::view ? r.root[v.in[0]] : i;
  }
  find_inlined(p, is_output, r);
  return r;
}

} // namespace tapeless::detail
