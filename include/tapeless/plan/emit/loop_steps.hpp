// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Loop steps: one for each group whose nodes share a loop. Here are its axes, its stores, the partial results of its chunks
// and its long sums. loop_code.hpp has its code.
#pragma once
#include "../../expr/node.hpp"
#include "../ir/step.hpp"
#include "../schedule/fusion_groups.hpp"
#include "../schedule/sweep.hpp"
#include "loop_code.hpp"
#include "plan_builder.hpp"

namespace tapeless::detail {

// Is more than one chunk possible?
constexpr bool may_split(const step& s) {
  extent_t n = 1;
  for (int a = 0; a < s.axes; ++a) {
    if (!is_static(s.loop[a])) return true;
    n *= s.loop[a];
  }
  return s.loop[0] > 0 && chunks_of(s.loop[0], n / s.loop[0], s.axes == 1).count > 1;
}

// The number of sums that y adds to at once. They are over its first reduced axis and the axes behind that.
constexpr extent_t sums_at_once(const step& s, const store& y) {
  extent_t n = 1;
  for (int a = 0; a < s.axes; ++a)
    if ((y.reduced & ((2u << a) - 1u)) != 0 && ((y.reduced >> a) & 1u) == 0) n = times(n, s.loop[a]);
  return n;
}
// Does y add too many terms for one chain to be exact enough? The terms of a row do not count.
constexpr bool carries(const step& s, const store& y) {
  if (y.f != folding::sum || y.k == store_kind::dense) return false;
  extent_t n = 1, most = short_sum;
  for (int a = 0; a < s.axes; ++a) {
    const bool in_row = a == s.axes - 1 && y.k == store_kind::row;
    if (((y.reduced >> a) & 1u) == 0 || in_row) continue;
    if (!is_static(s.loop[a])) return true;
    n *= s.loop[a];
  }
  if (y.k == store_kind::total) most = 4096; // a call adds them in lanes
  return n > most;
}
template <int N, int O> class loop_steps {
  plan_builder<N, O>& b_;
  plan<most_of_plan(N, O)>& r_ = b_.made;
  const grouping& g_ = b_.grouped;
  loop_code<N, O> code_{b_};

  constexpr void place_results(step& s, int group) {
    for (const loop_result& y : code_.results) {
      const node& v = b_.at(y.node);
      slot q;
      q.at = b_.home[y.node];
      q.t = v.t;
      const shape& full = is_reduction(v) ? b_.at(v.in[0]).s : v.s;
      extent_t own[max_rank]{};
      strides(v.s, own);
      for (int i = 0; i < full.rank; ++i)
        if (is_reduction(v) && ((v.attr >> i) & 1u)) own[i] = 0;
      loop_strides(full, own, g_.groups[group].outermost, q.stride);
      r_.slot_[r_.slots++] = q;
    }
    s.stores = static_cast<int>(code_.results.size());
  }
  // Is s an epilogue of the step before it, a step of the open sweep, or neither?
  constexpr void join(step& s, int group, const shape& it) {
    const bool together = b_.follows(s);
    const bool joins = together && b_.open_sweep.joins(r_, s, it);
    s.epilogue = together && b_.may().epilogues && !(joins && b_.open_sweep.batch_tiles) &&
                 is_epilogue(r_, b_.source.nodes, b_.home, s, it);
    s.fuses_producer = s.epilogue && g_.last[r_.step_[r_.steps - 2].node] <= group;
    s.sweep = joins && !s.epilogue;
    if (!s.sweep) b_.end_sweep(group);
  }
  // Collapses neighbouring axes that every slot walks as one. The rows of an epilogue or a sweep stay rows.
  constexpr void merge_axes(step& s, int group, const shape& it) {
    const int n = s.loads + s.stores;
    s.axes = it.rank;
    for (int a = 0; a < it.rank; ++a) s.loop[a] = it.d[a];
    const bool keeps_rows = s.epilogue || s.sweep || b_.opens_batch_sweep(group);
    for (int a = s.axes - 2; a >= (keeps_rows ? 1 : 0); --a) {
      bool one =
          multipliable(s.loop[a], s.loop[a + 1]) && (b_.may().host_counts || !b_.is_counted(s.loop[a + 1]));
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

  constexpr void write_stores(const step& s) {
    for (int k = 0; k < code_.results.size(); ++k) {
      const node& v = b_.at(code_.results[k].node);
      const slot& q = r_.slot_[s.slot0 + s.loads + k];
      store y;
      y.reg = code_.results[k].reg;
      y.slot = s.loads + k;
      y.t = v.t;
      y.f = v.o == op::max_reduce ? folding::max : v.o == op::prod ? folding::product : folding::sum;
      if (is_reduction(v))
        for (int a = 0; a < s.axes; ++a)
          if (q.stride[a] == 0) y.reduced |= 1u << a;
      const bool inner = ((y.reduced >> (s.axes - 1)) & 1u);
      const bool all = y.reduced == (1u << s.axes) - 1u;
      y.k = y.reduced == 0 ? store_kind::dense
            : all          ? store_kind::total
            : inner        ? store_kind::row
                           : store_kind::column;
      y.has_partials =
          (y.reduced & 1u) && (s.sweep || may_split(s)); // the first step of a sweep says how it is cut
      y.carries = carries(s, y);
      r_.store_[r_.stores++] = y.word();
      b_.open_sweep.slots.push_back({s.slot0 + y.slot, v.s, v.adjoint});
    }
    for (int k = 0; k < code_.loads.size(); ++k)
      b_.open_sweep.slots.push_back({s.slot0 + k, code_.loads[k].visited, code_.loads[k].adjoint});
  }
  // Partial results of chunks. They live for this step only.
  constexpr void place_partials(step& s, int group) {
    s.partial0 = r_.slots;
    for (int k = 0; k < s.stores && b_.may().chunks > 0; ++k) {
      if (!store(r_.store_[s.store0 + k]).has_partials) continue;
      const node& v = b_.at(code_.results[k].node);
      b_.add_slot(b_.allocate_copies(b_.may().chunks, v, group), v.t, v.s);
      ++s.partials;
    }
  }

  // Room for the chains of long sums, and for the lost parts of sums.
  constexpr void place_carries(step& s, int group) {
    for (int k = 0; k < s.stores; ++k) {
      const store y(r_.store_[s.store0 + k]);
      if (!y.carries) continue;
      const extent_t n = sums_at_once(s, y), copies = 2 * (s.sweep || may_split(s) ? max_chunks : 1);
      b_.add_slot(b_.allocate(n, copies * size_of(y.t), group), y.t, shape{1, {n}});
      ++s.carries;
    }
  }

public:
  constexpr explicit loop_steps(plan_builder<N, O>& b) : b_(b) {}
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
    const shape it = b_.loop_of(group);
    code_.write_code(s, group);
    place_results(s, group);
    join(s, group, it);
    merge_axes(s, group, it);
    write_stores(s);
    place_partials(s, group);
    place_carries(s, group);
    code_.access_kinds(s);
    ++b_.part_of(s.adjoint).steps;
    if (!s.sweep) b_.open_sweep.open_loop(s, it, r_.steps);
  }
};

} // namespace tapeless::detail
