#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Reductions over the elements at which a mask is true: x outside it is 0, or -inf, before they reduce. The mask broadcasts to x.
// Flops, n elements in m results, k in the mask: sum n; mean n + k + m; max n, min 2 n + m; softmax 5 n + 4 m; log_softmax 5 n + 3 m;
// variance 6 n + k + 6 m, unbiased 3 m more.

#include "array.hpp"
#include "elementwise.hpp"
#include "loss.hpp"
#include "reduce.hpp"

#include <limits>

namespace ref {

template <class T>
array<T> within(const array<boolean>& mask, const array<T>& x, double outside) {
  return where(mask, x, array<T>({}, T(outside)));
}
template <class T>
array<T> masked_sum(const array<T>& x, const array<boolean>& mask, const dims& over, bool keep = false) {
  return sum(within(mask, x, 0), over, keep);
}
// How many elements count. The mask has x's shape, or the extent 1 where it broadcasts.
template <class T>
array<T> masked_count(const array<T>& x, const array<boolean>& mask, const dims& over, bool keep = false) {
  array<T> one(mask.shape);
  for (std::size_t i = 0; i < one.data.size(); ++i) one.data[i] = T(mask.data[i] != 0 ? 1 : 0);
  dims own; // reduced axes along which the mask does not repeat
  double times = 1;
  for (const std::int64_t axis : over) {
    const std::size_t at = axis_of(x.rank(), axis);
    if (mask.shape[at] == x.shape[at]) own.push_back(axis);
    else times *= static_cast<double>(x.shape[at]);
  }
  const array<T> n = own.empty() ? one : sum(one, own, true);
  const array<T> all = times == 1 ? n : n * constant(T(times));
  const dims kept = reduced_shape(x.shape, axis_set(x.rank(), over), true);
  return {reduced_shape(x.shape, axis_set(x.rank(), over), keep),
          where(array<boolean>(kept, 1), all, all).data};
}
template <class T>
array<T> masked_mean(const array<T>& x, const array<boolean>& mask, const dims& over, bool keep = false) {
  return masked_sum(x, mask, over, keep) / masked_count(x, mask, over, keep);
}
inline constexpr double below_all = -std::numeric_limits<double>::infinity();
template <class T>
array<T> masked_max(const array<T>& x, const array<boolean>& mask, const dims& over) {
  return max(within(mask, x, below_all), over);
}
template <class T>
array<T> masked_min(const array<T>& x, const array<boolean>& mask, const dims& over) {
  return -masked_max(-x, mask, over);
}
template <class T>
array<T> masked_logsumexp(const array<T>& x, const array<boolean>& mask, const dims& over) {
  return logsumexp(within(mask, x, below_all), over);
}
template <class T>
array<T> masked_softmax(const array<T>& x, const array<boolean>& mask, std::int64_t axis = -1) {
  const array<T> q = within(mask, x, below_all), e = exp(q - finite_max(q, {axis}));
  return e * (array<T>({}, T(1)) / (sum(e, {axis}, true) + constant(T(0))));
}
template <class T>
array<T> masked_log_softmax(const array<T>& x, const array<boolean>& mask, std::int64_t axis = -1) {
  return within(mask, log_softmax(within(mask, x, below_all), axis), below_all);
}
template <class T>
array<T> masked_variance(const array<T>& x, const array<boolean>& mask, const dims& over,
                         bool unbiased = false) {
  const array<T> centred = within(mask, x - masked_mean(x, mask, over, true), 0);
  // a count stands in the program once
  const array<double> counted = masked_count(array<double>(x.shape), mask, over);
  array<T> n(counted.shape);
  for (std::size_t i = 0; i < n.data.size(); ++i) n.data[i] = T(counted.data[i]);
  const array<T> v = sum(square(centred), over) / n - square(sum(centred, over) / n);
  const array<T> biased = map<T>(v, [](T y) { return larger(y, T(0)); });
  return unbiased ? biased * (n / (n - constant(T(1)))) : biased;
}

} // namespace ref
