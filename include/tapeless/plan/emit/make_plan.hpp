// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// make_plan: from a program to its plan. Groups become steps in their order. A buffer gets its place in the arena
// when its step is emitted, and gives it back after the last step that reads it.
#pragma once
#include "../../expr/program.hpp"
#include "../../ops/select.hpp"
#include "../analysis/densify.hpp"
#include "../ir/step.hpp"
#include "../schedule/fusion_groups.hpp"
#include "../schedule/sweep.hpp"
#include "kernel_steps.hpp"
#include "loop_steps.hpp"
#include "plan_builder.hpp"

namespace tapeless::detail {

// Has a counted axis of v other elements ahead of it than in what v is made of?
constexpr bool joins_counted_rows(const node* nodes, std::uint64_t counted_names, const node& v) {
  const auto ahead = [&](const shape& s) {
    shape before{};
    for (; before.rank < s.rank && (set_of_names(s.d[before.rank]) & counted_names) == 0; ++before.rank)
      before.d[before.rank] = s.d[before.rank];
    return numel(before);
  };
  return !(ahead(nodes[v.in[0]].s) == ahead(v.s));
}

template <int N, int O> class planner {
  plan_builder<N, O> b_;
  plan<most_of_plan(N, O)>& r_ = b_.made;
  grouping& g_ = b_.grouped;
  loop_steps<N, O> loops_{b_};
  kernel_steps<N, O> kernels_{b_};
  int expired_ = 0; // groups whose buffers are free again

  // A scatter_add adds to its base in place if no later step reads the base.
  constexpr void find_in_place() {
    for (int i = N - 1; i >= 0; --i) {
      const node& v = b_.at(i);
      if (v.o != op::scatter_add || v.in[2] < 0) continue;
      const int base = g_.root[v.in[2]];
      if (b_.at(base).o == op::input || g_.stored[base] == 0 || g_.last[base] != g_.of[i] ||
          g_.root[v.in[0]] == base || g_.loaded[base] != g_.loaded[i] ||
          !(numel(b_.at(base).s) == numel(v.s)))
        continue;
      if (b_.base_in_place.empty()) b_.base_in_place = vec<int>(N, no_node);
      b_.base_in_place[i] = base;
      g_.last[base] = g_.last[i];
    }
  }

  constexpr void place_arguments_and_results() {
    for (int i = 0; i < N; ++i)
      if (b_.at(i).o == op::input) b_.home[i] = {place::input, static_cast<int>(b_.at(i).attr)};
    for (int k = 0; k < O; ++k) {
      const int i = b_.source.outputs[k];
      slot& s = r_.result[k];
      s.t = b_.at(i).t;
      s.s = b_.at(i).s;
      if (is_pattern_leaf(b_.at(i))) {
        s.at = b_.home[i];
        continue;
      }
      s.at = b_.allocate(b_.at(i), g_.groups.size());
      b_.home[i] = {place::result, k};
    }
    for (int i = N - 1; i >= 0 && !b_.base_in_place.empty(); --i)
      if (b_.is_in_place(i) && b_.home[i].where == place::result) b_.home[b_.base_in_place[i]] = b_.home[i];
  }

  // A value that a load writes and a run reads has a place of its own.
  constexpr void place_loaded() {
    const auto keep_operands = [&](int i) {
      for (const int x : b_.at(i).in) {
        const int root = x < 0 ? no_node : g_.root[x];
        if (root >= 0 && g_.loaded[root] != 0 && g_.stored[root] != 0 && b_.home[root].where == place::none)
          b_.home[root] = b_.allocate(b_.at(root), g_.groups.size());
      }
    };
    for (int i = 0; i < N; ++i)
      if (g_.of[i] >= 0 && !g_.groups[g_.of[i]].loaded) keep_operands(i);
    for (const grouping::recomputed& r : g_.again)
      if (!g_.groups[r.group].loaded) keep_operands(r.node);
  }

  constexpr void find_checks() {
    for (int i = 0; i < N; ++i) {
      const node& v = b_.at(i);
      if (v.o == op::checked_index)
        r_.check[r_.checks++] = {static_cast<int>(b_.at(v.in[0]).attr), static_cast<extent_t>(v.attr),
                                 static_cast<extent_t>(v.attr2)};
      if (v.o == op::max_reduce || v.o == op::argmax) {
        const extent_t n = count_of(b_.at(v.in[0]).s, static_cast<unsigned>(v.attr));
        if (!is_static(n) && !b_.is_counted(n)) r_.limit[r_.limits++] = {n, false};
      }
      if (const extent_t n = v.o == op::extent ? static_cast<extent_t>(v.attr) : numel(v.s);
          (v.o == op::extent || v.o == op::iota) && v.t == dtype::i32 && !is_static(n) && !b_.is_counted(n))
        r_.limit[r_.limits++] = {n, true};
      if (densifies(b_.source.nodes, N, i)) ++r_.cost.densified;
      if (!b_.may().host_counts && v.o == op::reshape &&
          joins_counted_rows(b_.source.nodes, b_.counted_names, v))
        r_.counted_rows_join = true;
      if (has_data_dependent_rows(v))
        r_.count[r_.counted++] = {name_of(names(v.s.d[0])), most_of_select(v), b_.at(v.in[0]).s.d[0]};
    }
  }

  constexpr bool may_join_sweep(int group) const {
    if (b_.first[group] == b_.first[group + 1]) return false;
    const int i = b_.member[b_.first[group]];
    if (g_.groups[group].fused) return b_.open_sweep.takes(b_.loop_of(group), r_.steps);
    return is_sparse(b_.at(i).o) ? b_.open_sweep.takes_product(b_.source.nodes, i, r_.steps)
                                 : b_.open_sweep.takes_batch(b_.at(i).o, b_.tiling(i).n, r_.steps);
  }

public:
  constexpr planner(const program<N, O>& p, int loaded_leaves, const plan_rules& may)
      : b_(p, loaded_leaves, may) {}

  constexpr auto run() {
    r_.results = O;
    find_in_place();
    place_arguments_and_results();
    place_loaded();
    find_checks();
    for (int i = 0; i < N; ++i) kernels_.emit_at_load(i); // it stays: ahead of all that a run may overwrite
    for (int group = 0; group < g_.groups.size(); ++group) {
      if (!may_join_sweep(group)) {
        b_.end_sweep(group);
        b_.open_sweep.rows = 0;
        for (; expired_ <= group; ++expired_) b_.arena.expire(expired_);
      }
      for (int k = b_.first[group]; k < b_.first[group + 1]; ++k) {
        const int i = b_.member[k];
        if (!g_.stored[i] || b_.home[i].where != place::none) continue;
        if (b_.is_in_place(i)) b_.home[i] = b_.home[b_.base_in_place[i]];
        else if (!g_.groups[group].fused && !(makes_rows(b_.at(i)) && opens_csr_sweep(b_.source.nodes, i)) &&
                 !(writes_batch_rows(b_.at(i).o) && b_.tiling(i).n > 0))
          b_.home[i] = b_.allocate(b_.at(i), g_.last[i]);
        else {
          b_.home[i] = sweep::unsettled(i);
          b_.open_sweep.values.push_back({i, group, g_.last[i]});
        }
      }
      if (b_.first[group] == b_.first[group + 1]) continue;
      if (g_.groups[group].fused) loops_.emit(group);
      else kernels_.emit(b_.member[b_.first[group]], group);
    }
    b_.end_sweep(g_.groups.size());
    r_.parts = b_.arena.parts.size();
    for (int k = 0; k < r_.parts; ++k) {
      r_.part_names[k] = b_.arena.parts[k].names;
      r_.part_size[k] = b_.arena.parts[k].top;
      r_.cost.arena.add(static_cast<double>(r_.part_size[k]), r_.part_names[k]);
    }
    return r_;
  }
};

// loaded_leaves: how many leaves of the arguments, from the first on, are loaded once for many runs.
template <int N, int O> constexpr auto make_plan(const program<N, O>& p, int loaded_leaves = 0,
                                                 const plan_rules& may = {}) {
  return planner<N, O>(p, loaded_leaves, may).run();
}

} // namespace tapeless::detail
