// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// full_selection: a selection that takes all rows copies none of them; its readers read its source.
#pragma once
#include "../../core/extent.hpp"
#include "../../plan/ir/step.hpp"
#include "liveness.hpp" // IWYU pragma: export

namespace tapeless::cpu {

// A selection with a data-dependent number of rows may take all of them. Then the gather of these rows copies nothing: its
// readers read its operand, if that is still there. The operand is dense, so they need only its location. bind finds
// these gathers.
template <const auto& P> struct full_selection : liveness<P> {
  using liveness<P>::result_of, liveness<P>::writer_of;
  static constexpr int slots = P.slots > 0 ? P.slots : 1;
  int of[slots]; // slot k may be read at the place of slot of[k]; -1: it may not

  // Does gather i move the data-dependent rows of a selection?
  static bool moves_counted(int i) {
    const step& s = P.step_[i];
    if (s.fused || s.o != op::gather || s.attr != 0 || s.at_load ||
        P.slot_[result_of(i)].at.where != detail::place::arena)
      return false;
    const int w = writer_of(i, s.slot0 + 1);
    return w >= 0 && P.step_[w].o == op::select && P.slot_[result_of(w)].at == P.slot_[s.slot0 + 1].at &&
           !detail::is_static(P.slot_[result_of(w)].s.d[0]);
  }
  full_selection() {
    for (int& k : of) k = -1;
    for (int i = 0; i < P.steps; ++i) {
      const int x = P.step_[i].slot0, y = result_of(i);
      if (!moves_counted(i) || of[x] >= 0 || !liveness<P>::stays(i, x)) continue;
      of[y] = x;
      liveness<P>::each_reader(i, [&](int, int k) { of[k] = x; });
    }
  }
  // The location of slot k.
  const detail::location& at(int k, const detail::name_values& names) const {
    using detail::eval;
    const int x = of[k];
    const bool all = x >= 0 && eval(P.slot_[x].s.d[0], names) == eval(selected(x).s.d[0], names);
    return P.slot_[all ? x : k].at;
  }
  // The positions of the gather with operand x.
  static const detail::slot& selected(int x) { return P.slot_[x + 1]; }
};
struct no_full_selection {};

} // namespace tapeless::cpu
