// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// logaddexp(a, b) = log(exp(a) + exp(b)): sums of numbers whose logarithms are kept.
#pragma once
#include <limits>
#include "elementwise.hpp"
#include "functions.hpp"

namespace tapeless {

// logaddexp(a, b) = log(exp(a) + exp(b)); nothing overflows, and the smaller one counts however far below it lies
// The derivatives are exp(a - y) and exp(b - y), exact, too. Of two equal infinities it is that infinity, with the derivative 0.
// Shapes: the operands broadcast; one may be a number.   Errors: compile errors. The element type is float or double.
// Cost: 14 flops an element of the result.
template <class A, class B>
  requires detail::handle_among<A, B>
constexpr auto logaddexp(const A& a, const B& b) {
  const auto larger = max(a, b);
  const auto endless = a == b && abs(larger) == std::numeric_limits<double>::infinity();
  const auto first = a > b;
  return where(endless, stop_gradient(larger), where(first, a, b) + softplus(where(first, b - a, a - b)));
}

} // namespace tapeless
