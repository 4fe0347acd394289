#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// softmax(x)     = exp(x - max) / sum(exp(x - max))                    along one axis; 5 flops per element
// log_softmax(x) = x - logsumexp(x)                                    along one axis
// softmax_cross_entropy(x, label)[n..] = logsumexp(x[n.., :]) - x[n.., label[n..]]
//   x: (n.., C)   label: (n..)
// mse(a, b)      = mean((a - b)^2)                                     rank 0

#include "array.hpp"
#include "elementwise.hpp"
#include "reduce.hpp"

namespace ref {

template <class T>
array<T> softmax(const array<T>& x, std::int64_t axis = -1) {
  const array<T> e = exp(x - max(x, {axis}, true));
  return e / sum(e, {axis}, true);
}

template <class T>
array<T> log_softmax(const array<T>& x, std::int64_t axis = -1) {
  return x - logsumexp(x, {axis}, true);
}

// A label outside 0 .. C - 1 throws std::out_of_range.
template <class T>
array<T> softmax_cross_entropy(const array<T>& x, const array<std::int32_t>& label) {
  const array<T> total = logsumexp(x, {-1});
  if (label.shape != total.shape) throw std::invalid_argument("reference: labels of another shape");
  array<T> picked(label.shape);
  for_each_index(label.shape, [&](const dims& i) {
    dims j = i;
    j.push_back(label.at(i));
    picked.at(i) = x.at(j);
  });
  return total - picked;
}

template <class T>
array<T> mse(const array<T>& a, const array<T>& b) {
  return mean(square(a - b));
}

} // namespace ref
