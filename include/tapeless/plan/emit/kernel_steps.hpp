// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Steps of one op: products of sparse matrices, convolutions, matmul, pools, selections, ...
#pragma once
#include "../../ops/all.hpp"
#include "../analysis/batch_tiles.hpp"
#include "../analysis/densify.hpp"
#include "../ir/step.hpp"
#include "../schedule/csr_sweeps.hpp"
#include "../schedule/fusion_groups.hpp"
#include "plan_builder.hpp"

namespace tapeless::detail {

template <int N, int O> class kernel_steps {
  plan_builder<N, O>& d_;
  plan<most_of_plan(N, O)>& r_ = d_.made;
  const grouping& g_ = d_.grouped;

  constexpr step& begin(int i) {
    const node& v = d_.at(i);
    step& s = r_.step_[r_.steps++];
    s.o = v.o;
    s.adjoint = v.adjoint;
    s.node = i;
    s.attr = v.attr;
    s.at_load = g_.loaded[i] != 0;
    s.slot0 = r_.slots;
    return s;
  }

  // ---- steps of sparse matrices
  // Slots for the masks of a sweep, which are found when it ends: for as many as there are ops that may make or read one, if
  // the nodes of the groups behind it have theirs.
  int most_masks_ = 0;
  constexpr int room_for_masks(int group) const {
    const int later = d_.member.size() - d_.first[group + 1];
    const int spare = most_slots_of_node * (N - later) - r_.slots;
    return most_masks_ < spare ? most_masks_ : spare > 0 ? spare : 0;
  }
  constexpr void emit_sparse(int i, int group) {
    const node& v = d_.at(i);
    step& s = begin(i);
    s.attr2 = d_.at(v.in[0]).attr; // the columns of the matrix
    if (v.s.rank == 2 && operand_of_rows(v) == 2 && is_zero_elsewhere(d_.at(v.in[2])))
      s.attr |= skips_zero_rows;
    s.wide = v.t == dtype::f64;
    const int of_rows = operand_of_rows(v);
    const auto add = [&](int x, bool has_rows) {
      slot& q = r_.slot_[r_.slots++];
      q.at = x == i ? d_.home[i]
                    : d_.home[strides_through_views(d_.source.nodes, x).root]; // dense by construction
      q.t = d_.at(x).t;
      q.s = d_.at(x).s;
      q.stride[0] = has_rows ? 1 : 0;
    };
    for (const int k : {0, 1}) add(d_.at(v.in[0]).in[k], false);
    for (const int k : {1, 2})
      if (v.in[k] >= 0) add(v.in[k], k == of_rows);
    s.loads = r_.slots - s.slot0;
    s.stores = 1;
    add(i, makes_rows(v));
    s.sweep = d_.follows(s) && d_.open_sweep.takes_product(d_.source.nodes, i, r_.steps - 1) &&
              d_.open_sweep.joins_whole(r_, s);
    if (!s.sweep) d_.end_sweep(group);
    for (int k = s.slot0; k < r_.slots; ++k) d_.open_sweep.slots.push_back({k, r_.slot_[k].s, v.adjoint});
    s.partial0 = r_.slots;
    if ((v.attr & spmm_transposed) != 0 && v.o == op::spmm) { // sums over rows: partial ones of the chunks
      slot q;
      q.t = v.t;
      q.s = v.s;
      // twice: in a sweep they alternate with the vector that another step multiplies
      const extent_t chunks = v.s.rank > 1 ? max_row_chunks_of_matrices : max_row_chunks;
      // and twice for long sums: see sweep_form
      const extent_t copies = (v.s.rank == 1 && s.sweep ? 4 : 3) * chunks;
      q.at = d_.allocate(names(numel(v.s)), d_.bytes_of(v, copies), group);
      r_.slot_[r_.slots++] = q;
      s.partials = 1;
    }
    const int room =
        s.sweep || !d_.may().sweeps || !opens_csr_sweep(d_.source.nodes, i) ? 0 : room_for_masks(group);
    r_.slots += room;
    d_.count_flops(i, v.adjoint);
    ++d_.part_of(s.adjoint).steps;
    if (!s.sweep) d_.open_sweep.open_csr_sweep(d_.source.nodes, i, group, r_.steps, room);
  }

  // A convolution or a pool that may be one of a strip of images. Sums of weights' gradients: see end_strip.
  constexpr void put_in_sweep(int i, int group, step& s) {
    const node& v = d_.at(i);
    const image_rows of = d_.images(i);
    if (of.n == 0) {
      for (int k = s.slot0; k < r_.slots; ++k) d_.count_bytes(s.adjoint, r_.slot_[k].s, r_.slot_[k].t);
      return;
    }
    s.axes = 2;
    s.loop[0] = of.n;
    s.loop[1] = of.row;
    for (int k = s.slot0; k < r_.slots; ++k)
      if (k == s.slot0 + s.loads ? writes_batch_rows(v.o) : reads_images(v.o, k - s.slot0))
        r_.slot_[k].stride[0] = numel(r_.slot_[k].s) / of.n;
    s.sweep = d_.follows(s) && d_.open_sweep.takes_images(v.o, of.n, r_.steps - 1) &&
              d_.open_sweep.joins_whole(r_, s);
    if (!s.sweep) d_.end_sweep(group);
    for (int k = s.slot0; k < r_.slots; ++k) d_.open_sweep.slots.push_back({k, r_.slot_[k].s, v.adjoint});
    if (s.sweep) d_.open_sweep.join_images(of);
    else d_.open_sweep.open_images(of, r_.steps);
    if (v.o != op::conv_wgrad) return;
    s.partial0 = r_.slots;
    slot& sums = r_.slot_[r_.slots++];
    sums.t = v.t;
    sums.s = v.s;
    s.partials = 1;
  }

  constexpr void emit_whole(int i, int group) {
    const node& v = d_.at(i);
    step& s = begin(i);
    s.attr2 = v.attr2;
    s.custom = v.custom;
    s.packs_ahead = !s.at_load && (v.o == op::conv_fprop || v.o == op::conv_dgrad || v.o == op::matmul) &&
                    g_.loaded[v.in[1]] != 0;
    const auto load = [&](int x) {
      slot& q = r_.slot_[r_.slots++];
      q.at = d_.home[strides_through_views(d_.source.nodes, x).root]; // dense by construction
      q.t = d_.at(x).t;
      q.s = d_.at(x).s;
      ++s.loads;
      // in place the rows of a base are read and written; of a dense matrix the entries of a pattern
      const bool as_made = v.o == op::entries_of && x == v.in[1];
      if (!is_batch_tiled(v.o))
        d_.count_bytes(s.adjoint,
                       d_.is_in_place(i) && x == v.in[2] ? d_.at(v.in[0]).s
                       : as_made                         ? v.s
                                                         : q.s,
                       q.t);
    };
    const auto load_pattern = [&](int x) {
      for (const int k : {0, 1}) load(d_.at(x).in[k]);
    };
    for (const int x : v.in) {
      if (x < 0) continue;
      if (d_.at(x).o == op::pattern || d_.at(x).o == op::tiles) load_pattern(x);
      else if (d_.at(x).o == op::three_patterns)
        for (const int k : d_.at(x).in) load_pattern(k);
      else load(x);
    }
    slot& y = r_.slot_[r_.slots++];
    y.at = d_.home[i];
    y.t = v.t;
    y.s = v.s;
    s.stores = 1;
    s.wide = v.t == dtype::f64 || r_.slot_[s.slot0].t == dtype::f64;
    s.bf16 = r_.slot_[s.slot0].t == dtype::bf16;
    r_.bf16 = r_.bf16 || s.bf16;
    if (v.o == op::select && attributes_of_select(v).segments > 0) {
      const auto scratch = [&](extent_t n) { // int32
        node q;
        q.t = dtype::i32;
        q.s = shape{1, {n}};
        slot& z = r_.slot_[r_.slots++];
        z.t = q.t;
        z.s = q.s;
        z.at = d_.allocate(q, g_.of[i]);
        ++s.partials;
      };
      scratch(attributes_of_select(v).segments + 1); // where each segment begins
      scratch(d_.at(v.in[0]).s.d[0]);                // the rows by segment
    }
    const extent_t terms = v.o == op::scatter_add ? numel(r_.slot_[s.slot0 + 1].s) : 0;
    const bool scatters = v.o == op::scatter_add && is_float(v.t) && (!is_static(terms) || terms > short_sum);
    if (scatters || v.o == op::spgemm) { // what sums have lost; of scatter_add hits of rows too, a byte each
      const extent_t n = numel(v.s), bytes = coefficient(n) * (size_of(v.t) + 1);
      slot q;
      q.t = v.t;
      q.s = v.s;
      q.at = d_.allocate(names(n), is_static(n) ? aligned(bytes) : (bytes + 7) / 8 * 8, g_.of[i]);
      r_.slot_[r_.slots++] = q;
      s.carries = 1;
    }
    if (is_batch_tiled(v.o)) put_in_sweep(i, group, s);
    else d_.count_bytes(s.adjoint, d_.is_in_place(i) ? d_.at(v.in[0]).s : v.s, v.t);
    d_.count_flops(i, v.adjoint);
    ++d_.part_of(s.adjoint).steps;
  }

public:
  constexpr explicit kernel_steps(plan_builder<N, O>& d) : d_(d) {
    for (const node& v : d_.source.nodes) {
      const kind k = rule(v.o).k;
      if ((k == kind::elementwise || k == kind::kernel) && !is_sparse(v.o) && most_masks_ < max_row_masks)
        ++most_masks_;
    }
  }
  // The step of node i, the one of its group.
  constexpr void emit(int i, int group) {
    if (is_sparse(d_.at(i).o)) emit_sparse(i, group);
    else emit_whole(i, group);
  }
};

} // namespace tapeless::detail
