#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// softmax(x)     = exp(x - m) * (1 / sum(exp(x - m))), m = finite_max(x)     along one axis
// log_softmax(x) = x - m - log(sum(exp(x - m)))                        along one axis
// softmax_cross_entropy(x, label)[n..] = log(sum(exp(x - m))) - sum_c (c == label[n..] ? (x - m)[n.., c] : 0)
//   x: (n.., C)   label: (n..)
// mse(a, b)      = mean((a - b)^2)                                     rank 0
// Flops, n elements in m rows: softmax 5 n + 3 m; log_softmax 5 n + 3 m; softmax_cross_entropy 6 n + 4 m;
// mse 3 n + 1.

#include "array.hpp"
#include "elementwise.hpp"
#include "reduce.hpp"

namespace ref {

template <class T>
array<T> softmax(const array<T>& x, std::int64_t axis = -1) {
  const array<T> e = exp(x - finite_max(x, {axis}));
  return e * (array<T>({}, T(1)) / sum(e, {axis}, true));
}

template <class T>
array<T> log_softmax(const array<T>& x, std::int64_t axis = -1) {
  const array<T> shifted = x - finite_max(x, {axis});
  return shifted - log(sum(exp(shifted), {axis}, true));
}

// The label is found by comparison with every class. One outside 0 .. C - 1 throws std::out_of_range.
template <class T>
array<T> softmax_cross_entropy(const array<T>& x, const array<std::int32_t>& label) {
  const array<T> shifted = x - finite_max(x, {-1});
  const array<T> total = log(sum(exp(shifted), {-1}));
  if (label.shape != total.shape) throw std::invalid_argument("reference: labels of another shape");
  for (const std::int32_t k : label.data)
    if (k < 0 || k >= x.shape.back()) throw std::out_of_range("reference: label out of range");
  array<T> picked(label.shape);
  for_each_index(x.shape, [&](const dims& j) {
    const dims i(j.begin(), j.end() - 1);
    const bool hit = T(static_cast<double>(j.back())) == T(static_cast<double>(label.at(i)));
    picked.at(i) += hit ? shifted.at(j) : T(0);
  });
  return total - picked;
}

template <class T>
array<T> mse(const array<T>& a, const array<T>& b) {
  return mean(square(a - b));
}

} // namespace ref
