// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// gather_pushdown: X[S] is computed from rows S of the operands of X, if nothing else needs all of X.
#pragma once
#include "../analysis/graph_rewriter.hpp"

namespace tapeless::detail {

class gather_pushdown : graph_rewriter {
  struct demand { // the rows of a node that are read
    int list = no_node;
    extent_t n = 0; // the number of all rows
    row_axis axis;
    bool several = false; // by more than one list or axis
  };
  vec<demand> wanted_;
  vec<char> all_wanted_, in_memory_, pushed_;
  vec<char> lists_;     // it is a list by which rows are wanted
  vec<char> read_;      // it lists rows of a computed value that has all rows
  bool recomputes_;     // are rows computed again, if the selection does not say?
  bool in_turn_;        // x[S][T] reads rows T of x[S], not rows S[T] of x
  vec<int> all_, rows_; // all of each node in the new graph, and its rows

  constexpr bool takes_rows(const node& v) const {
    return v.o == op::gather && lists_rows(at(v.in[1]), at(v.in[0]).s.d[static_cast<int>(v.attr)]);
  }
  constexpr void want(int x, int list, extent_t n, const row_axis& axis) {
    demand& d = wanted_[x];
    lists_[list] = 1;
    if (d.list < 0) d = {list, n, axis, false};
    else if (d.list != list || d.n != n || !d.axis.equals(axis)) d.several = true;
  }
  constexpr bool recomputes(int list) const {
    if (at(list).o != op::select) return false;
    const select_attributes q = attributes_of_select(at(list));
    return q.is_open() ? recomputes_ : q.recomputes();
  }
  // Are its rows computed from rows of its operands?
  constexpr bool pushes(int i, rows_of_operands& r) const {
    const node& v = at(i);
    const demand& d = wanted_[i];
    if (d.list < 0 || d.several || rule(v.o).k == kind::leaf || (in_turn_ && takes_rows(v))) return false;
    // an elementwise value that is in no buffer is computed again for its rows
    if (all_wanted_[i] != 0 && !recomputes(d.list) &&
        (rule(v.o).k != kind::elementwise || in_memory_[i] != 0))
      return false;
    if (!recomputes(d.list) && stands_beside_maximum(i)) return false;
    const operand_shapes s(p_, v);
    r = where_rows_come_from(v, s, d.axis, d.n);
    return r.known;
  }
  // Is node i the positions of maxima that are computed for all rows anyway? If it has all rows, too, its operand need
  // not stay.
  constexpr bool stands_beside_maximum(int i) const {
    const node& v = at(i);
    if (v.o != op::window_argmax || rule(at(v.in[0]).o).k == kind::leaf) return false;
    for (int j = 0; j < size(); ++j)
      if (const node& w = at(j); w.o == op::window_max && all_wanted_[j] != 0 && w.in[0] == v.in[0] &&
                                 w.attr == v.attr && w.attr2 == v.attr2)
        return true;
    return false;
  }
  constexpr void find_demands() {
    for (const int o : p_.outputs) all_wanted_[o] = in_memory_[o] = 1;
    for (int i = 0; i < size(); ++i)
      if (has_data_dependent_rows(at(i))) all_wanted_[i] = 1; // also if only its extent is read
    for (int i = size() - 1; i >= 0; --i) {
      const node& v = at(i);
      rows_of_operands r;
      if (pushes(i, r)) {
        pushed_[i] = 1;
        for (int k = 0; k < 3; ++k)
          if (v.in[k] >= 0) {
            if (r.operand[k].found()) want(v.in[k], wanted_[i].list, wanted_[i].n, r.operand[k]);
            else all_wanted_[v.in[k]] = 1;
          }
      } else if (wanted_[i].list >= 0) {
        all_wanted_[i] = 1;
      }
      if (all_wanted_[i] == 0) continue;
      const bool rows_only = takes_rows(v);
      if (rows_only) want(v.in[0], v.in[1], axis_extent(v), {static_cast<int>(v.attr), 1});
      for (int k = rows_only ? 1 : 0; k < 3; ++k)
        if (v.in[k] >= 0) {
          all_wanted_[v.in[k]] = 1;
          if (rule(v.o).k == kind::kernel || (rule(v.o).k == kind::view && in_memory_[i] != 0))
            in_memory_[v.in[k]] = 1;
        }
    }
  }

