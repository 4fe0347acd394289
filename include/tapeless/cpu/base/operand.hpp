// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The operands of a step as kernels see them: where they are, and how a loop walks them.
// kernel_for<op>: the kernel of an op that has a step of its own.
#pragma once
#include <cstddef>
#include <cstdint>
#include "../../core/geometry.hpp" // IWYU pragma: export
#include "../../core/shape.hpp"    // IWYU pragma: export
#include "../../expr/op.hpp"
#include "../../plan/frame.hpp"
#include "../../plan/ir/step.hpp"
#include "simd.hpp" // IWYU pragma: export
#include "team.hpp"

namespace tapeless::cpu {

using detail::frame_slot;
using detail::product;

struct frame_step {
  const frame_slot* slot = nullptr;
  const index_t* extent = nullptr; // named extents that the code reads
  index_t loop[max_rank]{};
  index_t chunk = 1, chunks = 1; // of the outermost axis
  bool empty = false;
  matmul_extents matmul; // of a matmul step
};

// The sources and lists of the first two operands that are elided gathers.
struct indexed_operands {
  const void* from[2]{};
  row_lists lists;
};
// A call of a kernel whose operands have elements of T.
template <class T> struct kernel_call : detail::step_operands {
  const frame_step& frame;
  const scratch_of_kernel<T>& scratch;
  const detail::name_values& names;
  const indexed_operands& indexed;

  kernel_call(const detail::step& s, const frame_step& f, const scratch_of_kernel<T>& room,
              const detail::name_values& n, const indexed_operands& lists)
      : step_operands{s, f.slot}, frame(f), scratch(room), names(n), indexed(lists) {}
  const T* in(int k) const {
    return k < 2 && indexed.from[k] != nullptr ? static_cast<const T*>(indexed.from[k])
                                               : step_operands::in<T>(k);
  }
  const std::int32_t* index(int k) const { return step_operands::in<std::int32_t>(k); }
  template <class Y = T> Y* out() const { return step_operands::out<Y>(); }
};
// The kernel of op O. Its family specialises it beside the kernel:
//   template <> struct kernel_for<op::pad> {
//     template <auto K, class T, class Team> static void run(const Team&, const kernel_call<T>&);
//   };
// K: what the shapes choose, where there is a choice (exec/kernel_choice.hpp)
template <detail::op O> struct kernel_for {
  static_assert(
      O == detail::op::count_,
      "tapeless: an op with a step of its own has a kernel: cpu::kernel_for<op> in the room of its family");
};

// The address `bytes` before `rows`: that of row 0, where only the current rows are in memory.
inline void* before(void* rows, index_t bytes) {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(rows) - static_cast<std::uintptr_t>(bytes));
}

} // namespace tapeless::cpu
