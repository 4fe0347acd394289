// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// op_rule: what the compiler knows of an op, one row of a table in its family's file:
//   op, name, kind, flops, facts, vjp
// A vjp rule states  x_bar[k] += d  as c.give(k, d). d may have the broadcast shape: the adjoint pass sums over the
// axes along which the operand is repeated.
#pragma once
#include <cstdint>
#include "../expr/handle.hpp" // IWYU pragma: export
#include "facts.hpp"          // IWYU pragma: export

namespace tapeless::detail {

enum class kind : std::uint8_t {
  leaf,
  elementwise, // fused with its neighbours
  reduction,   // ends a fused group
  view,        // its consumers read through it
  kernel       // a step of its own with a kernel of its own
};

// The node that is being differentiated.
struct vjp_context {
  graph& g;
  const node v; // a copy: the graph grows while the rule runs
  var y, bar;   // y = op(x0, x1, x2), and its cotangent
  bool wanted[3] = {false, false, false};
  int given[3] = {-1, -1, -1};

  constexpr bool needs(int k) const { return wanted[k]; }
  constexpr var x(int k) const { return {&g, v.in[k]}; }
  constexpr shape dims(int k) const { return g.nodes[v.in[k]].s; }
  constexpr void give(int k, var d) {
    if (wanted[k]) given[k] = d.node;
  }
};

// c * names, the names packed as in extent_t
struct count {
  double c = 0;
  extent_t names = 0;
  constexpr count() = default;
  // k for each element of s; there may be more elements than a tensor can have
  constexpr count(double k, const shape& s) : c(k) {
    for (int i = 0; i < s.rank; ++i) {
      c *= static_cast<double>(s.d[i] & coefficient_mask);
      if (!is_static(s.d[i])) names = names_product(names, detail::names(s.d[i]));
    }
  }
};

// x[k]: the shape of operand k. Flops are counted as in the naive reference: one for each + - * / min max compare and
// function of the C library.
using flops_rule = count (*)(const node& v, const shape* x);
template <int K> constexpr count per_output(const node& v, const shape*) { return {K, v.s}; }
template <int K> constexpr count per_input(const node&, const shape* x) { return {K, x[0]}; }
constexpr count no_flops(const node&, const shape*) { return {}; }

// A row without a vjp has no derivative: leaves, comparisons, indices.
// (`differentiable` is a bool: with -fsanitize=undefined g++ does not fold a comparison of pointers.)
struct op_rule {
  using vjp_rule = void (*)(vjp_context&);
  op o = op::count_;
  const char* name = "";
  kind k = kind::leaf;
  flops_rule flops = no_flops;
  op_facts facts = no_facts;
  bool differentiable = false;
  vjp_rule vjp = nullptr;

  constexpr op_rule() = default;
  constexpr op_rule(op code, const char* called, kind what, flops_rule f, const op_facts& told)
      : o(code), name(called), k(what), flops(f), facts(told) {}
  constexpr op_rule(op code, const char* called, kind what, flops_rule f, const op_facts& told, vjp_rule v)
      : o(code), name(called), k(what), flops(f), facts(told), differentiable(true), vjp(v) {}
};

} // namespace tapeless::detail