  constexpr extent_t axis_extent(const node& of_gather) const {
    return at(of_gather.in[0]).s.d[static_cast<int>(of_gather.attr)];
  }
  constexpr int rows_of(int x, int list, extent_t n, const row_axis& axis) {
    if (!axis.found()) return all_[x];
    if (pushed_[x] != 0) return rows_[x];
    if (rule(at(x).o).k != kind::leaf) read_[list] = 1;
    return gathered(all_[x], {all_[list], n, at(list).s.d[0]}, axis);
  }
  constexpr void make_rows(int i) {
    const node& v = at(i);
    const demand& d = wanted_[i];
    g_.in_adjoint = v.adjoint;
    const operand_shapes s(p_, v);
    const rows_of_operands r = where_rows_come_from(v, s, d.axis, d.n);
    int in[3] = {no_node, no_node, no_node};
    for (int k = 0; k < 3; ++k)
      if (v.in[k] >= 0) in[k] = rows_of(v.in[k], d.list, d.n, r.operand[k]);
    rows_[i] = remade(v, in, with_rows(v.s, d.axis, at(d.list).s.d[0]));
  }
  constexpr void make_all(int i) {
    const node& v = at(i);
    g_.in_adjoint = v.adjoint;
    if (rule(v.o).k == kind::leaf) {
      all_[i] = leaf(v);
      return;
    }
    if (takes_rows(v)) {
      all_[i] = rows_of(v.in[0], v.in[1], axis_extent(v), {static_cast<int>(v.attr), 1});
      return;
    }
    int in[3] = {no_node, no_node, no_node};
    for (int k = 0; k < 3; ++k)
      if (v.in[k] >= 0) in[k] = all_[v.in[k]];
    all_[i] = again(v, in, v.s);
  }

public:
  // recomputes: rows of a selection are computed again, if the selection leaves that open
  // in_turn: for rows of rows, both are made
  constexpr explicit gather_pushdown(const raw_program& p, bool recomputes = false, bool in_turn = false)
      : graph_rewriter(p),
        wanted_(p.nodes.size(), demand{}),
        all_wanted_(p.nodes.size(), 0),
        in_memory_(p.nodes.size(), 0),
        pushed_(p.nodes.size(), 0),
        lists_(p.nodes.size(), 0),
        read_(p.nodes.size(), 0),
        recomputes_(recomputes),
        in_turn_(in_turn),
        all_(p.nodes.size(), no_node),
        rows_(p.nodes.size(), no_node) {}

  // Does a list of rows of a list read rows?
  constexpr bool has_rows_of_rows() const {
    for (const node& v : p_.nodes)
      if (takes_rows(v) && takes_rows(at(v.in[0]))) return true;
    return false;
  }
  constexpr raw_program run() {
    find_demands();
    for (int i = 0; i < size(); ++i) {
      if (all_wanted_[i] != 0) make_all(i);
      if (pushed_[i] != 0 && all_[wanted_[i].list] >= 0) make_rows(i);
      if (lists_[i] != 0) // rows that had to wait for the list
        for (int j = 0; j < i; ++j)
          if (pushed_[j] != 0 && wanted_[j].list == i) make_rows(j);
    }
    for (int i = 0; i < size(); ++i) // for explain; nothing is interned any more
      if (at(i).o == op::select && (recomputes(i) ? lists_[i] : read_[i]) != 0)
        g_.nodes[all_[i]].attr |=
            static_cast<std::uint64_t>(recomputes(i) ? residual::recomputed : residual::retained) << 16;
    vec<int> outputs;
    for (const int o : p_.outputs) outputs.push_back(all_[o]);
    return finished(outputs);
  }
};

} // namespace tapeless::detail
