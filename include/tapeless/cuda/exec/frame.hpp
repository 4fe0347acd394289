// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// frame: the values of a plan's monomials. bind fills it, and a run that brings other extents fills it again. Steps only
// read it.
#pragma once
#include <algorithm>
#include <cstddef>
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
  detail::run_context* context = nullptr;
  index_t* count = nullptr;      // of each counted extent, in memory of the device
  index_t most[P.counted + 1];   // and what it is at most
  index_t each[steps][max_rank]; // of a counted loop axis: elements for each row

  void fill(detail::run_context& c) {
    shared = c.shared;
    context = &c;
    count = reinterpret_cast<index_t*>(c.packed);
    // Places are for as many rows as can be counted; what is multiplied by a count has 1 instead.
    detail::run_context full = c;
    for (int k = 0; k < P.counted; ++k)
      most[k] = value_of(full.names, k) =
          std::min(P.count[k].most, detail::eval(P.count[k].rows, full.names));
    detail::name_values ones = c.names;
    for (int k = 0; k < P.counted; ++k) value_of(ones, k) = 1;
    for (int k = 0; k < P.parts; ++k) part[k] = c.part[k];
    for (int k = 0; k < P.extents; ++k) extent[k] = detail::eval(P.extent[k], ones);
    for (int k = 0; k < P.slots; ++k)
      detail::fill_slot(slot[k], P.slot_[k], P.slot_[k].at, full, part, &nothing);
    for (int i = 0; i < P.steps; ++i)
      for (int a = 0; a < P.step_[i].axes; ++a) {
        loop[i][a] = detail::eval(P.step_[i].loop[a], full.names);
        each[i][a] = detail::eval(P.step_[i].loop[a], ones);
      }
  }

private:
  static extent_t& value_of(detail::name_values& names, int counted) {
    return names.value[static_cast<std::size_t>(names.find(P.count[counted].name))];
  }
};

} // namespace tapeless::cuda
