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
#include "../../plan/ir/step.hpp"
#include "simd.hpp" // IWYU pragma: export
#include "team.hpp"

namespace tapeless::cpu {

constexpr index_t product(const shape& s, int from, int to) {
  index_t n = 1;
  for (int i = from; i < to; ++i) n *= s.d[i];
  return n;
}

// Where an operand is, and how the step's loop walks it.
struct frame_slot {
  void* const* source = nullptr; // argument, result or arena part: a pointer that may change between runs
  std::ptrdiff_t offset = 0;     // bytes
  index_t start = 0;             // iota: the first value
  index_t stride[max_rank]{};    // fused: elements
  shape s{};                     // kernel steps and partial results: extents

  void* data() const { return static_cast<std::byte*>(*source) + offset; }
};

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
template <class T> struct kernel_call {
  const detail::step& step;
  const frame_step& frame;
  const scratch_of_kernel<T>& scratch;
  const detail::name_values& names;
  const indexed_operands& indexed;

  const T* in(int k) const {
    return static_cast<const T*>(k < 2 && indexed.from[k] != nullptr ? indexed.from[k]
                                                                     : frame.slot[k].data());
  }
  const std::int32_t* index(int k) const { return static_cast<const std::int32_t*>(frame.slot[k].data()); }
  template <class Y = T> Y* out() const { return static_cast<Y*>(frame.slot[step.loads].data()); }
  const shape& operand(int k) const { return frame.slot[k].s; }
  const shape& result() const { return frame.slot[step.loads].s; }
  // Of the axis that the attribute names: how many elements stand before it and after it in s.
  int axis() const { return static_cast<int>(step.attr); }
  index_t before_axis(const shape& s) const { return product(s, 0, axis()); }
  index_t after_axis(const shape& s) const { return product(s, axis() + 1, s.rank); }
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
