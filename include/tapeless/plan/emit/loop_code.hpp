// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The code of a loop. The nodes of a group become instructions over registers; the blocks that they read become slots.
#pragma once
#include "../analysis/strided_view.hpp"
#include "../ir/step.hpp"
#include "../schedule/fusion_groups.hpp"
#include "../schedule/loop_order.hpp"
#include "plan_builder.hpp"

namespace tapeless::detail {

constexpr bool is_reduction(const node& v) { return rule(v.o).k == kind::reduction; }
// Do two slots read the same elements?
constexpr bool same_slot(const slot& a, const slot& b) {
  static_assert(max_rank == 6);
  return same_start(a, b) && a.stride[0] == b.stride[0] && a.stride[1] == b.stride[1] &&
         a.stride[2] == b.stride[2] && a.stride[3] == b.stride[3] && a.stride[4] == b.stride[4] &&
         a.stride[5] == b.stride[5];
}
// The shape of what a loop over `it` reads of a block. Axes along which it stays have extent 1.
constexpr shape visited_of(shape it, const extent_t (&stride)[max_rank]) {
  for (int a = 0; a < it.rank; ++a)
    if (stride[a] == 0) it.d[a] = 1;
  return it;
}

// The strides of the axes of s other than 1, in the order of the loop: its axis `outermost` comes first.
constexpr void loop_strides(const shape& s, const extent_t (&from)[max_rank], int outermost,
                            extent_t (&to)[max_rank]) {
  int k = 0;
  for (int i = 0; i < s.rank; ++i)
    if (s.d[i] != 1) to[k++] = from[i];
  move_to_front(to, outermost);
}
struct loop_load { // what a load reads, and whether only the adjoint does
  shape visited;
  bool adjoint;
};
struct loop_result { // a node that is stored, and the register that holds it
  int node, reg;
};

template <int N, int O> class loop_code {
  plan_builder<N, O>& b_;
  plan<most_of_plan(N, O)>& r_ = b_.made;
  const grouping& g_ = b_.grouped;
  vec<int> reg_{N, no_node}, made_in_{N, no_node}; // a node's register in the group that computed it last
  int floats_ = 0, ints_ = 0, bools_ = 0, wide_ints_ = 0; // registers of the current group

  constexpr int new_register(dtype t) {
    return t == dtype::boolean                 ? bools_++
           : t == dtype::i32 || t == dtype::u8 ? ints_++
           : t == dtype::i64                   ? wide_ints_++
                                               : floats_++;
  }

  // The register of instruction q, which is emitted if the loop does not have it already.
  constexpr int emit_once(const step& s, instruction q, dtype result) {
    const std::uint64_t wanted = q.word();
    for (int k = s.code0; k < r_.codes; ++k)
      if (((r_.code[k] ^ wanted) & instruction::bits_of_load) == 0) return instruction(r_.code[k]).dst;
    q.dst = new_register(result);
    r_.code[r_.codes++] = q.word();
    return q.dst;
  }
  constexpr int constant(const step& s, std::uint64_t bits, dtype t) {
    int k = s.constant0;
    while (k < r_.constants && r_.constant[k] != bits) ++k;
    if (k == r_.constants) r_.constant[r_.constants++] = bits;
    return emit_once(s, {op::constant, t, 0, 0, 0, 0, k - s.constant0}, t);
  }
  constexpr int named_extent(const step& s, extent_t e, dtype t) {
    int k = s.extent0;
    while (k < r_.extents && r_.extent[k] != e) ++k;
    if (k == r_.extents) r_.extent[r_.extents++] = e;
    return emit_once(s, {op::extent, t, 0, 0, 0, 0, k - s.extent0}, t);
  }

  // Loads operand x, the view w of a block.   -> its register
  constexpr int load(step& s, int group, int x, const strided_view& w, const shape& full, bool adjoint) {
    const node& root = b_.at(w.root);
    slot q;
    q.at = root.o == op::iota ? location{} : b_.home[w.root];
    q.t = root.t;
    q.offset[0] = w.offset[0];
    q.offset[1] = w.offset[1];
    extent_t aligned_strides[max_rank]{};
    for (int i = 0; i < full.rank; ++i) {
      const int k = i - (full.rank - b_.at(x).s.rank);
      aligned_strides[i] = k < 0 || b_.at(x).s.d[k] == 1 ? 0 : w.stride[k];
    }
    loop_strides(full, aligned_strides, g_.groups[group].outermost, q.stride);
    int k = s.slot0;
    while (k < r_.slots && !same_slot(r_.slot_[k], q)) ++k;
    if (k == r_.slots) {
      r_.slot_[r_.slots++] = q;
      ++s.loads;
      loads.push_back({root.o == op::iota ? shape{1, {0}} : visited_of(b_.loop_of(group), q.stride), true});
    }
    loop_load& l = loads[k - s.slot0];
    l.adjoint = l.adjoint && adjoint;
    return emit_once(s, {op::input, root.t, 0, k - s.slot0}, root.t);
  }
  // The register of operand x of a node whose loop has the shape `full` (with axes of extent 1).
  constexpr int read(step& s, int group, int x, const shape& full, bool adjoint) {
    const int u = g_.through[x];
    if (rule(b_.at(u).o).k == kind::elementwise && g_.loop[u] == g_.groups[group].it) {
      if (made_in_[u] == group) return reg_[u];
      if (!g_.stored[u]) return compute(s, group, u, adjoint);
    }
    const strided_view w = strides_through_views(b_.source.nodes, x);
    const node& root = b_.at(w.root);
    if (root.o == op::constant) return constant(s, root.attr, root.t);
    if (root.o == op::extent) return named_extent(s, static_cast<extent_t>(root.attr), root.t);
    if (g_.inlined[w.root] != 0)
      return made_in_[w.root] == group ? reg_[w.root] : compute(s, group, w.root, adjoint);
    return load(s, group, x, w, full, adjoint);
  }
  // Computes node i in the loop, for a node of the primal or the adjoint half.   -> its register
  constexpr int compute(step& s, int group, int i, bool adjoint) {
    const node& v = b_.at(i);
    b_.count_flops(i, adjoint);
    int x[3] = {0, 0, 0};
    for (int j = 0; j < 3; ++j)
      if (v.in[j] >= 0) x[j] = read(s, group, v.in[j], v.s, adjoint);
    const dtype operands = v.o == op::where ? v.t : b_.at(v.in[0]).t;
    int imm = 0;
    if (v.o == op::custom_elementwise) {
      imm = r_.customs - s.custom0;
      r_.custom[r_.customs++] = v.custom;
    }
    if (v.o == op::cast || v.o == op::convert) imm = static_cast<int>(v.t);
    reg_[i] = new_register(v.t);
    made_in_[i] = group;
    r_.code[r_.codes++] = instruction(v.o, operands, reg_[i], x[0], x[1], x[2], imm).word();
    return reg_[i];
  }

public:
  // ---- of the current group
  vec<loop_load> loads;
  vec<loop_result> results;

  constexpr explicit loop_code(plan_builder<N, O>& b) : b_(b) {}

  // Writes the code of s, and its loads.
  constexpr void write_code(step& s, int group) {
    floats_ = ints_ = bools_ = wide_ints_ = 0;
    loads.clear();
    results.clear();
    s.adjoint = true;
    for (int k = b_.first[group]; k < b_.first[group + 1]; ++k)
      s.adjoint = s.adjoint && b_.at(b_.member[k]).adjoint;
    for (int k = b_.first[group]; k < b_.first[group + 1]; ++k) {
      const int i = b_.member[k];
      const node& v = b_.at(i);
      s.node = i;
      if (is_reduction(v)) {
        b_.count_flops(i, v.adjoint);
        results.push_back({i, read(s, group, v.in[0], b_.at(v.in[0]).s, v.adjoint)});
        continue;
      }
      compute(s, group, i, v.adjoint);
      if (g_.stored[i]) results.push_back({i, reg_[i]});
    }
    s.codes = r_.codes - s.code0;
    s.constants = r_.constants - s.constant0;
    s.extents = r_.extents - s.extent0;
    s.customs = r_.customs - s.custom0;
  }
  // Sets the access of each load: how it follows the innermost axis.   @pre the axes are final
  constexpr void access_kinds(const step& s) {
    for (int k = s.code0; k < s.code0 + s.codes; ++k) {
      instruction q(r_.code[k]);
      if (q.o != op::input) continue;
      const slot& x = r_.slot_[s.slot0 + q.a];
      const extent_t inner = s.axes > 0 ? x.stride[s.axes - 1] : 0;
      access a = x.at.where == place::none ? access::index
                 : inner == 0              ? access::splat
                 : inner == 1              ? access::dense
                                           : access::strided;
      q.imm = static_cast<int>(a);
      r_.code[k] = q.word();
    }
  }
};

} // namespace tapeless::detail
