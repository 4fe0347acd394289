// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// joined(a, b, ...): strings and numbers in one text, for messages and reports.
#pragma once
#include <string>
#include <type_traits>

namespace tapeless::detail {

template <class X> void append(std::string& s, const X& x) {
  if constexpr (std::is_integral_v<X> && !std::is_same_v<X, char>) {
    const std::string digits = std::to_string(x);
    s.append(digits);
  } else s += x;
}
// Appends only: g++ 12 warns of overlapping copies where operator+ inserts at the front.
template <class... X> std::string joined(const X&... x) {
  std::string s;
  (append(s, x), ...);
  return s;
}

} // namespace tapeless::detail
