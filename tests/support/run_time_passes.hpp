// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Every pass runs once more before main, for .ci/coverage: gcov does not see what the compiler evaluates.
// A file is compiled with -include of this header.
#include <tapeless/plan/pipeline.hpp>

namespace tapeless::detail {

// T, with the constants that T has without this header
template <class T> struct compiled : T {};
template <class T> inline constexpr bool is_compiled = false;
template <class T> inline constexpr bool is_compiled<compiled<T>> = true;

// Of a constant that takes the address of runs_again<Make> the pass Make runs, too. No constexpr function: a compiler would
// evaluate it.
template <class Make> bool run_again() {
  static_cast<void>(Make{}());
  return true;
}
template <class Make> inline const bool runs_again = run_again<Make>();

template <class Make, int Room, int Outputs>
  requires(!is_compiled<Make>)
struct made_program<Make, Room, Outputs> {
  using constant = made_program<compiled<Make>, Room, Outputs>;
  static constexpr const auto& checked = (static_cast<void>(&runs_again<Make>), constant::checked);
  static constexpr const auto& value = checked.value;
};

// The last pass, and what a bound program asks of the back end
template <bool Load, class B, class F, class... A> struct planning {
  auto operator()() const {
    constexpr const auto& planned = planned_for<Load, compiled<B>, F, A...>::value;
    auto program = laid_out_for<B, F, A...>::value; // no constant, and so the compiler cannot make the plan
    auto roomy = make_plan(program, Load ? leaves_of_first<A...>() : 0, rules_of<B>());
    static_cast<void>(B::template scratch<planned>());
    return roomy.template trimmed<planned.counts()>();
  }
};
template <bool Load, class B, class F, class... A>
  requires(!is_compiled<B>)
struct planned_for<Load, B, F, A...> {
  static constexpr const auto& value = (static_cast<void>(&runs_again<planning<Load, B, F, A...>>),
                                        planned_for<Load, compiled<B>, F, A...>::value);
};

} // namespace tapeless::detail
