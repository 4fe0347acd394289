// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The order of the groups in which sweeps are long.
//   - Groups that can take part in one CSR sweep (csr_sweeps.hpp) become neighbours, as do those of one sweep over
//     batch tiles (batch_tiles.hpp).
//   - A group that depends on a sweep and cannot take part in it comes after it: a mean between loss and gradient.
//   - A group that a sweep reads and that depends on none comes before it: prepared weights, or the sum of a mask.
//   - Loops over gathered images, such as the loss of selected ones, move to the convolution or pool that reads them.
#pragma once
#include "../../expr/program.hpp"
#include "../../ops/all.hpp"
#include "../analysis/batch_tiles.hpp"
#include "csr_sweeps.hpp"
#include "fusion_groups.hpp"

namespace tapeless::detail {

inline constexpr extent_t longest_row = 4; // of sweeps but CSR sweeps, in rows of their first step
inline constexpr int most_taken = 6;       // loops that move to a sweep: it has eight steps without one

constexpr bool makes_rows_of_sweep(const node& v) {
  return is_batch_tiled(v.o) ? writes_batch_rows(v.o) : makes_rows(v);
}
constexpr bool reads_rows_of_sweep(const node& v, int k) {
  return is_batch_tiled(v.o) ? reads_batch_rows(v.o, k) : operand_of_rows(v) == k;
}

// For each group the node with which a sweep may begin: a sparse product, or a convolution or pool over batch tiles;
// no_node for other groups. Empty: no sweep can begin.
template <int N, int O> constexpr vec<int> openers_of(const program<N, O>& p, const grouping& r) {
  vec<int> opener(r.groups.size(), no_node);
  bool any = false;
  for (int i = 0; i < N; ++i)
    if (r.of[i] >= 0 && ((is_sparse(p.nodes[i].o) && opens_csr_sweep(p.nodes, i)) ||
                         (r.loaded[i] == 0 && batch_tiling_of(p.nodes, i).n > 0))) {
      opener[r.of[i]] = i;
      any = true;
    }
  if (!any) opener.clear();
  return opener;
}

template <int N, int O> class group_order {
  const program<N, O>& p_;
  grouping& r_;
  const vec<int>& opener_;
  const int groups_ = r_.groups.size();
  vec<char> counts_{groups_, 0}; // a selection: extents of later groups are known after it only
  // A read of group `from`: operand k of a node, whose block is that of root. The reads of group g begin at first_read_[g].
  struct group_read {
    int node, k, root, from;
  };
  vec<int> first_read_{groups_ + 1, 0};
  vec<group_read> reads_;
  vec<int> order_; // the old numbers in their new order
  vec<char> placed_{groups_, 0};
  // loops that read gathered rows, and of other groups no more than reductions
  vec<char> over_gathered_{groups_, 0};
  bool any_gathered_ = false;
  // ---- of the sweep that begins with group start_
  int start_ = 0, first_ = no_node; // first_: the node that opens it
  bool sparse_ = false;
  extent_t rows_ = 0, widest_ = 0;
  // Facts of a later group. Each is set, in ascending order, before it is read for a sweep.
  vec<char> may_{groups_, 0};         // it may be in the sweep
  vec<char> independent_{groups_, 0}; // it reads nothing of the sweep, so it may run before it
  vec<char> shares_{groups_, 0};      // it reads or writes a value of a member
  vec<char> ahead_{groups_, 0};       // it runs before the sweep
  vec<int> near_;                     // those that may or are independent
  vec<int> taken_;                    // loops over gathered rows that move to the sweep; the last one first
  // For each group the first group of a sweep. wanted_: the last sweep whose opener or taken loops read it.
  // needed_ahead_: the last sweep before which a reader of it stays.
  vec<int> wanted_, needed_ahead_;

  constexpr void find_reads() {
    vec<group_read> by_node;
    for (int i = 0; i < N; ++i)
      for (int k = 0; r_.of[i] >= 0 && k < 3; ++k) {
        const int x = p_.nodes[i].in[k], root = x < 0 ? no_node : r_.root[x];
        const int from = root < 0 ? no_node : r_.of[root];
        if (from < 0 || from == r_.of[i]) continue;
        by_node.push_back({i, k, root, from});
        ++first_read_[r_.of[i] + 1];
      }
    for (int g = 0; g < groups_; ++g) first_read_[g + 1] += first_read_[g];
    vec<int> next = first_read_;
    reads_ = by_node;
    for (const group_read& x : by_node) reads_[next[r_.of[x.node]]++] = x;
  }
  constexpr void find_gathered() {
    for (int g = 0; g < groups_; ++g) {
      bool gathered = false, others = !r_.groups[g].fused;
      for (int e = first_read_[g]; e < first_read_[g + 1]; ++e) {
        const op o = p_.nodes[reads_[e].root].o;
        if (o == op::gather || over_gathered_[reads_[e].from] != 0) gathered = true;
        else others = others || rule(o).k != kind::reduction;
      }
      over_gathered_[g] = gathered && !others ? 1 : 0;
      any_gathered_ = any_gathered_ || over_gathered_[g] != 0;
    }
    if (any_gathered_) wanted_ = needed_ahead_ = vec<int>(groups_, no_node);
  }

  constexpr bool goes_with_first(int s) const {
    return sparse_ ? p_.nodes[s].in[0] == p_.nodes[first_].in[0]
                   : is_batch_tiled(p_.nodes[s].o) && p_.nodes[p_.nodes[s].in[0]].s.d[0] == rows_;
  }
  constexpr void mark(int g, vec<int>& read) const {
    for (int e = first_read_[g]; e < first_read_[g + 1]; ++e) read[reads_[e].from] = start_;
  }
  // act(read) for each read of g whose group does not stand before the sweep already.
  template <class F> constexpr void each_read(int g, F act) const {
    for (int e = first_read_[g]; e < first_read_[g + 1]; ++e)
      if (!placed_[reads_[e].from] || reads_[e].from == start_) act(reads_[e]);
  }
  // Is x, a read of member g, the current row of another member? If not, it comes before the sweep.
  constexpr bool own_row(int g, const group_read& x) const {
    return may_[x.from] != 0 && rule(p_.nodes[x.root].o).k != kind::reduction &&
           (opener_[x.from] < 0 || makes_rows_of_sweep(p_.nodes[x.root])) &&
           (opener_[g] < 0 || reads_rows_of_sweep(p_.nodes[x.node], x.k));
  }

  constexpr void open(int start) {
    start_ = start;
    first_ = opener_[start];
    sparse_ = is_sparse(p_.nodes[first_].o);
    const batch_tiling tiling = batch_tiling_of(p_.nodes, first_);
    rows_ = sparse_ ? p_.nodes[p_.nodes[first_].in[0]].s.d[0] : tiling.n;
    widest_ = sparse_ ? widest_row : longest_row * tiling.row;
    taken_.clear();
    may_[start] = 1;
    independent_[start] = 0;
  }
  // Loops over gathered rows have a place already. They move to the sweep that reads them.
  constexpr void take_gathered() {
    mark(start_, wanted_);
    const int oldest = order_.size() - batch_sweep_steps;
    for (int k = order_.size() - 1; k >= 0 && k >= oldest; --k) {
      const int g = order_[k]; // one behind start_ is of an earlier sweep
      const bool moves = g < start_ && taken_.size() < most_taken && over_gathered_[g] != 0 &&
                         wanted_[g] == start_ && needed_ahead_[g] != start_ &&
                         r_.groups[g].loaded == r_.groups[start_].loaded &&
                         is_loop_over_rows(r_.groups[g].it, rows_, widest_);
      mark(g, moves ? wanted_ : needed_ahead_);
      if (!moves) continue;
      taken_.push_back(g);
      placed_[g] = 0;
      may_[g] = 1;
      independent_[g] = 0;
    }
  }
  constexpr void find_near() {
    near_.clear();
    const int window = start_ + 4 * batch_sweep_steps;
    const int farthest = sparse_ || window > groups_ ? groups_ : window;
    for (int g = start_ + 1; g < farthest && !(counts_[g] && !placed_[g]); ++g) {
      may_[g] = independent_[g] = 0;
      if (placed_[g] || r_.groups[g].loaded != r_.groups[start_].loaded) continue;
      const int s = opener_[g];
      const bool fits = s >= 0 ? goes_with_first(s)
                               : r_.groups[g].fused && is_loop_over_rows(r_.groups[g].it, rows_, widest_);
      may_[g] = fits ? 1 : 0;
      independent_[g] = sparse_ || !fits ? 1 : 0;
      each_read(g, [&](const group_read& x) {
        if (independent_[x.from] != 0) return;
        independent_[g] = 0;
        if (!own_row(g, x)) may_[g] = 0;
      });
      if (may_[g] == 0 && independent_[g] == 0) continue;
      near_.push_back(g);
      shares_[g] = 0;
      // a sum over rows that no product gives, for which a sweep would visit all of them
      ahead_[g] = sparse_ && independent_[g] != 0 && r_.groups[g].ahead ? 1 : 0;
    }
  }
  // A group keeps its place if a sweep over batch tiles has no room for it, or if it is a loop that shares no value with
  // the sweep.
  constexpr void limit_members() {
    for (const int g : near_)
      each_read(g, [&](const group_read& x) {
        if (may_[g] != 0 && may_[x.from] != 0) shares_[g] = shares_[x.from] = 1;
      });
    int n = 1 + taken_.size();
    for (const int g : near_)
      if (may_[g] != 0 && ((shares_[g] == 0 && opener_[g] < 0) || ++n > batch_sweep_steps)) may_[g] = 0;
  }
  // Before the sweep come the values that a member reads as a whole, and all that these depend on.
  constexpr void find_ahead() {
    for (int k = near_.size() - 1; k >= 0; --k)
      each_read(near_[k], [&](const group_read& x) {
        const int g = near_[k];
        const bool needed = ahead_[g] != 0 || (may_[g] != 0 && !own_row(g, x));
        if (needed && independent_[x.from] != 0) ahead_[x.from] = 1;
      });
  }
  constexpr void place(int g) {
    placed_[g] = 1;
    order_.push_back(g);
  }
  constexpr void place_sweep() {
    int kept = taken_.empty() ? order_.size() : 0;
    for (int k = kept; k < order_.size(); ++k)
      if (placed_[order_[k]] != 0) order_[kept++] = order_[k];
    order_.truncate(kept);
    for (const int g : near_)
      if (ahead_[g] != 0) place(g);
    for (int k = taken_.size(); k-- > 0;) place(taken_[k]);
    order_.push_back(start_);
    for (const int g : near_)
      if (may_[g] != 0 && ahead_[g] == 0) place(g);
  }
  constexpr void renumber() {
    if (order_.size() != groups_) throw "each group has one place";
    vec<int> now(groups_, 0);
    const vec<group> old = r_.groups;
    for (int k = 0; k < groups_; ++k) {
      now[order_[k]] = k;
      r_.groups[k] = old[order_[k]];
    }
    for (int i = 0; i < N; ++i)
      if (r_.of[i] >= 0) r_.of[i] = now[r_.of[i]];
  }

public:
  constexpr group_order(const program<N, O>& p, grouping& r, const vec<int>& opener)
      : p_(p), r_(r), opener_(opener) {}
  constexpr void run() {
    for (int i = 0; i < N; ++i)
      if (has_data_dependent_rows(p_.nodes[i])) counts_[r_.of[i]] = 1;
    find_reads();
    find_gathered();
    for (int start = 0; start < groups_; ++start) {
      if (placed_[start]) continue;
      placed_[start] = 1;
      if (opener_[start] < 0) {
        order_.push_back(start);
        continue;
      }
      open(start);
      if (any_gathered_ && !sparse_) take_gathered();
      find_near();
      if (!sparse_) limit_members();
      find_ahead();
      place_sweep();
    }
    renumber();
  }
};

// Renumbers the groups.
// @pre r.of and r.groups are final, and a group reads earlier ones only; what depends on the numbers comes later
template <int N, int O> constexpr void cluster_for_sweeps(const program<N, O>& p, grouping& r) {
  if (const vec<int> opener = openers_of(p, r); !opener.empty()) group_order<N, O>(p, r, opener).run();
}

} // namespace tapeless::detail
