// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Kernel steps: run_kernel calls kernel_for<op> with the slots of a step, run_rows with some rows of them.
#pragma once
#include "../../plan/ir/kernel_extents.hpp"
#include "../conv/steps.hpp"
#include "../matmul/steps.hpp"
#include "../move/argmax.hpp"
#include "../move/index.hpp"
#include "../move/scan.hpp"
#include "../move/select.hpp"
#include "../move/unfold.hpp"
#include "../pool/pool.hpp"
#include "../sparse/dense.hpp"
#include "../sparse/solve.hpp"
#include "../sparse/spgemm.hpp"
#include "frame.hpp"
#include "kernel_choice.hpp"

namespace tapeless::cpu {

// Does step i compute the maxima whose positions step i - 1 computes? If both or neither are in a sweep, one pass computes
// both. It may write the maxima early: step i - 1 reads nothing in their place, and earlier readers are done.
template <const auto& P> constexpr bool is_made_with_positions(int i) {
  if (i == 0 || i >= P.steps) return false;
  const step &s = P.step_[i], &w = P.step_[i - 1];
  if (s.fused || w.fused || s.o != op::window_max || w.o != op::window_argmax) return false;
  const bool begins_sweep = i + 1 < P.steps && P.step_[i + 1].sweep;
  return (s.sweep || (!w.sweep && !begins_sweep)) && s.at_load == w.at_load && s.attr == w.attr &&
         s.attr2 == w.attr2 && P.slot_[s.slot0].at == P.slot_[w.slot0].at &&
         P.slot_[s.slot0].s == P.slot_[w.slot0].s;
}
// Positions and maxima of the windows of x.
template <class T, class Team>
void run_argmax_and_max(const Team& team, const step& s, const frame_slot& x, const frame_slot& positions,
                        const frame_slot& maxima) {
  window_argmax_and_max<T>(team, window_of(s, x.s, positions.s), static_cast<const T*>(x.data()),
                           static_cast<std::int32_t*>(positions.data()), static_cast<T*>(maxima.data()));
}

template <> struct kernel_for<op::custom_tensor> {
  template <auto, class T, class Team> static void run(const Team&, const kernel_call<T>& c) {
    const void* operands[3]{};
    for (int k = 0; k < c.step.loads; ++k) operands[k] = c.frame.slot[k].data();
    c.step.custom->run(c.out(), operands, c.names);
  }
};

// K: the kernel of a convolution, the extents of a small product
// Not inlined: a program has many steps and few kernels.
template <op O, auto K, class T, class Team>
[[gnu::noinline]] void run_kernel(const Team& team, const step& s, const frame_step& f,
                                  const scratch_of_kernel<T>& scratch, const detail::name_values& names,
                                  const indexed_operands& indexed = {}) {
  kernel_for<O>::template run<K, T>(team, kernel_call<T>(s, f, scratch, names, indexed));
}

// Rows [lo, hi) of a step whose first operand and result have the same outermost axis. result: the address of row 0
template <op O, auto K, class T> void run_rows(const step& s, const frame_step& f, index_t lo, index_t hi,
                                               void* result, const scratch_of_kernel<T>& scratch,
                                               const detail::name_values& names) {
  frame_slot slot[3] = {f.slot[0], f.slot[1], f.slot[2]};
  slot[2].source = &result;
  slot[2].offset = 0;
  for (const int k : {0, 2}) {
    slot[k].offset +=
        lo * product(slot[k].s, 1, slot[k].s.rank) * (k == 0 ? index_t{sizeof(T)} : bytes_of_result<T>());
    slot[k].s.d[0] = hi - lo;
  }
  frame_step part;
  part.slot = slot;
  part.matmul = f.matmul;
  part.matmul.m = hi - lo;
  run_kernel<O, K, T>(serial_team{}, s, part, scratch, names);
}

} // namespace tapeless::cpu
