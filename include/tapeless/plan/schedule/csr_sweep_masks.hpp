// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The rows of its matrix that a CSR sweep need not visit: all that it computes for them is zero or unread.
#pragma once
#include "../../expr/program.hpp"
#include "../../ops/all.hpp"
#include "../../ops/read_facts.hpp"
#include "csr_sweeps.hpp"
#include "fusion_groups.hpp"

namespace tapeless::detail {

// The value of a node in all rows that a mask leaves out.
enum class left_out : std::uint8_t { unknown, zero, nonzero };

// The same for node i, from the values of its operands.
// 0 * x and 0 / x count as zero for every x: infinity, NaN and zero too.
constexpr left_out in_rows_left_out(const node* nodes, int i, const vec<left_out>& of) {
  using enum left_out;
  const node& v = nodes[i];
  if (v.o == op::constant) {
    const double x = std::bit_cast<double>(v.attr), size = x < 0 ? -x : x;
    return x == 0 ? zero : size > 1e-30 && size < 1e30 ? nonzero : unknown; // a float of any type
  }
  unsigned zeros = 0, others = 0; // operands
  for (int k = 0; k < 3; ++k) {
    if (v.in[k] < 0) continue;
    if (of[v.in[k]] == zero) zeros |= 1u << k;
    if (of[v.in[k]] == nonzero) others |= 1u << k;
  }
  if (holds(rule(v.o).facts.zero, zeros, others, maybe)) return zero;
  return is_nonzero(v, nodes[v.in[0]].t, zeros, others, false) ? nonzero : unknown;
}

inline constexpr int max_row_masks = 4;
// A node that decides which rows a sweep visits: those where it is not zero, or those where it is zero.
struct row_mask {
  int node = no_node;
  bool passes_where_zero = false;
};
// Facts that hold in every CSR sweep of a program.
struct mask_facts {
  vec<left_out> always; // the values that do not depend on the mask
  vec<char> is_tested;  // is the node read as a condition? Rows may then also pass where it is zero
};
constexpr void find_left_out(const node* nodes, int i, vec<left_out>& is) {
  const op o = nodes[i].o;
  // expand and reshape leave a row where it is; other views give it a value of another one
  if (rule(o).k == kind::elementwise || o == op::expand || o == op::reshape || o == op::constant)
    is[i] = in_rows_left_out(nodes, i, is);
}
template <int N, int O> constexpr mask_facts mask_facts_of(const program<N, O>& p, const grouping& r) {
  mask_facts f{vec<left_out>(N, left_out::unknown), vec<char>(N, 0)};
  for (int i = 0; i < N; ++i) {
    find_left_out(p.nodes, i, f.always);
    const op o = p.nodes[i].o;
    const bool tests = o == op::where || o == op::eq || o == op::ne || o == op::logical_not ||
                       o == op::logical_and || o == op::logical_or;
    for (int k = 0; tests && k < (o == op::where ? 1 : 2); ++k)
      if (const int x = p.nodes[i].in[k]; x >= 0) f.is_tested[r.through[x]] = 1;
  }
  return f;
}
// The nodes of the groups [first, end), which form a sweep.
struct sweep_nodes {
  int first, end;             // groups
  int lowest, last = no_node; // nodes
  constexpr bool holds(const grouping& r, int i) const { return r.of[i] >= first && r.of[i] < end; }
};
// Nodes made before the sweep that may tell which rows of its matrix it visits. Empty: it visits all.
template <int N, int O>
constexpr vec<int> mask_candidates(const program<N, O>& p, const grouping& r, const sweep_nodes& s) {
  extent_t rows = 0;
  dtype type = dtype::f32; // of the matrix
  // 1: its rows are multiplied by A^T or spread. 2: such rows are computed from it.
  vec<char> makes(s.last + 1, 0);
  for (int i = s.lowest; i <= s.last; ++i) {
    if (!s.holds(r, i) || !is_sparse(p.nodes[i].o)) continue;
    if (p.nodes[p.nodes[i].in[0]].o == op::tiles) return {}; // a tile has entries of many rows
    rows = p.nodes[p.nodes[i].in[0]].s.d[0];
    type = p.nodes[i].t;
    if (const int k = makes_rows(p.nodes[i]) ? 0 : operand_of_rows(p.nodes[i]); k > 0)
      makes[p.nodes[i].in[k]] = 1;
  }
  const shape loop{1, {rows}};
  vec<int> candidates;
  const auto consider = [&](int m) {
    if (!(squeezed(p.nodes[m].s) == loop)) return;
    if (p.nodes[m].o != op::input && (r.of[m] < 0 || r.stored[m] == 0)) return;
    if (is_float(p.nodes[m].t) && p.nodes[m].t != type) return;
    if (!candidates.contains(m)) candidates.push_back(m);
  };
  for (int i = s.lowest; i <= s.last; ++i) {
    if (!s.holds(r, i)) continue;
    if (r.groups[r.of[i]].loaded) return {};
    if (is_sparse(p.nodes[i].o)) continue;
    if (!(r.loop[i] == loop)) return {};
    for (const int x : p.nodes[i].in)
      if (const int m = x < 0 ? no_node : r.through[x]; m >= 0 && !s.holds(r, m)) consider(m);
  }
  // a value from which an earlier step made the rows, if it still has its buffer
  for (int i = s.last; i >= 0; --i) {
    if (makes[i] == 0) continue;
    const kind k = rule(p.nodes[i].o).k;
    // a value that is zero outside selected rows tells which rows are selected
    const bool selected = makes[i] == 1 && p.nodes[i].o == op::scatter_add && p.nodes[i].in[2] < 0;
    if ((makes[i] == 2 || selected) && !s.holds(r, i) && r.loaded[i] == 0 &&
        (p.nodes[i].o == op::input || r.last[i] >= s.first))
      consider(i);
    const char below = k == kind::elementwise ? 2 : k == kind::view ? makes[i] : 0;
    for (const int x : p.nodes[i].in)
      if (x >= 0 && makes[x] < below) makes[x] = below;
  }
  return candidates;
}
// The masks of the sweep of groups [first, end). The sweep need only visit rows of its matrix that all of them let pass.
// They are nodes made before the sweep, conditions first, at most max_row_masks.
// stays(i): no step after the sweep reads node i
template <int N, int O, class F>
constexpr vec<row_mask> masks_of_csr_sweep(const program<N, O>& p, const grouping& r, const mask_facts& facts,
                                           int first, int end, F stays) {
  sweep_nodes s{first, end, N};
  for (int i = 0; i < N; ++i) {
    if (!s.holds(r, i)) continue;
    s.lowest = i < s.lowest ? i : s.lowest;
    s.last = i;
  }
  const vec<int> candidates = mask_candidates(p, r, s);
  vec<row_mask> masks;
  const auto try_mask = [&](int m, bool passes_where_zero) {
    if (masks.size() == max_row_masks || (passes_where_zero && !facts.is_tested[m])) return;
    vec<left_out> is = facts.always;
    is[m] = passes_where_zero ? left_out::nonzero : left_out::zero;
    bool all = true;
    // a node of the sweep that was traced before m may need the rows, too, at any value of m
    for (int i = s.lowest < m + 1 ? s.lowest : m + 1; i <= s.last && all; ++i) {
      if (i > m) find_left_out(p.nodes, i, is);
      if (!s.holds(r, i) || r.stored[i] == 0) continue;
      const node& v = p.nodes[i];
      if (v.o == op::sum) all = is[v.in[0]] == left_out::zero;
      else if (is_sparse(v.o) && !makes_rows(v)) {
        const int k = operand_of_rows(v);
        all = k > 0 && is[v.in[k]] == left_out::zero;
      } else all = stays(i);
    }
    for (const row_mask& known : masks) // does an earlier mask leave these rows out already?
      all = all && is[known.node] != (known.passes_where_zero ? left_out::nonzero : left_out::zero);
    if (all) masks.push_back({m, passes_where_zero});
  };
  for (const bool conditions : {true, false})
    for (const int m : candidates)
      if (conditions == (p.nodes[m].t == dtype::boolean)) {
        try_mask(m, false);
        try_mask(m, true);
      }
  return masks;
}

} // namespace tapeless::detail
