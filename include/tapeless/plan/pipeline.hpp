// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The passes from the user's function to the plan, in their order. What a pass makes is a constant: a program, at last the plan.
// A pass that has nothing to do passes its program on. Derivatives are no pass here: the function itself asks for them, and
// the trace has their nodes.
#pragma once
#include "../core/tree.hpp"
#include "../expr/program.hpp"
#include "../trace/trace.hpp"
#include "analysis/known_extents.hpp"
#include "backend.hpp"
#include "emit/make_plan.hpp"
#include "rewrite/assign_layouts.hpp"
#include "rewrite/guard_unread.hpp"
#include "row_passes.hpp"

namespace tapeless::detail {

// Of::value: a program
template <class Of> struct adding_guards {
  constexpr raw_program operator()() const { return with_guards(Of::value); }
};
template <class Of> constexpr const auto& guarded_program() {
  constexpr const auto& p = Of::value;
  if constexpr (multiplies_unread(p))
    return made_program<adding_guards<Of>, 2 * p.size + 64, p.output_count>::value;
  else return p;
}
template <class Of> struct guarded {
  static constexpr const auto& value = guarded_program<Of>();
};

template <class Cost, class Of> struct assigning_layouts {
  constexpr raw_program operator()() const { return assign_layouts<Cost>(Of::value); }
};
template <class B, class Of> constexpr const auto& program_with_layouts() {
  constexpr const auto& p = Of::value;
  if constexpr (rules_of<B>().layouts && has_images(p))
    return made_program<assigning_layouts<typename B::cost_model, Of>, 2 * p.size + 16,
                        p.output_count>::value;
  else return p;
}
template <class B, class Of> struct layouts_assigned {
  static constexpr const auto& value = program_with_layouts<B, Of>();
};

// The passes for the back end B; explain_passes.hpp prints what each has made.
template <backend B, class F, class... A> struct pipeline {
  using traced = detail::traced<F, A...>; // f called once with handles; only what its results need
  using rows_selected = detail::rows_selected<typename B::cost_model, traced>; // no rows that nobody asks for
  using guarded = detail::guarded<rows_selected>; // what is left of such rows passes nothing
  using laid_out = layouts_assigned<B, guarded>;  // images as kernels take them, NCHW or NHWC
};
template <class B, class F, class... A> using laid_out_for = typename pipeline<B, F, A...>::laid_out;
template <class F, class... A> using laid_out = laid_out_for<backend_of<A...>, F, A...>;

template <class... A> constexpr int leaves_of_first() {
  int n[] = {count_leaves<A>()..., 0};
  return n[0];
}
template <bool Holds>
concept extents_have_values = Holds;
// The last pass: loops, sweeps, buffers and their code.   Load: the leaves of the first argument are loaded once for many runs.
template <bool Load, class B, class F, class... A> struct planned_for {
  static constexpr auto value = [] {
    // automatic: a static one would be data at -O0
    constexpr auto roomy =
        make_plan(laid_out_for<B, F, A...>::value, Load ? leaves_of_first<A...>() : 0, rules_of<B>());
    static_assert(
        extents_have_values<extents_are_known(roomy, names_of_arguments<A...>())>,
        "tapeless: jit(f): each named extent is that of an argument, or of a selection that a step counts "
        "before it is read");
    return roomy.template trimmed<roomy.counts()>();
  }();
};
template <bool Load, class F, class... A> using planned_with = planned_for<Load, backend_of<A...>, F, A...>;
template <class F, class... A> using planned = planned_with<false, F, A...>;

} // namespace tapeless::detail
