// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Which nodes are masks of rows: a factor or a condition of the losses of rows that may be exactly 0, as in
// mean(mask * loss). A mask of several axes, as of the pixels of images, has as many rows as elements.
#pragma once
#include "merged_axes.hpp"
#include "row_cost.hpp"

namespace tapeless::detail {

// x - x == 0: is x finite? softmax and logsumexp ask that of each row's maximum.
constexpr bool asks_if_finite(const node* nodes, const node& v) {
  if (v.o != op::eq) return false;
  for (int k = 0; k < 2; ++k)
    if (const node& d = nodes[v.in[k]]; d.o == op::sub && d.in[0] == d.in[1]) return true;
  return false;
}
// Of every node: is it a weight that may be exactly 0, by ops that keep a zero or may make one, and through which no
// derivative flows? exp(x) and 1 / x are none.
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
    if (v.o == op::stop_gradient || v.t == dtype::boolean || v.t == dtype::i32) varies[i] = 0;
    bool may = v.t == dtype::boolean || (rule(v.o).k == kind::view && z[0]);
    switch (v.o) {
      case op::input:
      case op::sub: may = true; break;
      case op::konst: may = v.attr == 0; break;
      case op::neg:
      case op::square:
      case op::sqrt:
      case op::tanh:
      case op::relu:
      case op::copy:
      case op::cast:
      case op::stop_gradient:
      case op::div:
      case op::pow:
      case op::gather: may = may || z[0]; break;
      case op::mul:
      case op::max:
      case op::min: may = z[0] || z[1]; break;
      case op::add: may = z[0] && z[1]; break;
      case op::where: may = may || z[1] || z[2]; break;
      default: break;
    }
    zero[i] = may;
  }
  for (int i = 0; i < size; ++i)
    zero[i] = zero[i] != 0 && varies[i] == 0 && (!nodes[i].adjoint || nodes[i].o == op::input);
  return zero;
}
// A factor or a condition of the losses of rows, which may be a mask: an argument, a weight that the program computes, or
// a condition; no transform differentiates by it. It has the first axes of what it is a factor of. Of it and what it is a
// view, a cast or a stop_gradient of, the last that has them; no_node where none has.
constexpr int mask_of(const node* nodes, const vec<char>& weights, const node& user, int k) {
  const bool is_factor = user.o == op::mul || ((user.o == op::where || user.o == op::div) && k == 0);
  if (user.in[k] < 0 || !is_factor) return no_node;
  // a row that is left out would be another number than 0
  if (user.o == op::where && nodes[user.in[2]].o == op::konst && nodes[user.in[2]].attr != 0) return no_node;
  int found = no_node;
  for (int x = user.in[k];;) {
    const node& m = nodes[x];
    const shape rows = squeezed(m.s);
    if (rows.rank > 0 && end_of_group(user.s, rows) >= 0) found = x;
    if (rule(m.o).k != kind::view && m.o != op::cast && m.o != op::copy && m.o != op::stop_gradient) break;
    x = m.in[0];
  }
  return found >= 0 && weights[found] != 0 && !asks_if_finite(nodes, nodes[found]) ? found : no_node;
}
constexpr extent_t rows_of_product(const node& v) {
  extent_t rows = v.s.d[0];
  for (int a = 1; v.o == op::matmul && a + 1 < v.s.rank; ++a) rows = times(rows, v.s.d[a]);
  return rows;
}
// Products and convolutions, one of each number of rows.
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
// Positions are int32, and rows of several axes are those of some product: other values of that shape are no masks.
constexpr bool may_have_rows(const node* nodes, const node& mask, const vec<int>& of_products) {
  const shape rows = squeezed(mask.s);
  const extent_t n = numel(rows);
  if (n == 0 || coefficient(n) > most_selected) return false;
  bool found = rows.rank == 1;
  for (const int i : of_products) found = found || quotient(rows_of_product(nodes[i]), n) > 0;
  return found;
}
inline constexpr int max_masks = 4; // are tried

// A weight that is no argument and no condition.
constexpr bool is_weight_of_program(const node* nodes, int m) {
  while (rule(nodes[m].o).k == kind::view) m = nodes[m].in[0];
  return nodes[m].o != op::input && nodes[m].t != dtype::boolean;
}
// Is it a condition that is known before the first product?
constexpr bool is_given_condition(const node* nodes, int m) {
  if (nodes[m].t != dtype::boolean) return false;
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
// Is it an argument that weighs losses: is its product with what comes of a network added up over its rows, by ops that
// are linear in it, as in mean(m * l)? Labels of 1 and -1, whose products with the model's output are read by a loss, do
// not.
constexpr bool weighs_losses(const node* nodes, int size, int m) {
  if (nodes[m].t == dtype::boolean || is_weight_of_program(nodes, m)) return false;
  const shape rows = squeezed(nodes[m].s);
  constexpr char other = 0, weight = 1, network = 2, weighed = 3;
  vec<char> is(size, other);
  for (int i = 0; i < size; ++i) {
    const node& v = nodes[i];
    const auto of = [&](int k) { return v.in[k] >= 0 ? is[v.in[k]] : other; };
    const auto reads = [&](char what) { return of(0) == what || of(1) == what || of(2) == what; };
    const bool terms = v.o == op::add || v.o == op::sub || v.o == op::where;
    const bool passes = v.o == op::neg || v.o == op::div || v.o == op::cast || v.o == op::copy ||
                        v.o == op::stop_gradient || rule(v.o).k == kind::view;
    if (i == m || (passes && of(0) == weight)) is[i] = weight;
    else if ((passes || v.o == op::sum) && of(0) == weighed) is[i] = weighed;
    else if (terms && reads(weighed)) is[i] = weighed;
    else if (v.o == op::mul && (reads(weighed) || (reads(weight) && reads(network)))) is[i] = weighed;
    else if (v.o == op::mul && reads(weight)) is[i] = weight;
    else if (is_heavy(v.o) || reads(network) || reads(weighed)) is[i] = network;
    if (v.o == op::sum && is[i] == weighed && end_of_group(v.s, rows) < 0) return true;
  }
  return false;
}
// Of these nodes, the first ones that may be masks: conditions that are given, of the rows of a product; arguments and
// other conditions; weights that the program computes.
constexpr vec<int> masks_of(const node* nodes, int size, int most = max_masks) {
  const vec<int> of_products = products(nodes, size);
  vec<int> r;
  if (of_products.empty()) return r;
  const vec<char> weights = weights_among(nodes, size);
  const auto order = [&](int m) {
    if (is_weight_of_program(nodes, m)) return 2;
    bool rows = false;
    for (const int i : of_products) rows = rows || quotient(rows_of_product(nodes[i]), numel(nodes[m].s)) > 0;
    return rows && is_given_condition(nodes, m) ? 0 : 1;
  };
  vec<int> all;
  for (int i = 0; i < size; ++i)
    for (int k = 0; k < 2; ++k) {
      const int m = mask_of(nodes, weights, nodes[i], k);
      bool known = m < 0;
      for (const int j : all) known = known || j == m;
      if (!known && may_have_rows(nodes, nodes[m], of_products)) all.push_back(m);
    }
  for (int turn = 0; turn < 3; ++turn)
    for (const int m : all)
      if (r.size() < most && order(m) == turn) r.push_back(m);
  return r;
}

} // namespace tapeless::detail
