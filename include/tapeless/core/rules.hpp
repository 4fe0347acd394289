// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// rule_watch: which rule a trace broke first, and the shapes that broke it. trace/misuse.hpp makes it the first line of
// the compile error; until then the trace goes on with any value of the right type.
#pragma once
#include "shape.hpp"

namespace tapeless::detail {

// Called in constant evaluation only if a rule is broken. The call is the compile error, since the function is not
// constexpr, and its argument is the message.
inline void misuse(const char*) {}
constexpr void require(bool holds, const char* rule) {
  if (!holds) misuse(rule);
}

struct broken_rule {
  bool found = false;
  const char* rule = "";
  shape a{}, b{};
};

// Holds for no X. A static_assert of it fails with its message once it is instantiated.
template <class... X>
concept never = sizeof...(X) > 1000;

// What a tensor belongs to: a handle to the graph of a trace; a view to the run that made it, or to nothing.
struct tensor_owner {};

struct rule_watch : tensor_owner {
  broken_rule broken;
  bool stop_at_misuse = false; // to get the call stack of the broken rule

  constexpr bool sound() const { return !broken.found; }
  constexpr bool require(bool holds, const char* rule, const shape& a = {}, const shape& b = {}) {
    return holds || broken_by(rule, a, b); // one statement where the rule holds
  }

private:
  constexpr bool broken_by(const char* rule, const shape& a, const shape& b) {
    if (stop_at_misuse) misuse(rule);
    if (sound()) broken = {true, rule, a, b};
    return false;
  }
};

} // namespace tapeless::detail
