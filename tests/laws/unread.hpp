#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// What nobody reads passes nothing: whatever stands there, value, gradient and Hessian times v are the same, and the
// latter two are 0 there.
#include <doctest/doctest.h>

#include <tapeless/tapeless.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

namespace unread {

namespace tl = tapeless;
using flat = std::vector<double>;

// value, gradient and Hessian times v of F, a function of (x, constants...)
template <const auto& F> constexpr auto derivatives = [](auto x, auto v, auto... constants) {
  return std::tuple{F(x, constants...), tl::grad<0>(F)(x, constants...),
                    tl::hvp<0>([](auto... a) { return F(a...); })(x, constants..., v)};
};
template <class Tree> void append(flat& to, const Tree& tree) {
  tl::detail::for_each_leaf(tree, [&](const auto& leaf) { to.insert(to.end(), leaf.begin(), leaf.end()); });
}
template <class Results> flat joined(const Results& results) {
  flat r;
  append(r, results);
  return r;
}
inline flat spread(std::size_t n, double from, double step) {
  flat x(n);
  for (std::size_t k = 0; k < n; ++k) x[k] = from + step * static_cast<double>(k * 7 % 60);
  return x;
}

// Of numbers that differ the first, and what they are; empty where there is none.
// evaluate(x): value, then the gradient by the elements of x, then H v
template <class F> std::string difference(F evaluate, const flat& x, const std::vector<bool>& is_unread) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const flat right = evaluate(x);
  for (const double poison : {std::numeric_limits<double>::quiet_NaN(), inf, -inf, 0.0, -1.0}) {
    flat poisoned = x;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (is_unread[i]) poisoned[i] = poison;
    const flat got = evaluate(poisoned);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const bool zero = i > 0 && is_unread[(i - 1) % x.size()];
      const bool same = zero ? got[i] == 0 && right[i] == 0
                             : std::abs(got[i] - right[i]) <= 1e-12 * (1 + std::abs(right[i]));
      if (!same)
        return "number " + std::to_string(i) + " of " + std::to_string(got.size()) + " with " +
               std::to_string(poison) + ": " + std::to_string(got[i]) + " in place of " +
               std::to_string(right[i]);
    }
  }
  return "";
}

} // namespace unread
