#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// y[kept axes] = fold over the reduced axes of x, for any set of axes; keepdims leaves them with extent 1.
// Flops, n elements into m results: sum, max, argmax, argmin n; mean n + m; min 2 n + m; logsumexp 4 n + 5 m, two of the latter to make the
// maximum finite.

#include "array.hpp"
#include "elementwise.hpp"

#include <algorithm>

namespace ref {

// Which axes are reduced; an axis given twice is an error.
inline std::vector<bool> axis_set(std::size_t rank, const dims& axes) {
  std::vector<bool> reduced(rank, false);
  for (std::int64_t axis : axes) {
    if (reduced[axis_of(rank, axis)]) throw std::invalid_argument("reference: axis reduced twice");
    reduced[axis_of(rank, axis)] = true;
  }
  return reduced;
}

inline dims all_axes(std::size_t rank) {
  dims axes(rank);
  for (std::size_t axis = 0; axis < rank; ++axis) axes[axis] = static_cast<std::int64_t>(axis);
  return axes;
}

inline dims reduced_shape(const dims& shape, const std::vector<bool>& reduced, bool keepdims) {
  dims result;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (!reduced[axis]) result.push_back(shape[axis]);
    else if (keepdims) result.push_back(1);
  }
  return result;
}

// The index of the result (with keepdims) that an element of x falls into.
inline dims reduced_index(const dims& index, const std::vector<bool>& reduced) {
  dims result = index;
  for (std::size_t axis = 0; axis < index.size(); ++axis)
    if (reduced[axis]) result[axis] = 0;
  return result;
}

template <class T, class F>
array<T> fold(const array<T>& x, const dims& axes, bool keepdims, T start, F f) {
  const std::vector<bool> reduced = axis_set(x.rank(), axes);
  array<T> y(reduced_shape(x.shape, reduced, true), start);
  for_each_index(x.shape, [&](const dims& i) {
    T& result = y.at(reduced_index(i, reduced));
    result = f(result, x.at(i));
  });
  return {reduced_shape(x.shape, reduced, keepdims), y.data};
}

inline std::int64_t reduced_count(const dims& shape, const dims& axes) {
  const std::vector<bool> reduced = axis_set(shape.size(), axes);
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    if (reduced[axis]) count *= shape[axis];
  return count;
}

template <class T>
array<T> sum(const array<T>& x, const dims& axes, bool keepdims = false) {
  return fold(x, axes, keepdims, T(0), [](T a, T b) { return static_cast<T>(a + b); });
}

// NaN where nothing is averaged.
template <class T>
array<T> mean(const array<T>& x, const dims& axes, bool keepdims = false) {
  return sum(x, axes, keepdims) / constant(T(static_cast<double>(reduced_count(x.shape, axes))));
}

// A NaN wins; the maximum of nothing throws.
template <class T>
array<T> max(const array<T>& x, const dims& axes, bool keepdims = false) {
  if (reduced_count(x.shape, axes) == 0) throw std::invalid_argument("reference: maximum of nothing");
  return fold(x, axes, keepdims, lowest<T>(), larger<T>);
}

template <class T>
array<T> min(const array<T>& x, const dims& axes, bool keepdims = false) {
  return -max(-x, axes, keepdims);
}

// max(x), the finite number next to it where that is infinite: what exp(x - m) is shifted by.
// 2 flops an element of the result more
template <class T>
array<T> finite_max(const array<T>& x, const dims& axes) {
  using limits = std::numeric_limits<std::conditional_t<std::is_same_v<T, float>, float, double>>;
  array<T> m = max(x, axes, true);
  for (T& value : m.data) {
    if (value > T(limits::max())) value = limits::max();
    if (value < T(limits::lowest())) value = limits::lowest();
  }
  return m;
}

// max(x) + log(sum(exp(x - m))), m = finite_max(x). To the sum the library adds what vanishes beside 1.
template <class T>
array<T> logsumexp(const array<T>& x, const dims& axes, bool keepdims = false) {
  const array<T> m = finite_max(x, axes);
  const array<T> kept = m + log(sum(exp(x - m), axes, true) + constant(T(0)));
  return {reduced_shape(x.shape, axis_set(x.rank(), axes), keepdims), kept.data};
}

// Does a challenger replace the maximum (least: the minimum) so far? Only if larger (less), or the first NaN.
template <class T>
bool beats(T challenger, T best, bool least = false) {
  const bool is_better = least ? challenger < best : challenger > best;
  return is_better || (is_nan(challenger) && !is_nan(best));
}

// Position of the first maximum or minimum, row-major within the reduced axes; the first NaN wins; of nothing throws.
template <class T>
array<std::int32_t> arg_extreme(const array<T>& x, const dims& axes, bool keepdims, bool least) {
  if (reduced_count(x.shape, axes) == 0) throw std::invalid_argument("reference: argmax of nothing");
  const std::vector<bool> reduced = axis_set(x.rank(), axes);
  array<std::int32_t> y(reduced_shape(x.shape, reduced, true));
  array<T> best(y.shape);
  for_each_index(x.shape, [&](const dims& i) {
    std::int64_t position = 0;
    for (std::size_t axis = 0; axis < i.size(); ++axis)
      if (reduced[axis]) position = position * x.shape[axis] + i[axis];
    const dims result = reduced_index(i, reduced);
    if (beats(x.at(i), best.at(result), least) || position == 0) {
      best.at(result) = x.at(i);
      y.at(result) = static_cast<std::int32_t>(position);
    }
  });
  return {reduced_shape(x.shape, reduced, keepdims), y.data};
}
template <class T>
array<std::int32_t> argmax(const array<T>& x, const dims& axes, bool keepdims = false) {
  return arg_extreme(x, axes, keepdims, false);
}
template <class T>
array<std::int32_t> argmin(const array<T>& x, const dims& axes, bool keepdims = false) {
  return arg_extreme(x, axes, keepdims, true);
}

template <class T>
array<T> sum(const array<T>& x) {
  return sum(x, all_axes(x.rank()));
}
template <class T>
array<T> mean(const array<T>& x) {
  return mean(x, all_axes(x.rank()));
}
template <class T>
array<T> max(const array<T>& x) {
  return max(x, all_axes(x.rank()));
}
template <class T>
array<T> min(const array<T>& x) {
  return min(x, all_axes(x.rank()));
}
template <class T>
array<T> logsumexp(const array<T>& x) {
  return logsumexp(x, all_axes(x.rank()));
}
template <class T>
array<std::int32_t> argmax(const array<T>& x) {
  return argmax(x, all_axes(x.rank()));
}

} // namespace ref
