// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Values that no result reads get a gradient of exactly zero. A cotangent d is zero by construction where its mask m is
// false: outside of a condition, a slice or the rows of a list. It stays zero there even if it is multiplied by
// infinity or NaN:
//   d * f     ->  where(m, d * f, 0)
//   a^T d     ->  where(m, a, 0)^T d       rows that a product or convolution sums over
//   d b       ->  where(m, d b, 0)         rows of the result
// If d is zero outside of one slice, only that slice is computed (unread_boxes.hpp).
// A zero that the user multiplies by is an ordinary number: nothing is guarded there.
#pragma once
#include "candidates.hpp"
#include "unread_boxes.hpp"

namespace tapeless::detail {

class guard_unread : unread_boxes {
  bool guards_ = false;    // something was guarded
  vec<char> of_constants_; // computed from constants and conditions alone

  // Makes the other operand zero where operand k is, unless it has these zeros itself.
  constexpr void guard_operand(int i, int k, const parts& l, int (&in)[3]) {
    parts rest = l, left;
    const box b = box_of(at(i).in[k]);
    if (b.found()) rest = rest_of(l, b, summed_axis(i, k, b.axis)); // operands are sliced to the box
    for (const part& p : rest)
      if (dry_ || find(of_[at(i).in[1 - k]], p.mask) == nullptr) left.push_back(p);
    guards_ = guards_ || (b.found() && !l.empty());
    if (left.empty() || of_constants_[at(i).in[1 - k]] != 0) return;
    guards_ = true;
    if (!dry_) in[1 - k] = guarded(in[1 - k], left);
  }

  constexpr bool is_of_constants(int i) const {
    const node& v = at(i);
    const kind is = rule(v.o).k;
    if (v.o == op::constant || v.o == op::extent) return true;
    if (is != kind::elementwise && is != kind::view) return false;
    for (int k = 0; k < 3; ++k)
      if (v.in[k] >= 0 && of_constants_[v.in[k]] == 0 && !(v.o == op::where && k == 0)) return false;
    return !is_custom(v.o) && is_float(v.t);
  }
  constexpr bool found(int x) const { return x >= 0 && !of_[x].empty(); }
  // Both make the node and put its parts into l.
  constexpr int elementwise(int i, const int (&in)[3], parts& l) {
    const node& v = at(i);
    bool guards = false;
    if (v.o == op::where) {
      for (int k = 1; k < 3; ++k)
        if (is_zero(p_.nodes, v.in[3 - k])) {
          l = of_[v.in[k]];
          for (part& p : l) p.s = ranked(p.s, v.s.rank);
          add_condition(l, v.in[0], v.s.rank, k == 1);
          if (v.adjoint)
            if (const int y = padded(i, k, in, {}); y >= 0) return y;
          return remake(i, in);
        }
      if (found(v.in[1]) && found(v.in[2])) {
        parts one = of_[v.in[1]], two = of_[v.in[2]];
        add_condition(one, v.in[0], v.s.rank, true);
        add_condition(two, v.in[0], v.s.rank, false);
        l = united(one, two);
      }
    } else if (v.t != dtype::boolean)
      for (const unsigned zeros : rule(v.o).facts.zero) {
        if (zeros == (zero_0 | zero_1)) add_all(l, united(of_[v.in[0]], of_[v.in[1]]));
        for (int k = 0; k < 2; ++k)
          if (zeros == 1u << k && found(v.in[k])) { // the other operand may be infinite
            add_all(l, of_[v.in[k]]);
            guards = guards || (v.in[1] >= 0 && of_constants_[v.in[1 - k]] == 0);
          }
      }
    for (part& p : l) p.s = ranked(p.s, v.s.rank);
    guards = guards && v.adjoint && !l.empty();
    guards_ = guards_ || guards;
    if (!l.empty() && v.adjoint && v.o != op::copy) {
      parts guarded_by; // no conditional operator: g++ 12 frees what it copies
      if (guards) guarded_by = l;
      for (int k = 0; k < 2; ++k)
        if (const int y = padded(i, k, in, guarded_by); y >= 0) return y;
    }
    const int y = remake(i, in);
    if (!guards || dry_) return y;
    const int m = all_of(l);
    return g_[y].o == op::where && g_[y].in[0] == m ? y : guarded(y, l);
  }
  constexpr int product(int i, int (&in)[3], parts& l) {
    const node& v = at(i);
    parts of_only_term; // of a sum with one term: its operand is guarded, so the result needs no guard
    if (v.o == op::matmul) {
      for (int k = 0; k < 2; ++k)
        if (found(v.in[k])) {
          if (v.adjoint) {
            const parts summed = matmul_parts(i, k, true);
            guard_operand(i, k, summed, in);
            const shape& s = at(v.in[k]).s;
            if (s.d[axes_of(v, k, s.rank).inner] == 1) add_all(of_only_term, summed);
          }
          add_all(l, matmul_parts(i, k, false));
        }
    } else if (v.o == op::conv_wgrad) {
      for (int k = 0; k < 2; ++k)
        if (found(v.in[k])) {
          if (v.adjoint) guard_operand(i, k, wgrad_parts(i, k, true), in);
          add_all(l, wgrad_parts(i, k, false));
        }
    } else l = passed_parts(i, 0);
    if (v.adjoint && !l.empty()) {
      guards_ = true;
      for (int k = 0; k < 2; ++k)
        if (const int y = padded(i, k, in, l); y >= 0) return y;
    }
    int y = no_node;
    for (int k = 0; k < 2 && y < 0 && v.adjoint; ++k) y = summed_in_box(i, k, in);
    if (y < 0) y = remake(i, in);
    if (!v.adjoint || dry_) return y;
    parts left;
    for (const part& p : l)
      if (find(of_only_term, p.mask) == nullptr) left.push_back(p);
    return left.empty() ? y : guarded(y, left);
  }
  constexpr int remake(int i, const int (&in)[3]) { return dry_ ? no_node : again(at(i), in, at(i).s); }

