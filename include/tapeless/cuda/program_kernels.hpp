// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The kernels of a program, without a device:
//   program_kernels<F, A...>()    of jit(F) for arguments A...: what bind needs, in the order of the steps
//   plan_kernels<P>()             of a plan
// Names, as kernel_store::prepare and kernel_store::write take them. They do not depend on the values of named extents.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>
#include "../core/shape.hpp"
#include "../core/tree.hpp"
#include "../plan/backend.hpp"
#include "../plan/ir/step.hpp"
#include "../plan/pipeline.hpp"
#include "backend.hpp"
#include "exec/frame.hpp"
#include "exec/kernel_list.hpp"
#include "kernels/shape.hpp"
#include "rtc/kernel_name.hpp"

namespace tapeless::cuda {

// How many arguments and results the operands of P are of.
template <const auto& P> constexpr int most_places() {
  int n = 1;
  const auto count = [&](const detail::location& l) {
    if ((l.where == detail::place::input || l.where == detail::place::result) && l.index >= n)
      n = l.index + 1;
  };
  for (int k = 0; k < P.slots; ++k) count(P.slot_[k].at);
  return n;
}

// names: those of the arguments' extents
template <const auto& P> std::vector<std::string> plan_kernels(detail::name_values names) {
  for (int k = 0; k < P.counted; ++k) names.add(P.count[k].name);
  for (int k = 0; k < names.count; ++k) names.value[static_cast<std::size_t>(k)] = 1;
  // Steps compute addresses from these, and nobody reads there.
  alignas(64) static std::byte nowhere[64];
  void* place[most_places<P>()];
  for (void*& p : place) p = nowhere;
  detail::run_context c{};
  c.names = names;
  c.input = c.result = place;
  for (std::byte*& p : c.part) p = nowhere;
  for (extent_t& unit : c.part_unit) unit = 1;
  c.scratch = c.shared = c.packed = nowhere;
  frame<P> f;
  f.fill(c);
  std::vector<std::string> r;
  backend<kernel_list>::each_step<P>(kernel_list{&r}, f);
  return r;
}
template <class F, class... A> std::vector<std::string> program_kernels() {
  std::vector<std::string> r = plan_kernels<detail::planned_for<false, backend<kernel_list>, F, A...>::value>(
      detail::names_of_arguments<A...>());
  if constexpr ((detail::number<A> || ...)) r.push_back(kernel_name<store_kernel>()); // no step has it
  return r;
}

} // namespace tapeless::cuda
