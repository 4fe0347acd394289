// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// What run/ asks of a back end.
#pragma once
#include <cstddef>
#include "../core/extent.hpp"
#include "emit/make_plan.hpp" // IWYU pragma: export
#include "ir/step.hpp"

namespace tapeless::detail {

// The back end for tensors that live in Space: specialised by cpu/, cuda/.
template <class Space> struct backend_for;

// What is planned for B: B::rules; without them all of it.
template <class B> constexpr plan_rules rules_of() {
  if constexpr (requires { B::rules; }) return B::rules;
  else return {};
}

// What a frame is filled from. The arrays stay where they are for the life of the bound object.
struct run_context {
  name_values names;  // values of the named extents in this run
  void* const* input; // leaf by leaf
  void* const* result;
  std::byte* part[max_parts];    // arena parts
  extent_t part_unit[max_parts]; // the value of each part's product of names at bind
  std::byte* scratch;            // of member 0; the next member's follows
  std::byte* shared;
  std::byte* packed; // what a load packs, and what of a run outlasts a step
};

// B::frame_type<P>: what B keeps for a bound program; frame.fill(context) when the named extents have changed
// B::conv_ns(node, a, b), B::reorder_ns(n), B::image_reorder_ns(n): what a convolution of operands with these shapes and the
// node's type takes, in the layout that the node says, and a copy of n elements in another order, at once or a few images
// at a time (plan/analysis/batch_tiles.hpp); constexpr, only ratios count
// B::product_ns(flops), B::elementwise_ns(flops), B::move_ns(n), B::memory_ns(bytes), B::cache_bytes: of products, of
// elementwise ops, of n elements of selected rows that are moved, of what the caches do not hold; constexpr
// B::scratch<P>():  bytes: .each of a member, .shared of one step after another, .packed for all of them; constexpr
// B::run_step<P, I>(team, frame); B::load_step<P, I>(team, frame): what a load does for it
template <class B>
concept backend = requires {
  typename B::team_type;
  typename B::space;
};

} // namespace tapeless::detail