  // A reshape that keeps the axis of a box, or joins it with others: the result is a box, too.
  constexpr bool reshape_box(int i, const int (&in)[3]) {
    const int x = at(i).in[0], y = padded(i, 0, in, {});
    if (y < 0) return false;
    const parts all = of_[x];
    of_[x] = rest_of(all, box_of(x), box_of(x).axis);
    parts l = passed_parts(i, 0);
    of_[x] = all;
    made_[i] = y;
    add(l, part_of_pad(node{g_[y]}, shape{g_[g_[y].in[0]].s}));
    of_[i] = l;
    return true;
  }
  constexpr void visit(int i) {
    const node& v = at(i);
    of_constants_[i] = is_of_constants(i) ? 1 : 0;
    if (rule(v.o).k == kind::leaf) {
      if (!dry_) made_[i] = leaf(v);
      return;
    }
    int in[3] = {no_node, no_node, no_node};
    for (int k = 0; k < 3; ++k)
      if (v.in[k] >= 0) in[k] = made_[v.in[k]];
    // zeros in the user's program count only in weights: where(c, 1, 0)
    if (!v.adjoint && of_constants_[i] == 0) {
      made_[i] = remake(i, in);
      return;
    }
    parts l;
    if (rule(v.o).k == kind::elementwise) made_[i] = elementwise(i, in, l);
    else if (is_heavy(v.o)) made_[i] = product(i, in, l);
    else {
      if (v.o == op::reshape && v.adjoint && reshape_box(i, in)) return;
      made_[i] = remake(i, in);
      l = passed_parts(i);
    }
    of_[i] = l;
  }

public:
  constexpr explicit guard_unread(const raw_program& p, bool dry)
      : unread_boxes(p, dry), of_constants_(p.nodes.size(), 0) {}

  // Is there anything to guard? @pre a dry run. It does not know that two conditions exclude each other, so it may say
  // yes where run() guards nothing.
  constexpr bool finds() {
    for (int i = 0; i < p_.nodes.size() && !guards_; ++i) visit(i);
    return guards_;
  }
  constexpr raw_program run() {
    for (int i = 0; i < p_.nodes.size(); ++i) {
      g_.in_adjoint = at(i).adjoint;
      visit(i);
    }
    vec<int> outputs;
    for (const int o : p_.outputs) outputs.push_back(made_[o]);
    return finished(outputs);
  }
};

// Is there anything to guard in p? If not, it stays as it is.
template <int N, int O> constexpr bool multiplies_unread(const program<N, O>& p) {
  bool zeros = false;
  for (const node& v : p.nodes)
    zeros = zeros || v.o == op::where || (v.adjoint && (v.o == op::pad || v.o == op::scatter_add));
  if (!zeros) return false;
  const raw_program written = written_as(p); // the rewriter keeps a reference
  return guard_unread(written, true).finds();
}
template <int N, int O> constexpr raw_program with_guards(const program<N, O>& p) {
  const raw_program written = written_as(p);
  return guard_unread(written, false).run();
}

} // namespace tapeless::detail
