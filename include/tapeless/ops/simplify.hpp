// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Builders of elementwise nodes. Each takes and returns node numbers, and simplifies before it makes a node: constants
// are folded, broadcasts come last, x + 0 and 1 * x are x, and a cotangent that is zero stays zero.
#pragma once
#include "../expr/integer.hpp"
#include "zero.hpp" // IWYU pragma: export

namespace tapeless::detail {

// a repeated along its broadcast axes; its consumers read through it
constexpr int expand(graph& g, int a, shape s) {
  if (g[a].s == s) return a;
  if (g[a].o == op::expand) a = g[a].in[0];
  if (g[a].s == s) return a;
  return g.intern({.o = op::expand, .t = g[a].t, .in = {a, no_node, no_node}, .s = s});
}
constexpr int zeros(graph& g, dtype t, shape s) { return expand(g, g.constant(0, t), s); }

constexpr int where(graph& g, int c, int a, int b);
// w with branch k replaced by d: where(c, d, 0) or where(c, 0, d). k is branch_beside_zero of w.
constexpr int with_branch(graph& g, const node& w, int k, int d) {
  return k == 1 ? where(g, w.in[0], d, w.in[2]) : where(g, w.in[0], w.in[1], d);
}

constexpr int unary(graph& g, op o, int a, dtype result) {
  if (g.is_constant(a)) {
    const double x = g.value(a);
    if (result == dtype::i32 && g[a].t == dtype::i32 && (o == op::neg || o == op::square)) {
      const auto n = static_cast<std::int32_t>(x);
      return g.constant(o == op::neg ? of_ints(op::sub, 0, n).value : of_ints(op::mul, n, n).value, result);
    }
    if (o == op::neg) return g.constant(-x, result);
    if (o == op::square) return g.constant(x * x, result);
    if (o == op::cast && is_float(result)) return g.constant(x, result);
    if (o == op::convert) return g.constant(static_cast<float>(x), result); // one of the two is a float
  }
  if (g[a].o == op::expand) return expand(g, unary(g, o, g[a].in[0], result), g[a].s);
  if (o == op::neg && g[a].o == op::neg) return g[a].in[0];
  if (const int k = o == op::neg && g.in_adjoint ? branch_beside_zero(g, a) : 0; k > 0) { // as in binary
    const node w = g[a];
    return expand(g, with_branch(g, w, k, unary(g, op::neg, w.in[k], result)), w.s);
  }
  if (o == op::cast && g[a].t == result) return a;
  if (o == op::narrow && g[a].o == op::widen) return g[a].in[0];
  if (o == op::convert && result == dtype::f32 && g[a].o == op::convert) return g[a].in[0];
  return g.intern({.o = o, .t = result, .in = {a, no_node, no_node}, .s = g[a].s});
}
constexpr int unary(graph& g, op o, int a) { return unary(g, o, a, g[a].t); }

constexpr bool commutes(op o) { return o == op::add || o == op::mul || o == op::eq || o == op::ne; }

constexpr int where(graph& g, int c, int a, int b) {
  const shape full = broadcast(g[c].s, broadcast(g[a].s, g[b].s));
  if (a == b) return expand(g, a, full);
  if (g.is_constant(unexpanded(g, c))) return expand(g, g.value(unexpanded(g, c)) != 0 ? a : b, full);
  c = unexpanded(g, c);
  a = unexpanded(g, a);
  b = unexpanded(g, b);
  const shape s = broadcast(g[c].s, broadcast(g[a].s, g[b].s));
  return expand(g, g.intern({.o = op::where, .t = g[a].t, .in = {c, a, b}, .s = s}), full);
}

constexpr int logsumexp(graph& g, int a, unsigned axes); // of reduce.hpp
constexpr int log_softmax(graph& g, int a, unsigned axes);
// a - logsumexp(a) is log_softmax(a): far from 0 the difference loses all digits. no_node: b is not logsumexp(a).
constexpr int minus_logsumexp(graph& g, int a, int b) {
  if (g[b].o != op::add || g[g[b].in[0]].o != op::stop_gradient) return no_node;
  const node top = g[g[g[b].in[0]].in[0]];
  if (top.o != op::max_reduce || top.in[0] != a) return no_node;
  const auto axes = static_cast<unsigned>(top.attr);
  return logsumexp(g, a, axes) == b ? log_softmax(g, a, axes) : no_node;
}

// op(a, b) of shape s where an operand is constant; no_node: the constant says nothing
constexpr int binary_with_constant(graph& g, op o, int a, int b, const shape& s) {
  const dtype t = g[a].t;
  if (g.is_constant(a) && g.is_constant(b)) {
    const double x = g.value(a), y = g.value(b);
    if (t == dtype::i32)
      if (const int_result r = of_ints(o, static_cast<std::int32_t>(x), static_cast<std::int32_t>(y));
          r.known)
        return g.constant(r.value, t);
    if (o == op::add) return g.constant(x + y, t);
    if (o == op::sub) return g.constant(x - y, t);
    if (o == op::mul) return g.constant(x * y, t);
    if (o == op::div && y != 0) return g.constant(x / y, t);
  }
  if ((o == op::mul && g.is(a, 1)) || (o == op::add && g.is(a, 0))) return expand(g, b, s);
  if (((o == op::mul || o == op::div || o == op::quotient) && g.is(b, 1)) ||
      ((o == op::add || o == op::sub) && g.is(b, 0)))
    return expand(g, a, s);
  if (o == op::sub && g.is(a, 0)) return unary(g, op::neg, expand(g, b, s));
  // A cotangent that is zero stays exactly zero, also times inf or NaN.
  if (g.in_adjoint && ((g.is(a, 0) && (o == op::mul || o == op::div)) || (g.is(b, 0) && o == op::mul)))
    return zeros(g, t, s);
  return no_node;
}
constexpr int binary(graph& g, op o, int a, int b) {
  const shape s = broadcast(g[a].s, g[b].s);
  if (g[a].o == op::expand || g[b].o == op::expand) {
    a = unexpanded(g, a);
    b = unexpanded(g, b);
    if (!(broadcast(g[a].s, g[b].s) == s)) return expand(g, binary(g, o, a, b), s);
  }
  const node &x = g[a], &y = g[b]; // nodes do not move
  if (o == op::div && x.t == dtype::i32) o = op::quotient;
  if (x.o == op::constant || y.o == op::constant)
    if (const int simpler = binary_with_constant(g, o, a, b, s); simpler >= 0) return simpler;
  if (g.in_adjoint && (o == op::mul || o == op::div)) {
    // A cotangent that a where made zero stays so: where(c, d, 0) * z = where(c, d * z, 0).
    if (const int k = branch_beside_zero(g, a); k > 0)
      return expand(g, with_branch(g, node(x), k, binary(g, o, x.in[k], b)), s);
    if (const int k = o == op::mul ? branch_beside_zero(g, b) : 0; k > 0)
      return expand(g, with_branch(g, node(y), k, binary(g, o, a, y.in[k])), s);
  }
  if (const int k = g.in_adjoint && (o == op::add || o == op::sub) ? branch_beside_zero(g, a) : 0;
      k > 0 && k == branch_beside_zero(g, b) && x.in[0] == y.in[0])
    // where(c, d, 0) + where(c, e, 0) = where(c, d + e, 0)
    return expand(g, with_branch(g, node(x), k, binary(g, o, x.in[k], y.in[k])), s);
  if (const int difference = o == op::sub ? minus_logsumexp(g, a, b) : no_node; difference >= 0)
    return difference;
  const bool swapped = a > b && commutes(o);
  return g.intern({.o = o,
                   .t = compares(o) ? dtype::boolean : x.t,
                   .in = {swapped ? b : a, swapped ? a : b, no_node},
                   .s = s});
}

constexpr int negated(graph& g, int c) {
  const node v = g[c];
  if (v.o == op::logical_not) return v.in[0];
  if (v.o == op::eq || v.o == op::ne) return binary(g, v.o == op::eq ? op::ne : op::eq, v.in[0], v.in[1]);
  return unary(g, op::logical_not, c);
}
// where(c, 0, b) = where(!c, b, 0): a condition that leaves rows out becomes a mask, whichever way it is written.
constexpr int where_not_zero(graph& g, int c, int a, int b) {
  if (!g.is(unexpanded(g, a), 0) || g.is(unexpanded(g, b), 0)) return where(g, c, a, b);
  return where(g, expand(g, negated(g, unexpanded(g, c)), g[c].s), b, a);
}

} // namespace tapeless::detail
