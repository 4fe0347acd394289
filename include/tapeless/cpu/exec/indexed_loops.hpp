// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The readers of an elided gather: a kernel step gets its rows from indexed_operands_of, a loop from loop_of.
#pragma once
#include "../fused/loop.hpp"
#include "elided_gathers.hpp"
#include "frame.hpp"
#include "recycled_slots.hpp"

namespace tapeless::cpu {

// Does the list name all rows in order? Then their readers need no list.
inline bool names_all_rows(const std::int32_t* list, index_t count, index_t rows) {
  bool all = count == rows;
  for (index_t i = 0; all && i < rows; ++i) all = list[i] == i;
  return all;
}
// The rows of its operand that gather g names.
template <const auto& P> const std::int32_t* list_of(const frame<P>& f, int g) {
  if constexpr (has_recycled_slots<P>)
    if (recycled_slots_of<P>.reads_list[g]) return recycled_state<P>(f).list;
  return static_cast<const std::int32_t*>(f.step[g].slot[1].data());
}
template <const auto& P> indexed_operands indexed_operands_of(const frame<P>& f, int i) {
  indexed_operands r;
  if constexpr (has_step<P>(is_gather))
    for (int k = 0; k < 2; ++k) {
      const int g = lists_of<P>.gather[P.step_[i].slot0 + k];
      if (g < 0) continue;
      const frame_slot &rows = f.step[g].slot[0], &indices = f.step[g].slot[1];
      const std::int32_t* const list = list_of(f, g);
      r.from[k] = rows.data();
      if (!names_all_rows(list, indices.s.d[0], rows.s.d[0])) (k == 0 ? r.lists.a : r.lists.b) = list;
    }
  return r;
}

// A loop whose loads L read indexed rows: one call of the kernel for each run of consecutive rows. Sums over several
// rows depend on these runs. Recycled slots may be consecutive by chance, depending on time, so each of their rows is a
// run of its own.
template <indexed_loads L, class Kernel> struct indexed_loop {
  const std::byte* from[L.count];
  const std::int32_t* list[L.count];
  bool recycled = false;
  template <const auto& P> explicit indexed_loop(const frame<P>& f) {
    for (int k = 0; k < L.count; ++k) {
      if constexpr (has_recycled_slots<P>)
        recycled = recycled || recycled_slots_of<P>.reads_list[L.gather[k]];
      from[k] = static_cast<const std::byte*>(f.step[L.gather[k]].slot[0].data()) + L.first[k];
      list[k] = list_of(f, L.gather[k]);
    }
  }
  static void finish(const fused_arguments& a) { Kernel::finish(a); }
  void run(fused_arguments a, index_t lo, index_t hi) const {
    void* base[Kernel::slots];
    for (int k = 0; k < Kernel::slots; ++k) base[k] = a.base == nullptr ? a.slot[k].data() : a.base[k];
    a.base = base;
    const auto follows = [&](index_t row) {
      bool all = !recycled;
      for (int k = 0; k < L.count; ++k) all = all && list[k][row] == list[k][row - 1] + 1;
      return all;
    };
    const index_t rows = (hi + L.unit - 1) / L.unit;
    while (lo < hi) {
      const index_t row = lo / L.unit;
      index_t end = row + 1;
      while (end < rows && follows(end)) ++end;
      for (int k = 0; k < L.count; ++k)
        base[L.load[k]] = before(const_cast<std::byte*>(from[k]), (row - list[k][row]) * L.row[k]);
      const index_t stop = std::min(hi, end * L.unit);
      Kernel::run(a, lo, stop);
      a.done += stop - lo;
      lo = stop;
    }
  }
};
// The kernel itself, or an indexed_loop of it if L has loads.
template <const auto& P, indexed_loads L, class Kernel> auto loop_of(const frame<P>& f, Kernel kernel) {
  if constexpr (L.count == 0) return kernel;
  else return indexed_loop<L, Kernel>(f);
}

} // namespace tapeless::cpu
