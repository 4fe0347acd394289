// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Steps that are loops: the members of a group become words of code over registers, its loads and stores slots.
#pragma once
#include "../analysis/strided_view.hpp"
#include "../ir/step.hpp"
#include "../schedule/fusion_groups.hpp"
#include "../schedule/loop_order.hpp"
#include "plan_builder.hpp"

namespace tapeless::detail {

template <int N, int O> class fused_steps {
  plan_builder<N, O>& d_;
  plan<most_of_plan(N, O)>& r_ = d_.made;
  const grouping& g_ = d_.grouped;
  vec<int> reg_{N, no_node}, made_in_{N, no_node}; // a node's register in the group that computed it last
  // ---- of the group at hand
  int floats_ = 0, ints_ = 0, bools_ = 0;
  struct loaded { // what a slot of it reads, and whether only the adjoint does
    shape visited;
    bool adjoint;
  };
  vec<loaded> loads_;
  struct computed {
    int node, reg;
  };
  vec<computed> results_;

  constexpr int new_register(dtype t) {
    return t == dtype::boolean ? bools_++ : t == dtype::i32 ? ints_++ : floats_++;
  }

  // Strides of a group's loop: those of the axes other than 1, in the loop's order.
  constexpr void loop_strides(int group, const shape& s, const extent_t (&from)[max_rank],
                              extent_t (&to)[max_rank]) const {
    int k = 0;
    for (int i = 0; i < s.rank; ++i)
      if (s.d[i] != 1) to[k++] = from[i];
    outermost(to, g_.groups[group].outermost);
  }

  // the instruction that has this word (but for its destination), or a new one
  constexpr int emit_once(const step& s, instruction q, dtype result) {
    for (int k = s.code0; k < r_.codes; ++k) {
      instruction e(r_.code[k]);
      if (e.o == q.o && e.a == q.a && e.t == q.t && e.imm == q.imm) return e.dst;
    }
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

  // The register that holds operand x of a node whose loop has the shape `full` (with its axes of extent 1).
  constexpr int read(step& s, int group, int x, const shape& full, bool adjoint) {
    const int u = g_.through[x];
    if (rule(d_.at(u).o).k == kind::elementwise && g_.loop[u] == g_.groups[group].it) {
      if (made_in_[u] == group) return reg_[u];
      if (!g_.stored[u]) return compute(s, group, u, adjoint);
    }
    const strided_view w = strides_through_views(d_.source.nodes, x);
    const node& root = d_.at(w.root);
    if (root.o == op::constant) return constant(s, root.attr, root.t);
    if (root.o == op::extent) return named_extent(s, static_cast<extent_t>(root.attr), root.t);
    if (g_.inlined[w.root] != 0)
      return made_in_[w.root] == group ? reg_[w.root] : compute(s, group, w.root, adjoint);
    slot q;
    q.at = root.o == op::iota ? location{} : d_.home[w.root];
    q.t = root.t;
    q.offset[0] = w.offset[0];
    q.offset[1] = w.offset[1];
    extent_t aligned_strides[max_rank]{};
    for (int i = 0; i < full.rank; ++i) {
      const int k = i - (full.rank - d_.at(x).s.rank);
      aligned_strides[i] = k < 0 || d_.at(x).s.d[k] == 1 ? 0 : w.stride[k];
    }
    loop_strides(group, full, aligned_strides, q.stride);
    int k = s.slot0;
    while (k < r_.slots && !same_slot(r_.slot_[k], q)) ++k;
    if (k == r_.slots) {
      r_.slot_[r_.slots++] = q;
      ++s.loads;
      loads_.push_back({root.o == op::iota ? shape{1, {0}} : visited(d_.loop_of(group), q.stride), true});
    }
    loaded& l = loads_[k - s.slot0];
    l.adjoint = l.adjoint && adjoint;
    return emit_once(s, {op::input, root.t, 0, k - s.slot0}, root.t);
  }
  // The register of node i, computed in this group for nodes of the primal or the adjoint half.
  constexpr int compute(step& s, int group, int i, bool adjoint) {
    const node& v = d_.at(i);
    d_.count_flops(i, adjoint);
    int x[3] = {0, 0, 0};
    for (int j = 0; j < 3; ++j)
      if (v.in[j] >= 0) x[j] = read(s, group, v.in[j], v.s, adjoint);
    const dtype operands = v.o == op::where ? v.t : d_.at(v.in[0]).t;
    int imm = 0;
    if (v.o == op::custom_elementwise) {
      imm = r_.customs - s.custom0;
      r_.custom[r_.customs++] = v.custom;
    }
    if (v.o == op::cast) imm = static_cast<int>(v.t);
    reg_[i] = new_register(v.t);
    made_in_[i] = group;
    r_.code[r_.codes++] = instruction(v.o, operands, reg_[i], x[0], x[1], x[2], imm).word();
    return reg_[i];
  }
  static constexpr bool same_slot(const slot& a, const slot& b) {
    for (int i = 0; i < max_rank; ++i)
      if (a.stride[i] != b.stride[i]) return false;
    return plan_builder<N, O>::same_start(a, b);
  }

  static constexpr shape visited(shape it, const extent_t (&stride)[max_rank]) {
    for (int a = 0; a < it.rank; ++a)
      if (stride[a] == 0) it.d[a] = 1;
    return it;
  }

  // more than one chunk is possible
  static constexpr bool may_split(const step& s) {
    extent_t n = 1;
    for (int a = 0; a < s.axes; ++a) {
      if (!is_static(s.loop[a])) return true;
      n *= s.loop[a];
    }
    return s.loop[0] > 0 && chunks_of(s.loop[0], n / s.loop[0], s.axes == 1).count > 1;
  }

  // Neighbouring axes that every slot walks as one become one; the rows of an epilogue or a strip stay rows.
  constexpr void merge_axes(step& s, int group, const shape& it) {
    const int n = s.loads + s.stores;
    s.axes = it.rank;
    for (int a = 0; a < it.rank; ++a) s.loop[a] = it.d[a];
    const bool keeps_rows = s.epilogue || s.sweep || d_.leads_images(group);
    for (int a = s.axes - 2; a >= (keeps_rows ? 1 : 0); --a) {
      bool one = multipliable(s.loop[a], s.loop[a + 1]);
      for (int k = 0; k < n && one; ++k) {
        const slot& q = r_.slot_[s.slot0 + k];
        one = multipliable(q.stride[a + 1], s.loop[a + 1]) &&
              q.stride[a] == times(q.stride[a + 1], s.loop[a + 1]);
      }
      if (!one) continue;
      s.loop[a] = times(s.loop[a], s.loop[a + 1]);
      for (int k = 0; k < n; ++k) r_.slot_[s.slot0 + k].stride[a] = r_.slot_[s.slot0 + k].stride[a + 1];
      for (int b = a + 1; b + 1 < s.axes; ++b) {
        s.loop[b] = s.loop[b + 1];
        for (int k = 0; k < n; ++k) r_.slot_[s.slot0 + k].stride[b] = r_.slot_[s.slot0 + k].stride[b + 1];
      }
      --s.axes;
    }
    if (s.axes == 0) { // a scalar is a loop of one
      s.axes = 1;
      s.loop[0] = 1;
    }
  }

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

  static constexpr bool reduces(const node& v) { return rule(v.o).k == kind::reduction; }
  constexpr void write_code(step& s, int group) {
    floats_ = ints_ = bools_ = 0;
    loads_.clear();
    results_.clear();
    s.adjoint = true;
    for (int k = d_.first[group]; k < d_.first[group + 1]; ++k)
      s.adjoint = s.adjoint && d_.at(d_.member[k]).adjoint;
    for (int k = d_.first[group]; k < d_.first[group + 1]; ++k) {
      const int i = d_.member[k];
      const node& v = d_.at(i);
      s.node = i;
      if (reduces(v)) {
        d_.count_flops(i, v.adjoint);
        results_.push_back({i, read(s, group, v.in[0], d_.at(v.in[0]).s, v.adjoint)});
        continue;
      }
      compute(s, group, i, v.adjoint);
      if (g_.stored[i]) results_.push_back({i, reg_[i]});
    }
    s.codes = r_.codes - s.code0;
    s.constants = r_.constants - s.constant0;
    s.extents = r_.extents - s.extent0;
    s.customs = r_.customs - s.custom0;
  }
  constexpr void place_results(step& s, int group) {
    for (const computed& y : results_) {
      const node& v = d_.at(y.node);
      slot q;
      q.at = d_.home[y.node];
      q.t = v.t;
      const shape& full = reduces(v) ? d_.at(v.in[0]).s : v.s;
      extent_t own[max_rank]{};
      strides(v.s, own);
      for (int i = 0; i < full.rank; ++i)
        if (reduces(v) && ((v.attr >> i) & 1u)) own[i] = 0;
      loop_strides(group, full, own, q.stride);
      r_.slot_[r_.slots++] = q;
    }
    s.stores = static_cast<int>(results_.size());
  }
  // Is s an epilogue of the step before it, a step of the open strip, or neither?
  constexpr void join(step& s, int group, const shape& it) {
    const bool together = d_.follows(s);
    const bool joins = together && d_.open_sweep.joins(r_, s, it);
    s.epilogue = together && d_.may().epilogues && !(joins && d_.open_sweep.images) &&
                 is_epilogue(r_, d_.source.nodes, d_.home, s, it);
    s.fuses_producer = s.epilogue && g_.last[r_.step_[r_.steps - 2].node] <= group;
    s.sweep = joins && !s.epilogue;
    if (!s.sweep) d_.end_sweep(group);
  }
  constexpr void write_stores(const step& s) {
    for (int k = 0; k < results_.size(); ++k) {
      const node& v = d_.at(results_[k].node);
      const slot& q = r_.slot_[s.slot0 + s.loads + k];
      store y;
      y.reg = results_[k].reg;
      y.slot = s.loads + k;
      y.t = v.t;
      y.is_max = v.o == op::max_reduce;
      if (reduces(v))
        for (int a = 0; a < s.axes; ++a)
          if (q.stride[a] == 0) y.reduced |= 1u << a;
      const bool inner = ((y.reduced >> (s.axes - 1)) & 1u);
      const bool all = y.reduced == (1u << s.axes) - 1u;
      y.k = y.reduced == 0 ? store_kind::dense
            : all          ? store_kind::total
            : inner        ? store_kind::row
                           : store_kind::column;
      y.splits = (y.reduced & 1u) && (s.sweep || may_split(s)); // a strip is cut as its first step
      y.carries = carries(s, y);
      r_.store_[r_.stores++] = y.word();
      d_.open_sweep.slots.push_back({s.slot0 + y.slot, v.s, v.adjoint});
    }
    for (int k = 0; k < loads_.size(); ++k)
      d_.open_sweep.slots.push_back({s.slot0 + k, loads_[k].visited, loads_[k].adjoint});
  }
  // Partial results of the chunks live for this step only.
  constexpr void place_partials(step& s, int group) {
    s.partial0 = r_.slots;
    for (int k = 0; k < s.stores && d_.may().chunks > 0; ++k) {
      if (!store(r_.store_[s.store0 + k]).splits) continue;
      const node& v = d_.at(results_[k].node);
      slot q;
      q.t = v.t;
      q.s = v.s;
      q.at = d_.allocate(names(numel(v.s)), d_.may().chunks * d_.bytes_of(v), group);
      r_.slot_[r_.slots++] = q;
      ++s.partials;
    }
  }

  // Where the sums of y over the first axis that it reduces, and the axes behind it, are kept.
  constexpr extent_t sums_at_once(const step& s, const store& y) const {
    extent_t n = 1;
    for (int a = 0; a < s.axes; ++a)
      if ((y.reduced & ((2u << a) - 1u)) != 0 && ((y.reduced >> a) & 1u) == 0) n = times(n, s.loop[a]);
    return n;
  }
  // Are terms added in outer loops, or in call after call of the kernel, so many that a chain of them is too long?
  static constexpr bool carries(const step& s, const store& y) {
    if (y.is_max || y.k == store_kind::dense) return false;
    extent_t n = 1, most = short_sum;
    for (int a = 0; a < s.axes; ++a) {
      const bool in_row = a == s.axes - 1 && y.k == store_kind::row;
      if (((y.reduced >> a) & 1u) == 0 || in_row) continue;
      if (!is_static(s.loop[a])) return true;
      n *= s.loop[a];
    }
    if (y.k == store_kind::total) most = 4096; // of a call are added in lanes
    return n > most;
  }
  constexpr void place_carries(step& s, int group) {
    for (int k = 0; k < s.stores; ++k) {
      const store y(r_.store_[s.store0 + k]);
      if (!y.carries) continue;
      const extent_t n = sums_at_once(s, y), copies = 2 * (s.sweep || may_split(s) ? max_chunks : 1);
      const extent_t bytes = copies * coefficient(n) * size_of(y.t);
      slot q;
      q.t = y.t;
      q.s = shape{1, {n}};
      q.at = d_.allocate(names(n), is_static(n) ? aligned(bytes) : (bytes + 7) / 8 * 8, group);
      r_.slot_[r_.slots++] = q;
      ++s.carries;
    }
  }

public:
  constexpr explicit fused_steps(plan_builder<N, O>& d) : d_(d) {}
  constexpr void emit(int group) {
    step& s = r_.step_[r_.steps++];
    s.fused = true;
    s.wide = g_.groups[group].wide;
    s.at_load = g_.groups[group].loaded;
    s.code0 = r_.codes;
    s.constant0 = r_.constants;
    s.slot0 = r_.slots;
    s.store0 = r_.stores;
    s.extent0 = r_.extents;
    s.custom0 = r_.customs;
    const shape it = d_.loop_of(group);
    write_code(s, group);
    place_results(s, group);
    join(s, group, it);
    merge_axes(s, group, it);
    write_stores(s);
    place_partials(s, group);
    place_carries(s, group);
    access_kinds(s);
    ++d_.part_of(s.adjoint).steps;
    if (!s.sweep) d_.open_sweep.open(s, it, r_.steps);
  }
};

} // namespace tapeless::detail
