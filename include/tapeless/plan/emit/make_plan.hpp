// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// make_plan: from a program to its plan. Groups become steps in their order; a buffer gets its place in the arena
// when its step comes, and gives it back after the last step that reads it.
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

template <int N, int O> class planner {
  plan_builder<N, O> d_;
  plan<most_of_plan(N, O)>& r_ = d_.made;
  grouping& g_ = d_.grouped;
  fused_steps<N, O> fused_{d_};
  kernel_steps<N, O> whole_{d_};
  int expired_ = 0; // groups whose buffers are free again

  // scatter_add(d, S) + base where base is: nothing reads that after it.
  constexpr void find_in_place() {
    for (int i = N - 1; i >= 0; --i) {
      const node& v = d_.at(i);
      if (v.o != op::scatter_add || v.in[2] < 0) continue;
      const int base = g_.root[v.in[2]];
      if (d_.at(base).o == op::input || g_.stored[base] == 0 || g_.last[base] != g_.of[i] ||
          g_.root[v.in[0]] == base || g_.loaded[base] != g_.loaded[i] ||
          !(numel(d_.at(base).s) == numel(v.s)))
        continue;
      if (d_.base_in_place.empty()) d_.base_in_place = vec<int>(N, no_node);
      d_.base_in_place[i] = base;
      g_.last[base] = g_.last[i];
    }
  }

  constexpr void place_arguments_and_results() {
    for (int i = 0; i < N; ++i)
      if (d_.at(i).o == op::input) d_.home[i] = {place::input, static_cast<int>(d_.at(i).attr)};
    for (int k = 0; k < O; ++k) {
      const int i = d_.source.outputs[k];
      slot& s = r_.result[k];
      s.t = d_.at(i).t;
      s.s = d_.at(i).s;
      if (is_pattern_leaf(d_.at(i))) {
        s.at = d_.home[i];
        continue;
      }
      s.at = d_.allocate(d_.at(i), g_.groups.size());
      d_.home[i] = {place::result, k};
    }
    for (int i = N - 1; i >= 0 && !d_.base_in_place.empty(); --i)
      if (d_.is_in_place(i) && d_.home[i].where == place::result) d_.home[d_.base_in_place[i]] = d_.home[i];
  }

  // What runs read and only a load writes has a place of its own.
  constexpr void place_loaded() {
    const auto keep_operands = [&](int i) {
      for (const int x : d_.at(i).in) {
        const int root = x < 0 ? no_node : g_.root[x];
        if (root >= 0 && g_.loaded[root] != 0 && g_.stored[root] != 0 && d_.home[root].where == place::none)
          d_.home[root] = d_.allocate(d_.at(root), g_.groups.size());
      }
    };
    for (int i = 0; i < N; ++i)
      if (g_.of[i] >= 0 && !g_.groups[g_.of[i]].loaded) keep_operands(i);
    for (const grouping::recomputed& r : g_.again)
      if (!g_.groups[r.group].loaded) keep_operands(r.node);
  }

  constexpr bool has_data_dependent_rows(extent_t e) const { // by a selection
    for (int i = 0; i < N; ++i)
      if (detail::has_data_dependent_rows(d_.at(i)) && has_name_of(e, d_.at(i).s.d[0])) return true;
    return false;
  }
  constexpr void find_checks() {
    for (int i = 0; i < N; ++i) {
      const node& v = d_.at(i);
      if (v.o == op::checked_index)
        r_.check[r_.checks++] = {static_cast<int>(d_.at(v.in[0]).attr), static_cast<extent_t>(v.attr),
                                 static_cast<extent_t>(v.attr2)};
      if (v.o == op::max_reduce || v.o == op::argmax) {
        const extent_t n = count_of(d_.at(v.in[0]).s, static_cast<unsigned>(v.attr));
        if (!is_static(n) && !has_data_dependent_rows(n)) r_.not_empty[r_.nonempty++] = n;
      }
      if (densifies(d_.source.nodes, N, i)) ++r_.cost.densified;
      if (detail::has_data_dependent_rows(v))
        r_.count[r_.counted++] = {name_of(names(v.s.d[0])), most_of_select(v), d_.at(v.in[0]).s.d[0]};
    }
  }

  constexpr bool may_join_sweep(int group) const {
    if (d_.first[group] == d_.first[group + 1]) return false;
    const int i = d_.member[d_.first[group]];
    if (g_.groups[group].fused) return d_.open_sweep.takes(d_.loop_of(group), r_.steps);
    return is_sparse(d_.at(i).o) ? d_.open_sweep.takes_product(d_.source.nodes, i, r_.steps)
                                 : d_.open_sweep.takes_images(d_.at(i).o, d_.images(i).n, r_.steps);
  }

public:
  constexpr planner(const program<N, O>& p, int loaded_leaves, const plan_rules& may)
      : d_(p, loaded_leaves, may) {}

  constexpr auto run() {
    r_.results = O;
    find_in_place();
    place_arguments_and_results();
    place_loaded();
    find_checks();
    for (int group = 0; group < g_.groups.size(); ++group) {
      if (!may_join_sweep(group)) {
        d_.end_sweep(group);
        d_.open_sweep.rows = 0;
        for (; expired_ <= group; ++expired_) d_.arena.expire(expired_);
      }
      for (int k = d_.first[group]; k < d_.first[group + 1]; ++k) {
        const int i = d_.member[k];
        if (!g_.stored[i] || d_.home[i].where != place::none) continue;
        if (d_.is_in_place(i)) d_.home[i] = d_.home[d_.base_in_place[i]];
        else if (!g_.groups[group].fused && !(makes_rows(d_.at(i)) && opens_csr_sweep(d_.source.nodes, i)) &&
                 !(writes_batch_rows(d_.at(i).o) && d_.images(i).n > 0))
          d_.home[i] = d_.allocate(d_.at(i), g_.last[i]);
        else {
          d_.home[i] = sweep::unsettled(i);
          d_.open_sweep.values.push_back({i, group, g_.last[i]});
        }
      }
      if (d_.first[group] == d_.first[group + 1]) continue;
      if (g_.groups[group].fused) fused_.emit(group);
      else whole_.emit(d_.member[d_.first[group]], group);
    }
    d_.end_sweep(g_.groups.size());
    r_.parts = d_.arena.parts.size();
    for (int k = 0; k < r_.parts; ++k) {
      r_.part_names[k] = d_.arena.parts[k].names;
      r_.part_size[k] = d_.arena.parts[k].top;
      r_.cost.arena.add(static_cast<double>(r_.part_size[k]), r_.part_names[k]);
    }
    return r_;
  }
};

// loaded_leaves: of the arguments, leaf by leaf, those that are loaded once for many runs.
template <int N, int O> constexpr auto make_plan(const program<N, O>& p, int loaded_leaves = 0,
                                                 const plan_rules& may = {}) {
  return planner<N, O>(p, loaded_leaves, may).run();
}

} // namespace tapeless::detail
