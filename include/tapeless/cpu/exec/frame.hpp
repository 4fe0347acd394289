// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// frame: the values of a plan's monomials. bind fills it, and a run that brings other extents fills it again. Steps only
// read it.
#pragma once
#include <type_traits>
#include "../../ops/matmul.hpp"
#include "../../plan/frame.hpp"
#include "../../plan/ir/step.hpp"
#include "../base/operand.hpp" // IWYU pragma: export
#include "full_selection.hpp"  // IWYU pragma: export

namespace tapeless::cpu {

// The frame of one program, in the block that bind allocates.
template <const auto& P> struct frame {
  static constexpr int slots = P.slots > 0 ? P.slots : 1, steps = P.steps > 0 ? P.steps : 1,
                       extents = P.extents > 0 ? P.extents : 1;
  frame_slot slot[slots];
  frame_step step[steps];
  index_t extent[extents];
  detail::name_values names;
  void* part[detail::max_parts];
  void* nothing = nullptr; // what an iota reads
  std::byte* scratch = nullptr;
  std::byte* shared = nullptr;
  std::byte* packed = nullptr;
  detail::run_context* context = nullptr; // the source of fill
  std::conditional_t<(P.counted > 0), full_selection<P>, no_full_selection> selection;

  // A step has found a data-dependent extent: the steps after it use it.
  void set_count(char name, index_t n) {
    index_t& known = context->names.value[static_cast<std::size_t>(names.find(name))];
    if (known == n) return;
    known = n;
    fill(*context);
  }
  void fill(detail::run_context& c) {
    using detail::eval;
    context = &c;
    names = c.names;
    scratch = c.scratch;
    shared = c.shared;
    packed = c.packed;
    for (int k = 0; k < P.parts; ++k) part[k] = c.part[k];
    for (int k = 0; k < P.extents; ++k) extent[k] = eval(P.extent[k], names);
    for (int k = 0; k < P.slots; ++k) {
      const detail::slot& q = P.slot_[k];
      const detail::location& at = [&]() -> const detail::location& {
        if constexpr (P.counted > 0) return selection.at(k, names);
        else return q.at;
      }();
      detail::fill_slot(slot[k], q, at, c, part, &nothing);
    }
    for (int i = 0; i < P.steps; ++i) {
      const detail::step& s = P.step_[i];
      frame_step& f = step[i];
      f.slot = slot + s.slot0;
      f.extent = extent + s.extent0;
      index_t inner = 1;
      for (int a = 0; a < s.axes; ++a) {
        f.loop[a] = eval(s.loop[a], names);
        if (a > 0) inner *= f.loop[a];
      }
      if (s.o == op::matmul) f.matmul = matmul_of(s, f.slot[0].s, f.slot[1].s, f.slot[2].s);
      if (s.axes == 0) continue;
      const detail::chunking cut = detail::chunks_of(f.loop[0], inner, s.axes == 1);
      f.chunk = cut.size;
      f.chunks = cut.count;
      f.empty = f.loop[0] == 0 || inner == 0;
    }
  }
};

} // namespace tapeless::cpu
