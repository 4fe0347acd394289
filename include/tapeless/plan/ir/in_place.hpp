// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// May a result lie where an argument does? Only if each step that reads the argument has run before the result is written, or
// is the loop that writes it, element by element where it reads.
#pragma once
#include "../../core/vec.hpp"
#include "../../expr/op.hpp"
#include "instruction.hpp"
#include "step.hpp"

namespace tapeless::detail {

// Steps by the number of the first one of those that share an outer loop.
//   last_gathered   the last step that reads a gather of the input: a back end may leave out the gather and read the input
template <int Inputs, int Results> struct in_place_facts {
  int last_read[Inputs + 1]{}, last_gathered[Inputs + 1]{}, written[Results + 1]{};
};
template <int Inputs, int Results, class Plan> constexpr auto facts_of_places(const Plan& p) {
  in_place_facts<Inputs, Results> f;
  for (int& last : f.last_read) last = -1;
  for (int& last : f.last_gathered) last = -1;
  for (int& first : f.written) first = p.steps;
  const auto end_of_slots = [&p](int i) { return i + 1 < p.steps ? p.step_[i + 1].slot0 : p.slots; };
  const auto is_gather = [&p](int i) { return !p.step_[i].fused && p.step_[i].o == op::gather; };
  vec<int> loop(p.steps, 0),
      last_use(p.steps, 0); // last_use: of a gather, the last step that has its result's place
  for (int i = 0; i < p.steps; ++i) {
    loop[i] = i > 0 && (p.step_[i].sweep || p.step_[i].epilogue) ? loop[i - 1] : i;
    last_use[i] = i;
  }
  for (int i = p.steps - 1; i >= 0; --i) {
    if (!is_gather(i)) continue;
    const location result = p.slot_[p.step_[i].slot0 + p.step_[i].loads].at;
    for (int k = i + 1; k < p.steps; ++k)
      for (int q = p.step_[k].slot0; q < end_of_slots(k); ++q)
        if (p.slot_[q].at == result && last_use[k] > last_use[i]) last_use[i] = last_use[k];
  }
  for (int i = 0; i < p.steps; ++i)
    for (int q = p.step_[i].slot0; q < end_of_slots(i); ++q) {
      const location& l = p.slot_[q].at;
      if (l.where == place::input) {
        f.last_read[l.index] = loop[i];
        if (is_gather(i) && loop[last_use[i]] > f.last_gathered[l.index])
          f.last_gathered[l.index] = loop[last_use[i]];
      }
      if (l.where == place::result && f.written[l.index] > loop[i]) f.written[l.index] = loop[i];
    }
  return f;
}
// Does step i, a loop of its own, read input j only where it writes result k?
template <class Plan> constexpr bool reads_what_it_writes(const Plan& p, int i, int j, int k) {
  const step& s = p.step_[i];
  if (!s.fused || (i + 1 < p.steps && (p.step_[i + 1].sweep || p.step_[i + 1].epilogue))) return false;
  const slot* written = nullptr;
  for (int n = 0; n < s.stores; ++n) {
    const store y(p.store_[s.store0 + n]);
    const slot& q = p.slot_[s.slot0 + y.slot];
    if (y.k != store_kind::dense)
      return false; // a back end may take the sums of a loop in a pass of their own
    if (q.at.where != place::result || q.at.index != k) continue;
    if (written != nullptr) return false;
    written = &q;
  }
  if (written == nullptr) return false;
  for (int n = 0; n < s.loads; ++n) {
    const slot& q = p.slot_[s.slot0 + n];
    if (q.at.where != place::input || q.at.index != j) continue;
    if (q.t != written->t) return false;
    for (int a = 0; a < s.axes; ++a)
      if (q.stride[a] != written->stride[a]) return false;
    for (int a = 0; a < 2; ++a)
      if (q.offset[a] != written->offset[a]) return false;
  }
  return true;
}
template <class Plan, class Facts> constexpr bool may_replace(const Plan& p, const Facts& f, int j, int k) {
  if (f.last_gathered[j] >= f.written[k]) return false;
  return f.last_read[j] < f.written[k] ||
         (f.last_read[j] == f.written[k] && reads_what_it_writes(p, f.written[k], j, k));
}

} // namespace tapeless::detail
