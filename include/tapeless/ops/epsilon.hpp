// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// eps, a small number as an argument: an integer in its place is an axis, or a count of axes, and gets a message.
#pragma once
#include <concepts>
#include "../core/rules.hpp"

namespace tapeless::detail {

struct epsilon {
  double value;
  template <std::floating_point E> constexpr epsilon(E e) : value(static_cast<double>(e)) {}
  template <std::integral E> constexpr epsilon(E e) : value(static_cast<double>(e)) {
    static_assert(
        never<E>,
        "tapeless: op(a, eps): eps is a floating-point number, as 1e-5; an axis or a count of axes is a "
        "template argument, as in layer_norm<2>(x), cosine_similarity<1>(a, b)");
  }
};

} // namespace tapeless::detail
