// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Where the nodes of a program are zero by construction. Each node has a list of masks, its parts: it is zero wherever
// one of them is false. unread_masks keeps the parts of all nodes and combines them: for a product, a sum, a condition.
// unread_moves.hpp says what other ops make of them.
#pragma once
#include "../../ops/all.hpp"
#include "graph_rewriter.hpp" // IWYU pragma: export

namespace tapeless::detail {

class unread_masks : protected graph_rewriter {
protected:
  // One mask of a node. It broadcasts to the node.
  struct part {
    int mask = no_node;   // node of the new graph; none in a dry run
    shape s;              // shape of the mask, with the node's rank
    bool implied = false; // the other parts imply it; it has fewer axes than they have
    bool of_relu = false; // see is_of_relu
    constexpr part as(int other_mask, const shape& to) const { return {other_mask, to, implied, of_relu}; }
  };
  using parts = vec<part>;
  static constexpr int most_parts = 6;

  bool dry_;      // a dry run makes no node
  vec<parts> of_; // of each node of the program
  vec<int> made_; // each node in the new graph

  constexpr void add(parts& l, const part& p) const {
    for (part& q : l)
      if (dry_ ? q.s == p.s : q.mask == p.mask) {
        q.implied = q.implied && p.implied;
        q.of_relu = q.of_relu && p.of_relu;
        return;
      }
    if (l.size() < most_parts || !p.implied) l.push_back(p);
  }
  // The mask that is true where all parts are, or no_node.
  constexpr int all_of(const parts& l) {
    int m = no_node;
    for (const part& p : l)
      if (!p.implied) m = m < 0 ? p.mask : binary(g_, op::logical_and, m, p.mask);
    return m;
  }
  // Is mask p the negation of mask q?
  constexpr bool are_opposite(int p, int q) const {
    const node &a = g_[p], &b = g_[q];
    const bool equalities = (a.o == op::eq && b.o == op::ne) || (a.o == op::ne && b.o == op::eq);
    return (a.o == op::logical_not && a.in[0] == q) || (b.o == op::logical_not && b.in[0] == p) ||
           (equalities && a.in[0] == b.in[0] && a.in[1] == b.in[1]);
  }
  // The mask that is true where p or q is; no_node where that is everywhere.
  constexpr int either(int p, int q) {
    if (p == q) return p;
    if (are_opposite(p, q)) return no_node;
    const node a = g_[p], b = g_[q];
    if (a.o == op::logical_and && b.o == op::logical_and)
      for (int k = 0; k < 2; ++k)
        for (int j = 0; j < 2; ++j)
          if (a.in[k] == b.in[j] && are_opposite(a.in[1 - k], b.in[1 - j])) return a.in[k];
    return binary(g_, op::logical_or, p, q);
  }
  static constexpr const part* find(const parts& l, int mask) {
    for (const part& p : l)
      if (p.mask == mask) return &p;
    return nullptr;
  }
  // The parts of a sum, from those of its terms.
  constexpr parts united(const parts& x, const parts& y) {
    parts r;
    if (x.empty() || y.empty()) return r;
    if (dry_) {
      for (const part& p : x)
        for (const part& q : y) add(r, {no_node, broadcast(p.s, q.s), false});
      return r;
    }
    parts only_x, only_y;
    for (const part& p : x)
      if (const part* const q = find(y, p.mask))
        add(r, {p.mask, p.s, p.implied && q->implied, p.of_relu && q->of_relu});
      else only_x.push_back(p);
    for (const part& q : y)
      if (find(x, q.mask) == nullptr) only_y.push_back(q);
    const int a = all_of(only_x), b = all_of(only_y);
    if (a >= 0 && b >= 0) {
      const int m = either(a, b);
      if (m >= 0)
        add(r, {m, broadcast(shape_of_all(only_x), shape_of_all(only_y)), false,
                all_are_of_relu(only_x) && all_are_of_relu(only_y)});
      else r = kept(r, true);
    }
    for (const part& p : only_x)
      for (const part& q : only_y)
        if (p.s == q.s)
          if (const int m = either(p.mask, q.mask); m >= 0) add(r, {m, p.s, true, p.of_relu && q.of_relu});
    return r;
  }
  static constexpr bool all_are_of_relu(const parts& l) {
    for (const part& p : l)
      if (!p.of_relu) return false;
    return true;
  }
  static constexpr shape shape_of_all(const parts& l) {
    shape s;
    for (const part& p : l)
      if (!p.implied) s = broadcast(s, p.s);
    return s;
  }
  // The parts that an op keeps. If it drops one, no part is implied any more: the dropped one may have implied it.
  static constexpr parts kept(parts l, bool drops) {
    for (part& p : l) p.implied = p.implied && !drops;
    return l;
  }
  constexpr void add_all(parts& l, const parts& more) const {
    for (const part& p : more) add(l, p);
  }
  // s with leading axes of extent 1, up to this rank.
  static constexpr shape ranked(const shape& s, int rank) {
    shape r;
    r.rank = rank;
    for (int i = 0; i < rank; ++i) r.d[i] = i < rank - s.rank ? 1 : s.d[i - (rank - s.rank)];
    return r;
  }
  constexpr int mask_as(int m, const shape& s) { return dry_ ? m : reshape(g_, m, s); }
  // Is condition x of the program the one in the derivative of relu, or of max or min with 0?
  constexpr bool is_of_relu(int x) const {
    while (rule(at(x).o).k == kind::view) x = at(x).in[0];
    const node& v = at(x);
    const bool compares = v.o == op::gt || v.o == op::ge || v.o == op::le;
    return v.adjoint && compares && (is_zero(p_.nodes, v.in[0]) || is_zero(p_.nodes, v.in[1]));
  }
  // Adds condition x of the program, or its negation. Each operand of && becomes a part of its own.
  constexpr void add_condition(parts& l, int x, int rank, bool holds) {
    const node& v = at(x);
    if (v.o == op::logical_not) return add_condition(l, v.in[0], rank, !holds);
    if (v.o == op::logical_and && holds) {
      add_condition(l, v.in[0], rank, true);
      add_condition(l, v.in[1], rank, true);
      return;
    }
    int m = no_node;
    if (!dry_) m = unexpanded(g_, holds ? made_[x] : negated(g_, unexpanded(g_, made_[x])));
    add(l, {m, ranked(dry_ ? at(unexpanded(v, x)).s : g_[m].s, rank), false, is_of_relu(x)});
  }

  constexpr unread_masks(const raw_program& p, bool dry)
      : graph_rewriter(p), dry_(dry), of_(p.nodes.size(), parts{}), made_(p.nodes.size(), no_node) {}
};

} // namespace tapeless::detail
