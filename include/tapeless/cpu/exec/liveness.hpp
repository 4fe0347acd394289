// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// liveness: does a step of a plan write where another step reads, and how long does a value stay?
#pragma once
#include "../../core/dtype.hpp"
#include "../../core/shape.hpp"
#include "../../expr/op.hpp"
#include "../../plan/backend.hpp" // IWYU pragma: export
#include "../../plan/ir/step.hpp"
#include "../base/team.hpp" // IWYU pragma: export

namespace tapeless::cpu {

using detail::op;
using detail::step;

template <const auto& P> struct liveness {
  static constexpr int result_of(int i) { return P.step_[i].slot0 + P.step_[i].loads; }
  static constexpr int end_of_results(int i) { return result_of(i) + P.step_[i].stores; }
  static constexpr int end_of(int i) { return i + 1 < P.steps ? P.step_[i + 1].slot0 : P.slots; }
  // Bytes of slot k of step i, per unit of its part of the arena.
  static constexpr index_t bytes(int i, int k) {
    using detail::coefficient;
    const step& s = P.step_[i];
    const detail::slot& x = P.slot_[k];
    index_t n = detail::size_of(x.t);
    if (s.fused && k < result_of(i) + s.stores) {
      for (int a = 0; a < s.axes; ++a) n *= x.stride[a] != 0 ? coefficient(s.loop[a]) : 1;
      return n;
    }
    n *= coefficient(detail::numel(x.s));
    // an upper bound: partial results of all chunks; the scratch of a selection is smaller
    return k > result_of(i) ? n * 4 * detail::max_chunks : n;
  }
  // Do slots j of step w and k of step i share bytes?
  static constexpr bool overlap(int w, int j, int i, int k) {
    const detail::location &x = P.slot_[k].at, &y = P.slot_[j].at;
    return y.where == x.where && y.index == x.index &&
           (y.where != detail::place::arena ||
            (y.offset < x.offset + bytes(i, k) && x.offset < y.offset + bytes(w, j)));
  }
  // May step w write where slot k of step i is?
  static constexpr bool writes(int w, int i, int k) { return writes(w, i, k, end_of(w)); }
  // Does a result of step w lie there? The bytes of results are known exactly.
  static constexpr bool results_in(int w, int i, int k) { return writes(w, i, k, end_of_results(w)); }
  static constexpr bool writes(int w, int i, int k, int end) {
    for (int j = result_of(w); j < end; ++j)
      if (overlap(w, j, i, k)) return true;
    return false;
  }
  // The step that wrote slot k of step i; -1: none did.
  static constexpr int writer_of(int i, int k) {
    for (int w = i; w-- > 0;)
      if (results_in(w, i, k)) return w;
    return -1;
  }
  // f(step, slot) for each slot that reads the result of step i. The result stays until a step writes another one there.
  template <class F> static constexpr void each_reader(int i, F&& f) { each_reader(i, result_of(i), f); }
  // The same for result y of step i.
  template <class F> static constexpr void each_reader(int i, int y, F&& f) {
    for (int r = i + 1; r < P.steps; ++r) {
      for (int k = P.step_[r].slot0; k < result_of(r); ++k)
        if (P.slot_[k].at == P.slot_[y].at) f(r, k);
      if (results_in(r, i, y)) return;
    }
  }
  // Is slot k of step i still there when the last reader of its result is done?
  static constexpr bool stays(int i, int k) {
    int last = i;
    each_reader(i, [&](int r, int) { last = r; });
    while (last + 1 < P.steps && (P.step_[last + 1].epilogue || P.step_[last + 1].sweep)) ++last;
    for (int w = i + 1; w <= last; ++w)
      if (writes(w, i, k)) return false;
    return true;
  }
};

} // namespace tapeless::cpu
