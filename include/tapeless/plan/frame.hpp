// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The operands of a plan in a run: frame_slot, what kernel steps ask of them, and how back ends fill them.
#pragma once
#include <cstddef>
#include <cstdint>
#include "../core/dtype.hpp"
#include "../core/shape.hpp"
#include "backend.hpp"
#include "ir/kernel_extents.hpp" // IWYU pragma: export
#include "ir/step.hpp"

namespace tapeless::detail {

// Where an operand is, and how the step's loop walks it.
struct frame_slot {
  void* const* source = nullptr; // argument, result or arena part: a pointer that may change between runs
  std::ptrdiff_t offset = 0;     // bytes
  extent_t start = 0;            // iota: the first value
  extent_t stride[max_rank]{};   // fused: elements
  shape s{};                     // kernel steps and partial results: extents

  // nullptr: an argument without elements, of whatever offset
  void* data() const { return *source == nullptr ? nullptr : static_cast<std::byte*>(*source) + offset; }
};
// Slot q, which is at `at`, in this run. part: the parts of the arena. nothing: what is read where no memory is: of an iota,
// and of a value that lives within a sweep. Both stay where they are.
inline void fill_slot(frame_slot& f, const slot& q, const location& at, const run_context& c,
                      void* const* part, void* const* nothing) {
  const extent_t start = eval(q.offset[0], c.names) + eval(q.offset[1], c.names);
  f.start = 0;
  f.offset = start * size_of(q.t);
  switch (at.where) {
    case place::input: f.source = c.input + at.index; break;
    case place::result: f.source = c.result + at.index; break;
    case place::arena:
      f.source = part + at.index;
      f.offset += at.offset * c.part_unit[at.index];
      break;
    case place::sweep: f.source = nothing; break; // each member has its own rows
    default:
      f.source = nothing;
      f.offset = 0;
      f.start = start;
      break;
  }
  f.s = q.s;
  for (int a = 0; a < max_rank; ++a) {
    f.stride[a] = eval(q.stride[a], c.names);
    f.s.d[a] = eval(q.s.d[a], c.names);
  }
}

// A kernel step and its operands.
struct step_operands {
  const detail::step& step;
  const frame_slot* slot; // of the step

  template <class X> const X* in(int k) const { return static_cast<const X*>(slot[k].data()); }
  template <class Y> Y* out() const { return static_cast<Y*>(slot[step.loads].data()); }
  const shape& operand(int k) const { return slot[k].s; }
  const shape& result() const { return slot[step.loads].s; }
  // Of the axis that the attribute names: how many elements stand before it and after it in x.
  int axis() const { return static_cast<int>(step.attr); }
  extent_t before_axis(const shape& x) const { return product(x, 0, axis()); }
  extent_t after_axis(const shape& x) const { return product(x, axis() + 1, x.rank); }
};

} // namespace tapeless::detail
