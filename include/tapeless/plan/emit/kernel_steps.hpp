// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Kernel steps: steps of one op, such as a sparse product, a convolution, a matmul, a pool or a selection.
#pragma once
#include "../../ops/all.hpp"
#include "../analysis/batch_tiles.hpp"
#include "../analysis/densify.hpp"
#include "../ir/step.hpp"
#include "../schedule/csr_sweep_masks.hpp"
#include "../schedule/csr_sweeps.hpp"
#include "../schedule/fusion_groups.hpp"
#include "../schedule/product_masks.hpp"
#include "plan_builder.hpp"
#include "sparse_lines.hpp"

namespace tapeless::detail {

template <int N, int O> class kernel_steps {
  plan_builder<N, O>& b_;
  plan<most_of_plan(N, O)>& r_ = b_.made;
  const grouping& g_ = b_.grouped;

  constexpr step& begin(int i) {
    const node& v = b_.at(i);
    step& s = r_.step_[r_.steps++];
    s.o = v.o;
    s.adjoint = v.adjoint;
    s.node = i;
    s.attr = v.attr;
    s.at_load = g_.loaded[i] != 0;
    s.slot0 = r_.slots;
    return s;
  }

  // A slot of node x, whose block is that of node root: it is dense by construction.
  constexpr slot& add_operand(int root, int x) { return b_.add_slot(b_.home[root], b_.at(x).t, b_.at(x).s); }
  // s joins the open sweep if it may and can. If it does not, the sweep ends.
  constexpr void join(step& s, int group, bool may) {
    s.sweep = may && b_.follows(s) && b_.open_sweep.joins(r_, s, {});
    if (!s.sweep) b_.end_sweep(group);
    for (int k = s.slot0; k < r_.slots; ++k) b_.open_sweep.slots.push_back({k, r_.slot_[k].s, s.adjoint});
  }

  // ---- lines of sparse matrices, for a back end that reads these
  // 2 * pattern + (columns ? 1 : 0) -> the first slot that its step has made: crosses, ends, entries
  vec<int> lines_;
  vec<int>
      sorted_; // 2 * values -> the slot of the same in the order of columns; behind it the pattern these are of
  // Step s of node i has its operands. Lines that are made come instead of its first pattern, and their entries last; or none,
  // where the values are in their order.
  constexpr void read_lines(step& s, int i, int made) {
    if (made < 0) return;
    const node& v = b_.at(i);
    for (const int k : {0, 1}) r_.slot_[s.slot0 + k] = r_.slot_[made + k];
    if (v.o == op::spmm && (v.attr & spmm_transposed) != 0 && v.in[1] >= 0 && !sorted_.empty() &&
        sorted_[2 * v.in[1] + 1] == v.in[0]) {
      r_.slot_[s.slot0 + 2] = r_.slot_[sorted_[2 * v.in[1]]];
      s.attr &= ~wide_row_ends;
      return;
    }
    s.attr |= in_lines;
    ++s.loads;
    r_.slot_[r_.slots++] = r_.slot_[made + 2];
  }

  // ---- steps of sparse matrices
  // The number of slots kept free for the masks of a CSR sweep, which are found when it ends: one for each op that may
  // make or read a mask, unless nodes of later groups need the room.
  int most_masks_ = 0;
  constexpr int room_for_masks(int group) const {
    const int later = b_.member.size() - b_.first[group + 1];
    const int spare = most_slots_of_node * (N - later) - r_.slots;
    return most_masks_ < spare ? most_masks_ : spare > 0 ? spare : 0;
  }
  constexpr void emit_sparse(int i, int group) {
    const node& v = b_.at(i);
    const int lines = emit_lines(i, group);
    step& s = begin(i);
    s.attr2 = b_.at(v.in[0]).attr; // the columns of the matrix
    if (b_.at(b_.at(v.in[0]).in[1]).t == dtype::i64) s.attr |= wide_row_ends;
    if (v.s.rank == 2 && operand_of_rows(v) == 2 && is_zero_elsewhere(b_.at(v.in[2])))
      s.attr |= skips_zero_rows;
    s.wide = v.t == dtype::f64;
    const int of_rows = operand_of_rows(v);
    const auto add = [&](int x, bool has_rows) {
      add_operand(x == i ? i : strides_through_views(b_.source.nodes, x).root, x).stride[0] =
          has_rows ? 1 : 0;
    };
    for (const int k : {0, 1}) add(b_.at(v.in[0]).in[k], false);
    for (const int k : {1, 2})
      if (v.in[k] >= 0) add(v.in[k], k == of_rows);
    s.loads = r_.slots - s.slot0;
    s.stores = 1;
    read_lines(s, i, lines);
    add(i, makes_rows(v));
    join(s, group, b_.open_sweep.takes_product(b_.source.nodes, i, r_.steps - 1));
    s.partial0 = r_.slots;
    if ((v.attr & spmm_transposed) != 0 && v.o == op::spmm &&
        lines < 0) { // sums over rows: each chunk has partial ones
      const extent_t chunks = v.s.rank > 1 ? max_row_chunks_of_matrices : max_row_chunks;
      // With room for long sums. In a sweep the sums alternate in memory with the vector that is multiplied, which
      // needs room for a copy of it in each chunk.
      const extent_t copies = (v.s.rank == 1 && s.sweep ? 4 : 3) * chunks;
      b_.add_slot(b_.allocate(numel(v.s), copies * size_of(v.t), group), v.t, v.s);
      s.partials = 1;
    }
    if (b_.may().sorts && makes_rows(v) && v.s.rank == 1) {
      if (b_.of_masks.always.empty()) b_.of_masks = mask_facts_of(b_.source, g_);
      if (const row_mask m = mask_of_product({b_.source.nodes, N, b_.source.outputs, O}, g_, b_.of_masks, i,
                                             group, b_.base_in_place);
          m.node >= 0) {
        s.mask = r_.slots - s.slot0;
        s.masks = 1;
        s.passes_where_zero = m.passes_where_zero ? 1 : 0;
        if (b_.at(m.node).t == dtype::boolean) s.attr |= bool_mask;
        add_operand(m.node, m.node);
      }
    }
    const int room =
        s.sweep || !b_.may().sweeps || !opens_csr_sweep(b_.source.nodes, i) ? 0 : room_for_masks(group);
    r_.slots += room;
    b_.count_flops(i, v.adjoint);
    ++b_.part_of(s.adjoint).steps;
    if (!s.sweep) b_.open_sweep.open_csr_sweep(b_.source.nodes, i, group, r_.steps, room);
  }

  // A convolution or a pool may join a sweep over batch tiles. end_sweep places its partial gradients of weights.
  constexpr void put_in_sweep(int i, int group, step& s) {
    const node& v = b_.at(i);
    const batch_tiling of = b_.tiling(i);
    if (of.n == 0) {
      for (int k = s.slot0; k < r_.slots; ++k) b_.count_bytes(s.adjoint, r_.slot_[k].s, r_.slot_[k].t);
      return;
    }
    s.axes = 2;
    s.loop[0] = of.n;
    s.loop[1] = of.row;
    for (int k = s.slot0; k < r_.slots; ++k)
      if (k == s.slot0 + s.loads ? writes_batch_rows(v.o) : reads_batch_rows(v.o, k - s.slot0))
        r_.slot_[k].stride[0] = numel(r_.slot_[k].s) / of.n;
    join(s, group, b_.open_sweep.takes_batch(v.o, of.n, r_.steps - 1));
    if (s.sweep) b_.open_sweep.join_batch(of);
    else b_.open_sweep.open_batch(of, r_.steps);
    if (v.o != op::conv_wgrad) return;
    s.partial0 = r_.slots;
    b_.add_slot({}, v.t, v.s);
    s.partials = 1;
  }

  // The slots that a kernel needs besides operands and result.
  constexpr void add_scratch(int i, step& s) {
    const node& v = b_.at(i);
    const auto scratch = [&](extent_t n) { // int32
      b_.add_slot(b_.allocate(n, size_of(dtype::i32), g_.of[i]), dtype::i32, shape{1, {n}});
      ++s.partials;
    };
    if (v.o == op::select && attributes_of_select(v).segments > 0) {
      scratch(attributes_of_select(v).segments + 1); // where each segment begins
      scratch(b_.at(v.in[0]).s.d[0]);                // the rows by segment
    }
    const extent_t terms = is_scatter(v.o) ? numel(r_.slot_[s.slot0 + 1].s) : 0;
    const bool many = !is_static(terms) || terms > short_sum;
    if (b_.may().sorts) {
      if (many) { // the positions by their rows, a place for the sort, where each row ends
        scratch(terms);
        scratch(terms);
        scratch(v.s.d[v.attr]);
      }
      return;
    }
    // the lost parts of sums; for scatter_add also the hits of each row, a byte each
    if ((many && is_float(v.t) && v.o == op::scatter_add) || v.o == op::spgemm) {
      b_.add_slot(b_.allocate(numel(v.s), size_of(v.t) + 1, g_.of[i]), v.t, v.s);
      s.carries = 1;
    }
  }
  constexpr void emit_kernel(int i, int group) {
    const node& v = b_.at(i);
    const int lines = emit_lines(i, group);
    step& s = begin(i);
    s.attr2 = v.attr2;
    s.custom = v.custom;
    s.packs_ahead = !s.at_load && (v.o == op::conv_fprop || v.o == op::conv_dgrad || v.o == op::matmul) &&
                    g_.loaded[v.in[1]] != 0;
    const auto load = [&](int x) {
      const slot& q = add_operand(strides_through_views(b_.source.nodes, x).root, x);
      ++s.loads;
      // only these are read: the rows of a base that is added to in place, the entries of a pattern in a dense matrix
      const bool as_made = v.o == op::entries_of && x == v.in[1];
      if (!is_batch_tiled(v.o))
        b_.count_bytes(s.adjoint,
                       b_.is_in_place(i) && x == v.in[2] ? b_.at(v.in[0]).s
                       : as_made                         ? v.s
                                                         : q.s,
                       q.t);
    };
    const auto load_pattern = [&](int x) {
      for (const int k : {0, 1}) load(b_.at(x).in[k]);
    };
    for (const int x : v.in) {
      if (x < 0) continue;
      if (b_.at(x).o == op::pattern || b_.at(x).o == op::tiles) load_pattern(x);
      else if (b_.at(x).o == op::three_patterns)
        for (const int k : b_.at(x).in) load_pattern(k);
      else load(x);
    }
    read_lines(s, i, lines);
    add_operand(i, i);
    s.stores = 1;
    s.wide = v.t == dtype::f64 || r_.slot_[s.slot0].t == dtype::f64;
    s.bf16 = r_.slot_[s.slot0].t == dtype::bf16;
    r_.bf16 = r_.bf16 || s.bf16;
    add_scratch(i, s);
    if (is_batch_tiled(v.o)) put_in_sweep(i, group, s);
    else b_.count_bytes(s.adjoint, b_.is_in_place(i) ? b_.at(v.in[0]).s : v.s, v.t);
    b_.count_flops(i, v.adjoint);
    ++b_.part_of(s.adjoint).steps;
  }

public:
  constexpr explicit kernel_steps(plan_builder<N, O>& b) : b_(b) {
    for (const node& v : b_.source.nodes) {
      const kind k = rule(v.o).k;
      if ((k == kind::elementwise || k == kind::kernel) && !is_sparse(v.o) && most_masks_ < max_row_masks)
        ++most_masks_;
    }
  }
  // Makes the lines that node i reads, unless they are there. They stay as long as a step reads them.
  constexpr int emit_lines(int i, int group) {
    const lines_of_matrix of = lines_read(b_.source.nodes, i);
    if (!b_.may().sorts || of.pattern < 0) return -1;
    if (lines_.empty()) lines_ = vec<int>(2 * N, -1);
    int& made = lines_[2 * of.pattern + (of.columns ? 1 : 0)];
    if (made >= 0) return made;
    b_.end_sweep(group);
    const node& v = b_.at(of.pattern);
    const bool tiled = v.o == op::tiles, loaded = g_.loaded[of.pattern] != 0;
    int last = loaded ? g_.groups.size() : group;
    for (int k = 0; k < N && !loaded; ++k)
      if (g_.of[k] > last && lines_read(b_.source.nodes, k).is(of)) last = g_.of[k];
    step& s = begin(of.pattern);
    s.o = op::pattern;
    s.adjoint = b_.at(i).adjoint;
    s.wide = b_.at(i).t == dtype::f64;
    s.attr = (of.columns ? spmm_transposed : 0) | (tiled ? in_tiles : 0) |
             (b_.at(v.in[1]).t == dtype::i64 ? wide_row_ends : 0);
    s.attr2 = v.attr; // the columns of the matrix
    for (const int k : {0, 1}) add_operand(v.in[k], v.in[k]);
    s.loads = 2;
    s.stores = 1;
    made = r_.slots;
    for (int k = 0; k < (tiled ? 5 : 3); ++k) { // of a tiled matrix then the rows and columns of its entries
      const extent_t n = k != 1 ? nnz_of_pattern(v) : of.columns ? cols_of_pattern(v) : v.s.d[0];
      const int until = k < 3 || loaded ? last : group;
      b_.add_slot(b_.allocate(n, size_of(dtype::i32), until), dtype::i32, shape{1, {n}});
      b_.count_bytes(s.adjoint, shape{1, {n}}, dtype::i32);
    }
    s.partials = r_.slots - made - 1;
    ++b_.part_of(s.adjoint).steps;
    return made;
  }
  // What a load makes for node i: lines, and in their order the values, if these are loaded as they are.
  constexpr void emit_at_load(int i) {
    const lines_of_matrix of = lines_read(b_.source.nodes, i);
    if (of.pattern < 0 || g_.of[i] < 0 || g_.loaded[of.pattern] == 0) return;
    const int made = emit_lines(i, 0), x = b_.at(i).in[1];
    if (made < 0 || !of.columns || b_.at(i).o != op::spmm || x < 0 || b_.at(x).o != op::input ||
        g_.loaded[x] == 0 || numel(b_.at(x).s) > most_selected)
      return;
    if (sorted_.empty()) sorted_ = vec<int>(2 * N, -1);
    if (sorted_[2 * x] >= 0) return;
    step& s = begin(x);
    s.o = op::gather;
    s.attr = 0; // the axis
    s.loads = 2;
    s.stores = 1;
    add_operand(x, x);
    r_.slot_[r_.slots++] = r_.slot_[made + 2];
    sorted_[2 * x] = r_.slots;
    sorted_[2 * x + 1] = of.pattern;
    b_.add_slot(b_.allocate(b_.at(x), g_.groups.size()), b_.at(x).t, b_.at(x).s);
    ++b_.part_of(s.adjoint).steps;
  }
  // The step of node i, the one of its group.
  constexpr void emit(int i, int group) {
    if (is_sparse(b_.at(i).o)) emit_sparse(i, group);
    else emit_kernel(i, group);
  }
};

} // namespace tapeless::detail
