// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// frame: the values of a plan's monomials. bind fills it, and a run that brings other extents fills it again. Steps only
// read it.
#pragma once
#include "../../core/shape.hpp"
#include "../../plan/backend.hpp"
#include "../../plan/frame.hpp"
#include "../../plan/ir/arena.hpp"
#include "../base/block.hpp"

namespace tapeless::cuda {

template <const auto& P> struct frame {
  static constexpr int slots = P.slots > 0 ? P.slots : 1, steps = P.steps > 0 ? P.steps : 1,
                       extents = P.extents > 0 ? P.extents : 1;
  detail::frame_slot slot[slots];
  index_t loop[steps][max_rank];
  index_t extent[extents];
  void* part[detail::max_parts];
  void* nothing = nullptr; // what an iota reads
  std::byte* shared = nullptr;
  const detail::name_values* names = nullptr;

  void fill(const detail::run_context& c) {
    shared = c.shared;
    names = &c.names;
    for (int k = 0; k < P.parts; ++k) part[k] = c.part[k];
    for (int k = 0; k < P.extents; ++k) extent[k] = detail::eval(P.extent[k], c.names);
    for (int k = 0; k < P.slots; ++k)
      detail::fill_slot(slot[k], P.slot_[k], P.slot_[k].at, c, part, &nothing);
    for (int i = 0; i < P.steps; ++i)
      for (int a = 0; a < P.step_[i].axes; ++a) loop[i][a] = detail::eval(P.step_[i].loop[a], c.names);
  }
};

} // namespace tapeless::cuda
