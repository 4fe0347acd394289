// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// plan_builder: the state of make_plan: groups, the location of every value, the steps emitted so far, and the sweep
// that is still open. make_plan.hpp goes through the groups; loop_steps.hpp and kernel_steps.hpp append their steps.
#pragma once
#include "../../expr/program.hpp"
#include "../../ops/all.hpp"
#include "../analysis/batch_tiles.hpp"
#include "../ir/step.hpp"
#include "../schedule/csr_sweep_masks.hpp"
#include "../schedule/fuse_loops.hpp"
#include "../schedule/fusion_groups.hpp"
#include "../schedule/loop_order.hpp"
#include "../schedule/sweep.hpp"

namespace tapeless::detail {

// Bytes of n elements. Per unit of a named extent the alignment of the widest element is enough: no space is lost
// between rows.
constexpr extent_t bytes_of(extent_t n, extent_t bytes_each) {
  const extent_t bytes = coefficient(n) * bytes_each;
  return is_static(n) ? aligned(bytes) : (bytes + 7) / 8 * 8;
}
// Do two slots begin at the same element?
constexpr bool same_start(const slot& a, const slot& b) {
  return a.t == b.t && a.offset[0] == b.offset[0] && a.offset[1] == b.offset[1] && a.at == b.at;
}

template <int N, int O> struct plan_builder {
  const program<N, O>& source;
  plan<most_of_plan(N, O)> made{};
  grouping grouped;
  arena_layout arena;
  vec<location> home{N, location{}}; // of each node's value
  vec<int> member, first;            // nodes of each group, in order
  vec<int> base_in_place; // node -> the base that a scatter_add adds to in place; empty: no node does
  sweep open_sweep;
  mask_facts of_masks; // made with the first masks
  std::uint64_t counted_names = 0;

  constexpr plan_builder(const program<N, O>& p, int loaded_leaves, const plan_rules& may)
      : source(p), grouped(make_groups(p, loaded_leaves)), arena(grouped.groups.size()) {
    open_sweep.may = may;
    for (const node& v : source.nodes)
      if (has_data_dependent_rows(v)) counted_names |= set_of_names(v.s.d[0]);
    order_members();
  }

  constexpr const plan_rules& may() const { return open_sweep.may; }
  constexpr const node& at(int i) const { return source.nodes[i]; }
  // A place for n elements that is free again after group `last`.
  constexpr location allocate(extent_t n, extent_t bytes_each, int last) {
    return place_in(names(n), bytes_of(n, bytes_each), last);
  }
  constexpr location allocate(const node& v, int last) { return allocate(numel(v.s), size_of(v.t), last); }
  // One for `count` values of v, each of which is aligned.
  constexpr location allocate_copies(extent_t count, const node& v, int last) {
    return place_in(names(numel(v.s)), count * bytes_of(numel(v.s), size_of(v.t)), last);
  }

  constexpr slot& add_slot(const location& at, dtype t, const shape& s) {
    slot& q = made.slot_[made.slots++];
    q.at = at;
    q.t = t;
    q.s = s;
    return q;
  }

  constexpr cost_part& part_of(bool adjoint) { return adjoint ? made.cost.adjoint : made.cost.primal; }
  constexpr void count_bytes(bool adjoint, const shape& x, dtype t) {
    const count c(static_cast<double>(size_of(t)), x);
    part_of(adjoint).bytes.add(c.c, c.names);
  }
  constexpr void count_flops(int i, bool adjoint) {
    const node& v = at(i);
    shape x[3]{};
    for (int k = 0; k < 3; ++k)
      if (v.in[k] >= 0) x[k] = at(v.in[k]).s;
    const count c = rule(v.o).flops(v, x);
    part_of(adjoint).flops.add(c.c, c.names);
  }

  constexpr bool is_in_place(int i) const { return !base_in_place.empty() && base_in_place[i] >= 0; }
  constexpr batch_tiling tiling(int i) const {
    return grouped.loaded[i] == 0 ? batch_tiling_of(source.nodes, i) : batch_tiling{};
  }
  // The loop of a fused group.
  constexpr shape loop_of(int group) const {
    return with_outermost(grouped.groups[group].it, grouped.groups[group].outermost);
  }
  // Does the loop of a fused group open a sweep that a convolution or pool joins? All loops up to that step must be over
  // its images, and this loop must be cut into at least as many chunks as that step would be.
  constexpr bool opens_batch_sweep(int group) const {
    const int end =
        grouped.groups.size() < group + batch_sweep_steps ? grouped.groups.size() : group + batch_sweep_steps;
    const shape it = loop_of(group);
    if (it.rank == 0 || !rows_worth_a_sweep(it)) return false;
    for (int g = group; g < end && grouped.groups[g].loaded == grouped.groups[group].loaded; ++g) {
      if (!grouped.groups[g].fused) {
        const batch_tiling of = first[g] < first[g + 1] ? tiling(member[first[g]]) : batch_tiling{};
        const auto chunk = [&](extent_t row) { return chunks_of(of.n, row, false).size; };
        return of.n == it.d[0] && chunk(numel(it) / of.n) <= chunk(of.row);
      }
      if (loop_of(g).rank == 0 || loop_of(g).d[0] != it.d[0]) return false;
    }
    return false;
  }
  // Is a name of e that of a selection that the run counts?
  constexpr bool is_counted(extent_t e) const { return (set_of_names(e) & counted_names) != 0; }
  // Do step s and the one before it both run at a load, or both in a run?
  constexpr bool follows(const step& s) const {
    return made.steps > 1 && made.step_[made.steps - 2].at_load == s.at_load;
  }

  // The sweep ends before `group`: its values get their places.
  constexpr void end_sweep(int group) {
    if (open_sweep.slots.empty()) return;
    const extent_t scratch =
        open_sweep.settle(source.nodes, group, [&](const sweep::value& v, const location& within) {
          home[v.node] = within.where == place::sweep ? within : allocate(at(v.node), v.last);
        });
    if (scratch > made.sweep_bytes) made.sweep_bytes = scratch;
    const auto is_member = [&](int k) {
      return k < made.steps && (k == open_sweep.begin || made.step_[k].sweep);
    };
    for (int k = open_sweep.begin; open_sweep.batch_tiles && is_member(k); ++k) { // sums of chunks of images
      step& s = made.step_[k];
      if (s.o != op::conv_wgrad || s.fused) continue;
      if (!is_member(open_sweep.begin + 1)) s.partials = 0;
      else made.slot_[s.partial0].at = allocate_copies(2 * max_chunks, at(s.node), group);
    }
    if (open_sweep.pattern >= 0 && open_sweep.rows != 0) mask_rows(group);
    else made.step_[open_sweep.begin].at_once = open_sweep.at_once();
    for (int k = made.step_[open_sweep.begin].slot0; k < made.slots; ++k)
      if (location& l = made.slot_[k].at; sweep::is_unsettled(l)) l = home[l.index];
    for (int k = 0; k < open_sweep.slots.size(); ++k) { // memory traffic: slots that are not in cache
      const sweep::traffic& x = open_sweep.slots[k];
      const slot& q = made.slot_[x.slot];
      bool in_cache = q.at.where == place::sweep;
      for (int j = 0; j < k && !in_cache; ++j) {
        const slot& before = made.slot_[open_sweep.slots[j].slot];
        in_cache = before.stride[0] == q.stride[0] && same_start(before, q) &&
                   numel(open_sweep.slots[j].visited) == numel(x.visited);
      }
      if (!in_cache) count_bytes(x.adjoint, x.visited, q.t);
    }
    open_sweep.slots.clear();
  }

private:
  constexpr location place_in(extent_t names, extent_t bytes, int last) {
    const int part = arena.part_of(names);
    return {place::arena, part, arena.take(part, bytes, last)};
  }
  constexpr void order_members() {
    const int groups = grouped.groups.size();
    first = vec<int>(groups + 1, 0);
    int count = 0;
    for (int i = 0; i < N; ++i)
      if (grouped.of[i] >= 0) {
        ++first[grouped.of[i] + 1];
        ++count;
      }
    for (int k = 0; k < groups; ++k) first[k + 1] += first[k];
    member = vec<int>(count, 0);
    vec<int> next = first;
    for (int i = 0; i < N; ++i)
      if (grouped.of[i] >= 0) member[next[grouped.of[i]]++] = i;
  }
  // Finds the masks of the CSR sweep that ends before `group`. They say which rows it visits.
  constexpr void mask_rows(int group) {
    if (open_sweep.mask_room == 0) return;
    if (of_masks.always.empty()) of_masks = mask_facts_of(source, grouped);
    const vec<row_mask> masks = masks_of_csr_sweep(source, grouped, of_masks, open_sweep.first_group, group,
                                                   [&](int i) { return home[i].where == place::sweep; });
    if (masks.empty()) return;
    step& s = made.step_[open_sweep.begin];
    for (int i = open_sweep.begin; i < made.steps && (i == open_sweep.begin || made.step_[i].sweep); ++i) {
      const step& reader = made.step_[i]; // it gathers the visited rows of what it reads
      for (int k = reader.slot0; k < reader.slot0 + reader.loads; ++k) {
        const slot& q = made.slot_[k];
        const bool in_scratch = q.at.where == place::sweep || q.stride[0] == 0;
        if (!in_scratch && (q.stride[0] != 1 || q.at.where == place::none)) return;
      }
    }
    s.mask = s.loads + s.stores + s.partials + s.carries;
    for (const row_mask& m : masks) {
      if (s.masks == open_sweep.mask_room) break;
      const int k = s.slot0 + s.mask + s.masks;
      if (m.passes_where_zero) s.passes_where_zero |= 1u << s.masks;
      ++s.masks;
      slot& q = made.slot_[k];
      q.at = home[m.node];
      q.t = at(m.node).t;
      q.s = at(m.node).s;
      q.stride[0] = 1;
      open_sweep.slots.push_back({k, squeezed(q.s), s.adjoint});
    }
  }
};

} // namespace tapeless::detail
