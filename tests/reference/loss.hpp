#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// softmax(x)     = exp(x - m) * (1 / sum(exp(x - m))), m = finite_max(x)     along one axis
// log_softmax(x) = x - m - log(sum(exp(x - m)))                        along one axis
// softmax_cross_entropy(x, label)[n..] = log(sum(exp(x - m))) - sum_c (c == label[n..] ? (x - m)[n.., c] : 0)
//   x: (n.., C)   label: (n..)
// entropy_of_labels(x, label, w, e)[n..] = sum_c q[n.., c] w[c] (log(sum(exp(x - m))) - (x - m)[n.., c]), q = (1 - e) onehot(label) + e / C
// entropy_of_probabilities(x, p, w, e): the same of q = (1 - e) p + e / C
// mse(a, b)      = mean((a - b)^2)                                     rank 0
// Flops, n elements in m rows: softmax 5 n + 3 m; log_softmax 5 n + 3 m; softmax_cross_entropy 6 n + 4 m,
// with weights m more, with smoothing n + 6 m more, with both 2 n + C + 7 m; entropy_of_probabilities 9 n + 5 m, with weights n more, with
// smoothing 2 n + 1 more; mse 3 n + 1.

#include "array.hpp"
#include "elementwise.hpp"
#include "reduce.hpp"

#include <limits>

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

// w: (C), or of rank 0: 1
template <class T>
array<T> entropy_of_labels(const array<T>& x, const array<std::int32_t>& label, const array<T>& w, double e) {
  const bool weighs = w.rank() == 1;
  const array<T> shifted = x - finite_max(x, {-1});
  const array<T> total = log(sum(exp(shifted), {-1}));
  array<T> picked(label.shape), weight(label.shape, T(1));
  for_each_index(x.shape, [&](const dims& j) {
    const dims i(j.begin(), j.end() - 1);
    const bool hit = T(static_cast<double>(j.back())) == T(static_cast<double>(label.at(i)));
    picked.at(i) += hit ? shifted.at(j) : T(0);
    if (weighs && j.back() == label.at(i)) weight.at(i) = w(j.back());
  });
  array<T> loss = total - picked;
  if (weighs) loss = loss * weight;
  if (e == 0) return loss;
  const double classes = static_cast<double>(x.shape.back());
  const array<T> all = weighs ? sum(w, {0}) : constant(T(classes));
  const array<T> others = total * all - sum(weighs ? shifted * w : shifted, {-1});
  return loss * constant(T(1 - e)) + others * constant(T(e / classes));
}
template <class T>
array<T> entropy_of_probabilities(const array<T>& x, const array<T>& p, const array<T>& w, double e) {
  const double classes = static_cast<double>(x.shape.back());
  const array<T> q = e == 0 ? p : p * constant(T(1 - e)) + constant(T(e / classes));
  const array<T> t = w.rank() == 1 ? q * w : q;
  const array<T> shifted = x - finite_max(x, {-1});
  const array<T> term = zip<T>(t, shifted, [](T y, T z) {
    const bool none = y == T(0), out = z == T(-std::numeric_limits<double>::infinity());
    const T product = y * z;
    return none && out ? T(0) : product;
  });
  return sum(t, {-1}) * log(sum(exp(shifted), {-1})) - sum(term, {-1});
}
template <class T>
array<T> mse(const array<T>& a, const array<T>& b) {
  return mean(square(a - b));
}

} // namespace ref
