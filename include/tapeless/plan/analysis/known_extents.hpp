// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// extents_are_known(plan, names of the arguments): does each named extent have a value when it is read? An argument has
// it, or a selection has counted it before.
#pragma once
#include "../../core/tree.hpp"
#include "../../expr/handle.hpp"
#include "../ir/step.hpp"

namespace tapeless::detail {

constexpr std::uint64_t names_read(const slot& q) {
  std::uint64_t r = set_of_names(q.offset[0]) | set_of_names(q.offset[1]);
  for (int a = 0; a < max_rank; ++a) r |= set_of_names(q.stride[a]) | set_of_names(q.s.d[a]);
  return r;
}
constexpr std::uint64_t names_read(const polynomial& p) {
  std::uint64_t r = 0;
  for (int k = 0; k < p.size(); ++k) r |= set_of_packed(p[k].names);
  return r;
}

// The named extents of the arguments, read by a result or not. At most max_names: the graph has seen to it.
template <class... A> constexpr name_values names_of_arguments() {
  name_values v;
  const auto add = [&v](auto argument) {
    for_each_leaf(argument, [&v](auto& leaf) {
      using H = std::remove_cvref_t<decltype(leaf)>;
      if constexpr (typed_handle<H>)
        for (int i = 0; i < H::names.count; ++i) v.add(H::names.name[static_cast<std::size_t>(i)]);
    });
  };
  (add(A{}), ...);
  return v;
}

template <class Plan> constexpr bool extents_are_known(const Plan& p, const name_values& of_arguments) {
  std::uint64_t known = 0;
  for (int k = 0; k < of_arguments.count; ++k)
    known |= std::uint64_t{1} << name_code(of_arguments.name[static_cast<std::size_t>(k)]);
  const auto knows = [&](std::uint64_t names) { return (names & ~known) == 0; };
  // before the first step
  for (int k = 0; k < p.checks; ++k)
    if (!knows(set_of_names(p.check[k].bound))) return false;
  for (int k = 0; k < p.limits; ++k)
    if (!knows(set_of_names(p.limit[k].of))) return false;
  for (int k = 0; k < p.steps; ++k) {
    const step& s = p.step_[k];
    std::uint64_t read = 0;
    for (int a = 0; a < s.axes; ++a) read |= set_of_names(s.loop[a]);
    for (int j = 0; j < s.extents; ++j) read |= set_of_names(p.extent[s.extent0 + j]);
    const int end = k + 1 < p.steps ? p.step_[k + 1].slot0 : p.slots;
    for (int j = s.slot0; j < end; ++j) {
      const std::uint64_t of_slot = names_read(p.slot_[j]);
      if (s.o == op::select && j == s.slot0 + s.loads) known |= of_slot; // what it counts
      read |= of_slot;
    }
    if (!knows(read)) return false;
  }
  for (int k = 0; k < p.results; ++k)
    if (!knows(names_read(p.result[k]))) return false;
  for (int k = 0; k < p.parts; ++k)
    if (!knows(set_of_packed(p.part_names[k]))) return false;
  return knows(names_read(p.cost.flops()) | names_read(p.cost.bytes()) | names_read(p.cost.arena));
}

} // namespace tapeless::detail
