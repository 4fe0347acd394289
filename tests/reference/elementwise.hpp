#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// y[i] = f(x[i]) and y[i] = f(a[i], b[i]), with NumPy broadcasting: shapes are aligned at their last axes,
// and an extent of 1 (or an absent axis) repeats. max and min: a NaN wins. relu(x) = max(x, 0).
// Flops per element: 1 each for + - * / neg square sqrt exp log tanh erf pow relu max min and comparisons;
// 4 for sigmoid = 1 / (1 + exp(-x)); 0 for where.

#include "array.hpp"

#include <algorithm>
#include <cmath>

namespace ref {

inline dims broadcast_shape(const dims& a, const dims& b) {
  const std::size_t rank = std::max(a.size(), b.size());
  dims result(rank);
  for (std::size_t i = 0; i < rank; ++i) { // i counts axes from the back
    const std::int64_t extent_a = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t extent_b = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (extent_a != extent_b && extent_a != 1 && extent_b != 1)
      throw std::invalid_argument("reference: extents " + std::to_string(extent_a) + " and " +
                                  std::to_string(extent_b) + " do not broadcast");
    result[rank - 1 - i] = extent_a == 1 ? extent_b : extent_a;
  }
  return result;
}

// The index into an array of this shape that an index of a broadcast result reads.
inline dims broadcast_index(const dims& shape, const dims& index) {
  dims result(shape.size());
  const std::size_t skipped = index.size() - shape.size();
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    result[axis] = shape[axis] == 1 ? 0 : index[axis + skipped];
  return result;
}

template <class R, class T, class F>
array<R> map(const array<T>& x, F f) {
  array<R> y(x.shape);
  for (std::size_t i = 0; i < x.data.size(); ++i) y.data[i] = f(x.data[i]);
  return y;
}

template <class R, class T, class F>
array<R> zip(const array<T>& a, const array<T>& b, F f) {
  array<R> y(broadcast_shape(a.shape, b.shape));
  for_each_index(y.shape, [&](const dims& i) {
    y.at(i) = f(a.at(broadcast_index(a.shape, i)), b.at(broadcast_index(b.shape, i)));
  });
  return y;
}

// The larger (smaller) of two scalars; a NaN wins; 1 flop.
template <class T>
T larger(T a, T b) {
  const bool b_wins = a < b;
  if (is_nan(a)) return a;
  if (is_nan(b)) return b;
  return b_wins ? b : a;
}
template <class T>
T smaller(T a, T b) {
  const bool b_wins = b < a;
  if (is_nan(a)) return a;
  if (is_nan(b)) return b;
  return b_wins ? b : a;
}

template <class T>
array<T> operator+(const array<T>& a, const array<T>& b) {
  return zip<T>(a, b, [](T x, T y) { return static_cast<T>(x + y); });
}
template <class T>
array<T> operator-(const array<T>& a, const array<T>& b) {
  return zip<T>(a, b, [](T x, T y) { return static_cast<T>(x - y); });
}
template <class T>
array<T> operator*(const array<T>& a, const array<T>& b) {
  return zip<T>(a, b, [](T x, T y) { return static_cast<T>(x * y); });
}
template <class T>
array<T> operator/(const array<T>& a, const array<T>& b) {
  return zip<T>(a, b, [](T x, T y) { return static_cast<T>(x / y); });
}
template <class T>
array<T> operator-(const array<T>& a) {
  return map<T>(a, [](T x) { return static_cast<T>(-x); });
}

template <class T>
array<T> square(const array<T>& a) {
  return map<T>(a, [](T x) { return static_cast<T>(x * x); });
}
template <class T>
array<T> sqrt(const array<T>& a) {
  using std::sqrt;
  return map<T>(a, [](T x) { return sqrt(x); });
}
template <class T>
array<T> exp(const array<T>& a) {
  using std::exp;
  return map<T>(a, [](T x) { return exp(x); });
}
template <class T>
array<T> log(const array<T>& a) {
  using std::log;
  return map<T>(a, [](T x) { return log(x); });
}
template <class T>
array<T> tanh(const array<T>& a) {
  using std::tanh;
  return map<T>(a, [](T x) { return tanh(x); });
}
template <class T>
array<T> erf(const array<T>& a) {
  using std::erf;
  return map<T>(a, [](T x) { return erf(x); });
}

template <class T>
array<T> sigmoid(const array<T>& a) {
  using std::exp;
  return map<T>(a, [](T x) { return T(1) / (T(1) + exp(-x)); });
}
template <class T>
array<T> relu(const array<T>& a) {
  return map<T>(a, [](T x) { return larger(x, T(0)); });
}
template <class T>
array<T> pow(const array<T>& a, const array<T>& b) {
  using std::pow;
  return zip<T>(a, b, [](T x, T y) { return pow(x, y); });
}
template <class T>
array<T> max(const array<T>& a, const array<T>& b) {
  return zip<T>(a, b, larger<T>);
}
template <class T>
array<T> min(const array<T>& a, const array<T>& b) {
  return zip<T>(a, b, smaller<T>);
}

// y[i] = condition[i] ? a[i] : b[i]
template <class T>
array<T> where(const array<boolean>& condition, const array<T>& a, const array<T>& b) {
  array<T> y(broadcast_shape(condition.shape, broadcast_shape(a.shape, b.shape)));
  for_each_index(y.shape, [&](const dims& i) {
    const bool chosen = condition.at(broadcast_index(condition.shape, i)) != 0;
    y.at(i) = chosen ? a.at(broadcast_index(a.shape, i)) : b.at(broadcast_index(b.shape, i));
  });
  return y;
}

template <class T>
array<boolean> less(const array<T>& a, const array<T>& b) {
  return zip<boolean>(a, b, [](T x, T y) { return x < y; });
}
template <class T>
array<boolean> less_equal(const array<T>& a, const array<T>& b) {
  return zip<boolean>(a, b, [](T x, T y) { return x <= y; });
}
template <class T>
array<boolean> greater(const array<T>& a, const array<T>& b) {
  return zip<boolean>(a, b, [](T x, T y) { return x > y; });
}
template <class T>
array<boolean> greater_equal(const array<T>& a, const array<T>& b) {
  return zip<boolean>(a, b, [](T x, T y) { return x >= y; });
}
template <class T>
array<boolean> equal(const array<T>& a, const array<T>& b) {
  return zip<boolean>(a, b, [](T x, T y) { return x == y; });
}
template <class T>
array<boolean> not_equal(const array<T>& a, const array<T>& b) {
  return zip<boolean>(a, b, [](T x, T y) { return !(x == y); });
}

} // namespace ref
