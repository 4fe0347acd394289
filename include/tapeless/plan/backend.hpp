// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// What run/ asks of a back end. Everything but run_step is constexpr.
#pragma once
#include <cstddef>
#include "plan.hpp"

namespace tapeless::detail {

// The back end for tensors that live in Space: specialised by cpu/, cuda/.
template <class Space> struct backend_for;

// One run's pointers and extents, as a step sees them.
struct run_context {
  name_values names;            // the values of this run
  void* const* input;           // leaf by leaf
  void* const* result;
  std::byte* part[max_parts];   // arena parts
  extent_t part_unit[max_parts]; // the value of each part's product of names at bind
  std::byte* scratch;           // of member 0; the next member's follows
  std::byte* shared;
};

// B::scratch_bytes<P>()  for each member of its team        B::shared_bytes<P>()
// B::run_step<P, I>(team, context)
template <class B>
concept backend = requires {
  typename B::team_type;
  typename B::space;
};

} // namespace tapeless::detail
