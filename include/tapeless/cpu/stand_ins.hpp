// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// stand_ins: which slots of a program may be read where other slots are.
#pragma once
#include "../plan/backend.hpp"
#include "simd.hpp"

namespace tapeless::cpu {

using tapeless::detail::op;
using tapeless::detail::step;

// Where a selection counts its rows, it may take all of them: then they are copied nowhere, and who reads the result of
// their gather reads its operand, where that is still there: dense, from its location on, as a gather's operand is. Found
// at bind.
template <const auto& P> struct stand_ins {
  static constexpr int slots = P.slots > 0 ? P.slots : 1;
  int of[slots]; // slot k may be read where slot of[k] is; -1: it may not

  static int result_of(int i) { return P.step_[i].slot0 + P.step_[i].loads; }
  static int end_of(int i) { return i + 1 < P.steps ? P.step_[i + 1].slot0 : P.slots; }
  // Of slot k of step i, per unit of its part of the arena.
  static index_t bytes(int i, int k) {
    using tapeless::detail::coefficient;
    const step& s = P.step_[i];
    const tapeless::detail::slot& x = P.slot_[k];
    index_t n = tapeless::detail::size_of(x.t);
    if (s.fused && k < result_of(i) + s.stores) {
      for (int a = 0; a < s.axes; ++a) n *= x.stride[a] != 0 ? coefficient(s.loop[a]) : 1;
      return n;
    }
    n *= coefficient(tapeless::detail::numel(x.s));
    return k > result_of(i) ? n * 2 * tapeless::detail::max_chunks : n; // partial results of chunks
  }
  // Does step w write where slot k of step i is?
  static bool writes(int w, int i, int k) {
    const tapeless::detail::location& x = P.slot_[k].at;
    for (int j = result_of(w); j < end_of(w); ++j) {
      const tapeless::detail::location& y = P.slot_[j].at;
      if (y.where != x.where || y.index != x.index) continue;
      if (y.where != tapeless::detail::place::arena ||
          (y.offset < x.offset + bytes(i, k) && x.offset < y.offset + bytes(w, j)))
        return true;
    }
    return false;
  }
  // Does gather i move rows that a selection has counted?
  static bool moves_counted(int i) {
    const step& s = P.step_[i];
    if (s.fused || s.o != op::gather || s.attr != 0 || s.at_load ||
        P.slot_[result_of(i)].at.where != tapeless::detail::place::arena)
      return false;
    for (int w = i; w-- > 0;)
      if (writes(w, i, s.slot0 + 1))
        return P.step_[w].o == op::select && P.slot_[result_of(w)].at == P.slot_[s.slot0 + 1].at &&
               !tapeless::detail::is_static(P.slot_[result_of(w)].s.d[0]);
    return false;
  }
  stand_ins() {
    for (int& k : of) k = -1;
    for (int i = 0; i < P.steps; ++i) {
      const int x = P.step_[i].slot0, y = result_of(i);
      if (!moves_counted(i) || of[x] >= 0) continue;
      const auto each_reader = [&](auto&& f) {
        for (int r = i + 1; r < P.steps; ++r) {
          for (int k = P.step_[r].slot0; k < result_of(r); ++k)
            if (P.slot_[k].at == P.slot_[y].at) f(r, k);
          if (writes(r, i, y)) return;
        }
      };
      int last = i;
      each_reader([&](int r, int) { last = r; });
      while (last + 1 < P.steps && (P.step_[last + 1].epilogue || P.step_[last + 1].strip)) ++last;
      bool stays = true;
      for (int w = i + 1; w <= last; ++w) stays = stays && !writes(w, i, x);
      if (!stays) continue;
      of[y] = x;
      each_reader([&](int, int k) { of[k] = x; });
    }
  }
  // Where slot k is.
  const tapeless::detail::location& at(int k, const tapeless::detail::name_values& names) const {
    using tapeless::detail::eval;
    const int x = of[k];
    const bool all = x >= 0 && eval(P.slot_[x].s.d[0], names) == eval(selected(x).s.d[0], names);
    return P.slot_[all ? x : k].at;
  }
  // Of the gather with operand x: the positions.
  static const tapeless::detail::slot& selected(int x) { return P.slot_[x + 1]; }
};
struct no_stand_ins {};

} // namespace tapeless::cpu
