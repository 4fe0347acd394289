// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Which nodes are masks of rows: factors or conditions of the losses of rows that may be exactly 0, as in
// mean(mask * loss). A mask may have several axes, as one of pixels. It then has as many rows as elements.
#pragma once
#include "../../ops/all.hpp"
#include "../../ops/read_facts.hpp"
#include "../../ops/conv.hpp"
#include "../../ops/select_node.hpp"

namespace tapeless::detail {

// x - x == 0 asks if x is finite. The norms do that for each sum of squares.
constexpr bool asks_if_finite(const node* nodes, const node& v) {
  if (v.o != op::eq) return false;
  for (int k = 0; k < 2; ++k)
    if (const node& d = nodes[v.in[k]]; d.o == op::sub && d.in[0] == d.in[1]) return true;
  return false;
}
// max(x, c) with c > 0, or min(x, c) with c < 0
constexpr bool bounded_off_zero(const node* nodes, const node& v) {
  if (v.o != op::max && v.o != op::min) return false;
  for (int k = 0; k < 2; ++k) {
    const node& c = nodes[unexpanded(nodes[v.in[k]], v.in[k])];
    if (c.o != op::constant) continue;
    const double bound = std::bit_cast<double>(c.attr);
    if (v.o == op::max ? bound > 0 : bound < 0) return true;
  }
  return false;
}
constexpr bool is_elementwise_or_view(const node& v) {
  return rule(v.o).k == kind::elementwise || rule(v.o).k == kind::view;
}
// For each node: is it a weight that may be exactly 0, and through which no derivative flows? It may be 0 if its op
// keeps a zero or can make one; exp(x) and 1 / x cannot.
constexpr vec<char> weights_among(const node* nodes, int size) {
  vec<char> varies(size, 0), zero(size, 0);
  for (int i = 0; i < size; ++i) {
    const node& v = nodes[i];
    bool z[3] = {false, false, false};
    for (int k = 0; k < 3; ++k)
      if (v.in[k] >= 0) {
        z[k] = zero[v.in[k]] != 0;
        if (varies[v.in[k]] != 0) varies[i] = 1;
      }
    if (v.active) varies[i] = 1;
    if (v.o == op::stop_gradient || v.t == dtype::boolean || v.t == dtype::i32 || is_stored_integer(v.t))
      varies[i] = 0;
    bool may = v.t == dtype::boolean || v.o == op::input || (v.o == op::constant && is_zero(nodes, i));
    if (is_elementwise_or_view(v) || v.o == op::gather)
      may = may || (holds(rule(v.o).facts.zero, bits_of(z), all_operands, 0) && !bounded_off_zero(nodes, v));
    zero[i] = may;
  }
  vec<char> primal(size, 0); // a node of the primal, or a view, rows or a condition of such
  for (int i = 0; i < size; ++i) {
    const node& v = nodes[i];
    bool reads = v.t == dtype::boolean || rule(v.o).k == kind::view || v.o == op::gather;
    for (int k = 0; k < (v.o == op::gather ? 1 : 3); ++k)
      reads = reads && (v.in[k] < 0 || primal[v.in[k]] != 0);
    primal[i] = !v.adjoint || rule(v.o).k == kind::leaf || reads;
    zero[i] = zero[i] != 0 && varies[i] == 0 && primal[i] != 0 && !is_stored_integer(v.t);
  }
  return zero;
}
// The mask that operand k of `user` is, or no_node. It is a factor or a condition of losses: an argument, a computed
// weight or a condition that no transform differentiates by. It has the first axes of what it is multiplied by. If it
// is a view, a cast or a stop_gradient, the mask is the last node of that chain that has these axes.
constexpr int mask_of(const node* nodes, const vec<char>& weights, const node& user, int k) {
  if (!has_factor(user, k) && !(user.o == op::where && k == 0)) return no_node;
  // where(mask, l, c) with a c that is not 0
  if (user.o == op::where && nodes[user.in[2]].o == op::constant && !is_zero(nodes, user.in[2]))
    return no_node;
  int found = no_node;
  for (int x = user.in[k];;) {
    const node& m = nodes[x];
    const shape rows = squeezed(m.s);
    if (weights[x] != 0 && rows.rank > 0 && end_of_group(user.s, rows) >= 0) found = x;
    if (rule(m.o).k != kind::view && m.o != op::cast && m.o != op::convert && m.o != op::copy &&
        m.o != op::stop_gradient)
      break;
    x = m.in[0];
  }
  return found >= 0 && !asks_if_finite(nodes, nodes[found]) ? found : no_node;
}
constexpr extent_t rows_of_product(const node& v) {
  extent_t rows = v.s.d[0];
  for (int a = 1; v.o == op::matmul && a + 1 < v.s.rank; ++a) rows = times(rows, v.s.d[a]);
  return rows;
}
// Products and convolutions: one for each number of rows.
constexpr vec<int> products(const node* nodes, int size) {
  vec<int> r;
  for (int i = 0; i < size; ++i) {
    if (!is_heavy(nodes[i].o)) continue;
    bool known = false;
    for (const int j : r) known = known || rows_of_product(nodes[i]) == rows_of_product(nodes[j]);
    if (!known) r.push_back(i);
  }
  return r;
}
// May it be a mask of rows? Positions of rows are int32. A mask of several axes is one only if some product has its rows.
constexpr bool may_have_rows(const node* nodes, const node& mask, const vec<int>& of_products) {
  const shape rows = squeezed(mask.s);
  const extent_t n = numel(rows);
  if (n == 0 || coefficient(n) > most_selected) return false;
  bool found = rows.rank == 1;
  for (const int i : of_products) found = found || block_of(rows_of_product(nodes[i]), n) > 0;
  return found;
}
// Is it a weight that is neither an argument nor a condition?
constexpr bool is_weight_of_program(const node* nodes, int m) {
  while (rule(nodes[m].o).k == kind::view) m = nodes[m].in[0];
  return nodes[m].o != op::input && nodes[m].t != dtype::boolean;
}
// Is it known before the forward pass, that is, computed without products?
constexpr bool is_known_before_forward(const node* nodes, int m) {
  vec<char> read(m + 1, 0);
  read[m] = 1;
  for (int i = m; i >= 0; --i) {
    if (read[i] == 0) continue;
    if (is_heavy(nodes[i].o)) return false;
    for (const int x : nodes[i].in)
      if (x >= 0) read[x] = 1;
  }
  return true;
}
constexpr bool is_condition_before_forward(const node* nodes, int m) {
  return nodes[m].t == dtype::boolean && is_known_before_forward(nodes, m);
}
// Is it zero where an argument that is a loss weight is? It may have more zeros only by other factors and by
// conditions, which are masks themselves. Not relu(w): its further zeros would be lost.
constexpr bool keeps_weight(const node* nodes, int m) {
  vec<char> keeps(m + 1, 0);
  const auto is = [&](int x) { return x >= 0 && keeps[x] != 0; };
  for (int i = 0; i <= m; ++i) {
    const node& v = nodes[i];
    if (v.o == op::input) keeps[i] = v.is_loss_weight;
    else if (v.o == op::where) keeps[i] = is(v.in[1]) && is_zero(nodes, v.in[2]);
    else if (is_elementwise_or_view(v) && is_nonzero(v, dtype::f32, 0, all_operands, true))
      keeps[i] = holds(rule(v.o).facts.zero, bits_of({is(v.in[0]), is(v.in[1]), false}), 0, maybe);
  }
  return keeps[m] != 0;
}
constexpr bool is_weight_before_forward(const node* nodes, int m) {
  return nodes[m].t != dtype::boolean && keeps_weight(nodes, m) && is_known_before_forward(nodes, m);
}
// All masks of these nodes, in this order:
//   conditions of the rows of a product that are known before the forward pass
//   loss weights that are known before the forward pass
//   other arguments and conditions
//   weights that the program computes
// one: stop at the first.
constexpr vec<int> masks_of(const node* nodes, int size, bool one = false) {
  const vec<int> of_products = products(nodes, size);
  vec<int> r;
  if (of_products.empty()) return r;
  const vec<char> weights = weights_among(nodes, size);
  vec<int> all;
  for (int i = 0; i < size; ++i)
    for (int k = 0; k < 2; ++k) {
      const int m = mask_of(nodes, weights, nodes[i], k);
      if (m >= 0 && !all.contains(m) && may_have_rows(nodes, nodes[m], of_products)) all.push_back(m);
      if (one && !all.empty()) return all;
    }
  const auto turn_of = [&](int m) {
    if (is_weight_before_forward(nodes, m)) return 1;
    if (is_weight_of_program(nodes, m)) return 3;
    bool rows = false;
    for (const int i : of_products) rows = rows || block_of(rows_of_product(nodes[i]), numel(nodes[m].s)) > 0;
    return rows && is_condition_before_forward(nodes, m) ? 0 : 2;
  };
  vec<int> turns;
  for (const int m : all) turns.push_back(turn_of(m));
  for (int turn = 0; turn < 4; ++turn)
    for (int k = 0; k < all.size(); ++k)
      if (turns[k] == turn) r.push_back(all[k]);
  return r;
}

} // namespace tapeless::detail
