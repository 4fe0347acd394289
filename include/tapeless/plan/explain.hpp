// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// A plan for people: as text, and as a Graphviz graph.
#pragma once
#include <cstdio>
#include <string>
#include "../core/text.hpp"
#include "../expr/program.hpp"
#include "../ops/all.hpp"
#include "analysis/densify.hpp"
#include "ir/step.hpp"
#include "schedule/csr_sweeps.hpp"
#include "schedule/fuse_loops.hpp"
#include "schedule/fusion_groups.hpp"

namespace tapeless {
namespace detail {

inline std::string text_of_names(extent_t packed) {
  std::string s;
  for (; packed > 0; packed >>= name_bits) {
    if (!s.empty()) s += '*';
    s += name_of(packed & 63);
  }
  return s;
}
inline std::string text_of(extent_t e) {
  if (is_static(e)) return std::to_string(e);
  return coefficient(e) == 1 ? text_of_names(names(e)) : joined(coefficient(e), "*", text_of_names(names(e)));
}
inline std::string text_of(const shape& s) {
  std::string r = "[";
  for (int i = 0; i < s.rank; ++i) r += (i > 0 ? ", " : "") + text_of(s.d[i]);
  return r + "]";
}
} // namespace detail

// to_string(cost.flops): "120*n + 8", products of more names first
inline std::string to_string(const polynomial& p) {
  std::string s;
  char number[32];
  for (int degree = detail::max_degree; degree >= 0; --degree)
    for (int i = 0; i < p.size(); ++i) {
      if (detail::degree_of(p[i].names) != degree) continue;
      const std::string product = detail::text_of_names(p[i].names);
      std::snprintf(number, sizeof number, "%.10g", p[i].c);
      if (!s.empty()) s += " + ";
      s += product.empty() ? number : p[i].c == 1 ? product : detail::joined(number, "*", product);
    }
  return s.empty() ? "0" : s;
}

namespace detail {

inline std::string text_of(const node& v) {
  std::string s = is_custom(v.o) ? v.custom->name : rule(v.o).name;
  if (v.o == op::constant) {
    char number[32];
    std::snprintf(number, sizeof number, "%g", std::bit_cast<double>(v.attr));
    return number;
  }
  if (v.o == op::input) return joined("x", v.attr);
  if (v.o == op::extent) return text_of(static_cast<extent_t>(v.attr));
  if (v.o == op::select) {
    constexpr const char* called[] = {"where", "top_k", "bottom_k", "top_k_of_each", "bottom_k_of_each"};
    s = called[static_cast<int>(attributes_of_select(v).what)];
    const select_attributes q = attributes_of_select(v);
    s += q.is_open() ? "" : q.recomputes() ? ", rows computed again" : ", rows kept";
  }
  if (v.o == op::spmm) s += (v.attr & spmm_transposed) != 0 ? " A^T" : " A";
  if (v.o == op::matmul)
    s += std::string(" ") + ((v.attr & 1u) != 0 ? "a^T" : "a") + ((v.attr & 2u) != 0 ? " b^T" : " b");
  return s;
}
inline std::string text_of(const location& l) {
  switch (l.where) {
    case place::input: return joined("x", l.index);
    case place::result: return joined("y", l.index);
    case place::arena: return joined("a", l.index, "+", l.offset);
    case place::sweep: return joined("s+", l.offset);
    default: return "iota";
  }
}

// The CSR sweep that begins with step s: the entries that it reads, and its masks of rows.
template <plan_counts Room> std::string csr_sweep_text(const plan<Room>& r, const step& s) {
  const slot *const columns = &r.slot_[s.slot0], *const row_end = columns + 1, *const values = columns + 2;
  const int entry = 4 + ((s.attr & first_is_ones) == 0 && s.o == op::spmm ? size_of(values->t) : 0);
  std::string t = joined((s.attr & in_tiles) != 0 ? ", a pass tile by tile over " : ", a pass over ",
                         text_of(columns->s.d[0]), " entries and ", text_of(row_end->s.d[0]),
                         " rows: ", entry, " and ", size_of(row_end->t), " bytes each");
  for (int k = 0; k < s.masks; ++k)
    t += joined(k == 0 ? "; rows where " : " and ", text_of(r.slot_[s.slot0 + s.mask + k].at),
                (s.passes_where_zero >> k & 1u) != 0 ? " is 0" : " is not 0");
  return t;
}

// One line for each step: number, half, what it does, where it reads and writes.
template <int N, int O, plan_counts Room>
std::string explain_text(const program<N, O>& p, const plan<Room>& r) {
  const grouping g = make_groups(p);
  const auto computed_in = [&](int i, int group) {
    for (const grouping::recomputed& x : g.again)
      if (x.node == i && x.group == group) return true;
    return g.of[i] == group;
  };
  std::string s = "step  part     reads -> writes: ops\n";
  const auto line = [&](int k, const step& q, const std::string& ops, const std::string& loop) {
    char head[32];
    std::snprintf(head, sizeof head, "%4d  %-7s  ", k, q.adjoint ? "adjoint" : "primal");
    s += head;
    for (int i = 0; i < q.loads; ++i) s += (i > 0 ? ", " : "") + text_of(r.slot_[q.slot0 + i].at);
    s += " ->";
    for (int i = 0; i < q.stores; ++i) s += (i > 0 ? ", " : " ") + text_of(r.slot_[q.slot0 + q.loads + i].at);
    s += ": " + ops + " " + loop + "\n";
  };
  bool in_csr_sweep = false;
  for (int k = 0; k < r.steps; ++k) {
    const step& q = r.step_[k];
    std::string ops;
    if (q.fused) {
      for (int i = 0; i < N; ++i)
        if (computed_in(i, g.of[q.node])) ops += (ops.empty() ? "" : ", ") + text_of(p.nodes[i]);
      shape loop{q.axes, {}};
      for (int a = 0; a < q.axes; ++a) loop.d[a] = q.loop[a];
      line(k, q, ops, joined("over ", text_of(loop), q.sweep ? " in the sweep" : ""));
      in_csr_sweep = in_csr_sweep && q.sweep;
    } else {
      in_csr_sweep = is_sparse(q.o);
      const char* rows = !densifies(p.nodes, N, q.node) ? ""
                         : p.nodes[q.node].in[2] < 0    ? ", all rows of"
                                                        : ", added to all rows of";
      line(k, q, text_of(p.nodes[q.node]) + rows,
           text_of(p.nodes[q.node].s) + (q.sweep        ? " in the sweep"
                                         : in_csr_sweep ? csr_sweep_text(r, q)
                                                        : ""));
    }
  }
  const auto half = [&](const char* name, const cost_part& c) {
    s += joined(name, to_string(c.flops), " flops, ", to_string(c.bytes), " bytes, ", c.steps, " steps\n");
  };
  half("primal:  ", r.cost.primal);
  half("adjoint: ", r.cost.adjoint);
  s += joined("arena:   ", to_string(r.cost.arena), " bytes\n");
  return s;
}

// The program as a Graphviz graph: a node for each op, a box for each step.
template <int N, int O> std::string explain_dot(const program<N, O>& p) {
  const grouping g = make_groups(p);
  std::string s = "digraph program {\n  node [shape=box, fontname=\"sans-serif\"];\n";
  const auto id = [](int i) { return joined("n", i); };
  for (int k = 0; k < g.groups.size(); ++k) {
    s += joined("  subgraph cluster_", k, " {\n");
    for (int i = 0; i < N; ++i)
      if (g.of[i] == k)
        s += joined("    ", id(i), " [label=\"", text_of(p.nodes[i]), "\\n", text_of(p.nodes[i].s),
                    p.nodes[i].adjoint ? "\", style=filled, fillcolor=\"#dde8f7\"];\n" : "\"];\n");
    s += "  }\n";
  }
  for (int i = 0; i < N; ++i)
    if (g.of[i] < 0)
      s += joined("  ", id(i), " [label=\"", text_of(p.nodes[i]), "\\n", text_of(p.nodes[i].s),
                  "\", shape=ellipse];\n");
  for (int i = 0; i < N; ++i)
    for (const int x : p.nodes[i].in)
      if (x >= 0) s += joined("  ", id(x), " -> ", id(i), ";\n");
  for (int k = 0; k < O; ++k)
    s += joined("  y", k, " [shape=ellipse];\n  ", id(p.outputs[k]), " -> y", k, ";\n");
  return s + "}\n";
}

} // namespace detail
} // namespace tapeless
