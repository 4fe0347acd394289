#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// einsum("ij,jk->ik", a, b): one loop over every letter. One or two operands, no ellipsis.
// Flops: a product for each index of all letters, an addition where a letter is summed.

#include "array.hpp"

#include <map>
#include <string>
#include <vector>

namespace ref {

template <class T>
array<T> einsum(const std::string& subscripts, const std::vector<array<T>>& operands) {
  std::vector<std::string> letters(1);
  std::string result;
  const std::size_t arrow = subscripts.find("->");
  for (const char c : subscripts.substr(0, arrow)) {
    if (c == ',') letters.emplace_back();
    else letters.back() += c;
  }
  result = subscripts.substr(arrow + 2);
  std::map<char, std::int64_t> extent;
  for (std::size_t k = 0; k < operands.size(); ++k)
    for (std::size_t i = 0; i < letters[k].size(); ++i) extent[letters[k][i]] = operands[k].shape[i];
  std::string all = result;
  for (const auto& [c, n] : extent)
    if (result.find(c) == std::string::npos) all += c;
  const auto of = [&](const std::string& names) {
    dims s;
    for (const char c : names) s.push_back(extent[c]);
    return s;
  };
  array<T> y(of(result));
  const bool sums = all.size() > result.size();
  for_each_index(of(all), [&](const dims& i) {
    const auto index = [&](const std::string& names) {
      dims at;
      for (const char c : names) at.push_back(i[all.find(c)]);
      return at;
    };
    T term = operands[0].at(index(letters[0]));
    for (std::size_t k = 1; k < operands.size(); ++k) term = term * operands[k].at(index(letters[k]));
    T& to = y.at(index(result));
    to = sums ? to + term : term;
  });
  return y;
}

} // namespace ref
