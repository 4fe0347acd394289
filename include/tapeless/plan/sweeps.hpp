// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// A sweep: steps that pass over the rows of one sparse matrix together, so that its entries are read once.
//   z = A x;  r = f(z, ...);  g = A^T r      each row's entries are in L1 between the first and the last of them
// It is a strip (strips.hpp) that a product with the matrix opens. Here the groups that can take part are brought side by
// side: a mean that is finished between f and A^T r would end it. The same for strips with convolutions
// (images.hpp), ahead of which stands, too, what members read and depends on none: prepared weights, selected images.
#pragma once
#include "groups.hpp"
#include "images.hpp"

namespace tapeless::detail {

constexpr bool is_sparse(op o) { return o == op::spmm || o == op::sddmm; }
// Products with matrices of several columns take longer together than one by one: their rows of B leave the cache.
template <class Nodes> constexpr bool sweeps(const Nodes& nodes, int i) {
  const node& v = nodes[i];
  if (v.o == op::spmm) return v.s.rank == 1;
  return v.o == op::sddmm && (v.in[1] < 0 || nodes[v.in[1]].s.rank == 1);
}
// Which operand has a row for each row of the matrix; 0 where the result has, or where that operand is all ones.
constexpr int operand_of_rows(const node& v) {
  const int k = v.o == op::sddmm ? 1 : (v.attr & spmm_transposed) != 0 ? 2 : 0;
  return k > 0 && v.in[k] >= 0 ? k : 0;
}
constexpr bool makes_rows(const node& v) { return v.o == op::spmm && (v.attr & spmm_transposed) == 0; }

inline constexpr extent_t widest_row = 4;  // elements that a fused step may have for a row of the matrix
inline constexpr extent_t longest_row = 4; // of other strips, in rows of their first step
// Has the loop such rows, of at most `widest` elements?
constexpr bool is_loop_over_rows(const shape& it, extent_t rows, extent_t widest = widest_row) {
  if (it.rank == 0 || it.d[0] != rows) return false;
  extent_t inner = 1;
  for (int a = 1; a < it.rank; ++a) {
    if (!is_static(it.d[a])) return false;
    inner *= it.d[a];
  }
  return inner <= widest;
}

// The groups renumbered, so that those that can take part in one sweep, or in one strip of images, are neighbours.
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
    vec<char> may(groups, 0), early(groups, 0); // take part; stand ahead of it
    int end = start + 1;                        // of the groups that are looked at
    const int window = start + 4 * image_strip_steps, farthest = sparse || window > groups ? groups : window;
    for (; end < farthest && !(counts[end] && !placed[end]); ++end) {
      const int g = end;
      const int s = opener[g];
      const bool fits =
          s >= 0 ? goes_with_first(s) : r.groups[g].fused && is_loop_over_rows(r.groups[g].it, rows, widest);
      const bool free = !placed[g] && r.groups[g].loaded == r.groups[start].loaded;
      may[g] = fits && free ? 1 : 0;
      early[g] = !fits && free && !sparse ? 1 : 0;
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
    until_stable([&](int, int g, int, int, int from) { return unless(early[from] != 0, early[g]); });
    // what a member reads stands ahead, or is the row at hand of another one
    until_stable([&](int i, int g, int k, int root, int from) {
      const bool own_row = may[from] != 0 && rule(p.nodes[root].o).k != kind::reduction &&
                           (opener[from] < 0 || makes(p.nodes[root])) &&
                           (opener[g] < 0 || reads(p.nodes[i], k));
      return unless(own_row || early[from] != 0, may[g]);
    });
    // more than a strip has room for keep their place, and so do loops that share no value with it
    vec<char> shares(groups, 0);
    until_stable([&](int, int g, int, int, int from) {
      if (may[g] != 0 && may[from] != 0) shares[g] = shares[from] = 1;
      return false;
    });
    for (int g = start + 1, n = 1; g < end && !sparse; ++g)
      if (may[g] != 0 && ((shares[g] == 0 && opener[g] < 0) || ++n > image_strip_steps)) may[g] = 0;
    vec<char> unread(groups, 1); // of those that may stand ahead: by members and what they read
    until_stable([&](int, int g, int, int, int from) {
      return unless(early[from] == 0 || (may[g] == 0 && unread[g] != 0), unread[from]);
    });
    const auto place = [&](int g) {
      placed[g] = 1;
      order.push_back(g);
    };
    for (int g = start + 1; g < end; ++g)
      if (unread[g] == 0) place(g);
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

// What a value is in every row that a mask leaves out.
enum class left_out : std::uint8_t { unknown, zero, nonzero };

// The same of node i, from that of its operands.
// A product with a zero, or its quotient, counts as zero, also where the other operand is infinite, NaN or zero.
template <class Nodes> constexpr left_out in_rows_left_out(const Nodes& nodes, int i,
                                                           const vec<left_out>& of) {
  using enum left_out;
  const node& v = nodes[i];
  const auto is = [&](int k, left_out x) { return of[v.in[k]] == x; };
  const auto both = [&](left_out x, left_out y) { return is(0, x) && is(1, y); };
  const bool zeros = v.in[1] >= 0 && both(zero, zero);
  const bool differ = v.in[1] >= 0 && (both(zero, nonzero) || both(nonzero, zero));
  switch (v.o) {
    case op::konst: {
      const double x = std::bit_cast<double>(v.attr), size = x < 0 ? -x : x;
      return x == 0 ? zero : size > 1e-30 && size < 1e30 ? nonzero : unknown; // a float of any type
    }
    case op::copy:
    case op::stop_gradient:
    case op::neg:
    case op::expand:
    case op::reshape: return of[v.in[0]];
    case op::cast:
      return is(0, nonzero) && is_float(nodes[v.in[0]].t) ? unknown : of[v.in[0]]; // 0.5 becomes 0
    case op::div: return is(0, zero) ? zero : unknown;
    case op::mul: return is(0, zero) || is(1, zero) ? zero : unknown;
    case op::add:
    case op::sub:
    case op::max:
    case op::min:
    case op::lt:
    case op::gt: return zeros ? zero : unknown;
    case op::le:
    case op::ge: return zeros ? nonzero : unknown;
    case op::eq: return zeros ? nonzero : differ ? zero : unknown;
    case op::ne: return zeros ? zero : differ ? nonzero : unknown;
    case op::logical_not: return is(0, zero) ? nonzero : is(0, nonzero) ? zero : unknown;
    case op::logical_and:
      return is(0, zero) || is(1, zero) ? zero : both(nonzero, nonzero) ? nonzero : unknown;
    case op::logical_or: return is(0, nonzero) || is(1, nonzero) ? nonzero : zeros ? zero : unknown;
    case op::where:
      return is(0, zero) ? of[v.in[2]] : is(0, nonzero) || of[v.in[1]] == of[v.in[2]] ? of[v.in[1]] : unknown;
    default: return keeps_zero(v.o) && is(0, zero) ? zero : unknown;
  }
}

// The node that tells the rows that a sweep visits: those where it is not zero, or those where it is.
struct row_mask {
  int node = no_node;
  bool visits_zeros = false;
};
// What the sweep of the groups [first, end) computes for the rows of its matrix is needed in those rows only: a node made
// before the sweep, or no_node.
// stays(i): no step after the sweep reads node i
template <int N, int O, class F>
constexpr row_mask mask_of_sweep(const program<N, O>& p, const grouping& r, int first, int end, F stays) {
  const auto within = [&](int i) { return r.of[i] >= first && r.of[i] < end; };
  extent_t rows = 0;
  dtype type = dtype::f32; // of the matrix
  vec<char> makes(
      N, 0); // 1: its rows are multiplied by A^T or spread; 2: it goes into such rows, through a step
  for (int i = 0; i < N; ++i)
    if (within(i) && is_sparse(p.nodes[i].o)) {
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
    bool known = false;
    for (const int c : candidates) known = known || c == m;
    if (!known) candidates.push_back(m);
  };
  for (int i = 0; i < N; ++i) {
    if (!within(i)) continue;
    if (r.groups[r.of[i]].loaded) return {};
    if (is_sparse(p.nodes[i].o)) continue;
    if (!(r.loop[i] == loop)) return {};
    for (const int x : p.nodes[i].in)
      if (const int m = x < 0 ? no_node : r.through[x]; m >= 0 && !within(m)) consider(m);
  }
  // what an earlier step made the rows of, while it is there
  for (int i = N - 1; i >= 0; --i) {
    const kind k = rule(p.nodes[i].o).k;
    // selected rows: what is zero outside them tells them
    const bool selected = makes[i] == 1 && p.nodes[i].o == op::scatter_add && p.nodes[i].in[2] < 0;
    if ((makes[i] == 2 || selected) && !within(i) && r.loaded[i] == 0 &&
        (p.nodes[i].o == op::input || r.last[i] >= first))
      consider(i);
    const char below = makes[i] == 0 ? 0 : k == kind::elementwise ? 2 : k == kind::view ? makes[i] : 0;
    for (const int x : p.nodes[i].in)
      if (x >= 0 && makes[x] < below) makes[x] = below;
  }
  const auto is_tested = [&](int m) { // other than by its zeros
    for (int i = 0; i < N; ++i) {
      const op o = p.nodes[i].o;
      const bool tests = o == op::where || o == op::eq || o == op::ne || o == op::logical_not ||
                         o == op::logical_and || o == op::logical_or;
      for (int k = 0; tests && k < (o == op::where ? 1 : 2); ++k)
        if (const int x = p.nodes[i].in[k]; x >= 0 && r.through[x] == m) return true;
    }
    return false;
  };
  for (const int m : candidates)
    for (const bool visits_zeros : {false, true}) {
      if (visits_zeros && !is_tested(m)) continue;
      vec<left_out> is(N, left_out::unknown);
      bool all = true;
      for (int i = 0; i < N && all; ++i) {
        const node& v = p.nodes[i];
        const op_rule& of = rule(v.o);
        if (i == m) is[i] = visits_zeros ? left_out::nonzero : left_out::zero;
        else if (of.k == kind::elementwise || of.k == kind::view || v.o == op::konst)
          is[i] = in_rows_left_out(p.nodes, i, is);
        if (!within(i) || r.stored[i] == 0) continue;
        if (v.o == op::sum) all = is[v.in[0]] == left_out::zero;
        else if (is_sparse(v.o) && !makes_rows(v)) {
          const int k = operand_of_rows(v);
          all = k > 0 && is[v.in[k]] == left_out::zero;
        } else all = stays(i);
      }
      if (all) return {m, visits_zeros};
    }
  return {};
}

} // namespace tapeless::detail
