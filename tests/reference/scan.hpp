#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// y[.., i, ..] of the elements 0 to i along an axis: running sums, products and maxima one flop an element, linear_scan two.
// prod: one flop an element of x.

#include "along_axis.hpp"
#include "array.hpp"
#include "elementwise.hpp"
#include "reduce.hpp"

#include <limits>

namespace ref {

// y_0 = first(index), y_i = next(y_(i-1), index)
template <class T, class First, class Next>
array<T> scanned(const dims& shape, std::int64_t along, First first, Next next) {
  array<T> y(shape);
  const std::size_t axis = axis_of(shape.size(), along);
  for_each_index(shape, [&](dims i) {
    const dims here = i;
    if (i[axis] == 0) {
      y.at(here) = first(here);
      return;
    }
    --i[axis];
    y.at(here) = next(y.at(i), here);
  });
  return y;
}
template <class T>
array<T> cumsum(const array<T>& x, std::int64_t along) {
  return scanned<T>(
      x.shape, along, [&](const dims& i) { return T(0) + x.at(i); },
      [&](const T& y, const dims& i) { return y + x.at(i); });
}
template <class T>
array<T> cumprod(const array<T>& x, std::int64_t along) {
  return scanned<T>(
      x.shape, along, [&](const dims& i) { return T(1) * x.at(i); },
      [&](const T& y, const dims& i) { return y * x.at(i); });
}
template <class T>
array<T> cummax(const array<T>& x, std::int64_t along) {
  return scanned<T>(
      x.shape, along,
      [&](const dims& i) { return larger(T(-std::numeric_limits<double>::infinity()), x.at(i)); },
      [&](const T& y, const dims& i) { return larger(y, x.at(i)); });
}
// The place, along the axis, of the first running maximum
template <class T>
array<std::int32_t> cumargmax(const array<T>& x, std::int64_t along) {
  array<T> best(x.shape);
  const std::size_t axis = axis_of(x.rank(), along);
  return scanned<std::int32_t>(
      x.shape, along, [&](const dims& i) { return (void)beats(x.at(i), best.at(i) = x.at(i)), 0; },
      [&](std::int32_t place, dims i) {
        const dims here = i;
        --i[axis];
        const bool wins = beats(x.at(here), best.at(i));
        best.at(here) = wins ? x.at(here) : best.at(i);
        return wins ? static_cast<std::int32_t>(here[axis]) : place;
      });
}
template <class T>
array<T> cummin(const array<T>& x, std::int64_t along) {
  return -cummax(-x, along);
}
template <class T>
array<T> linear_scan(const array<T>& a, const array<T>& b, std::int64_t along) {
  return scanned<T>(
      b.shape, along, [&](const dims& i) { return T(0) * T(0) + b.at(i); },
      [&](const T& y, const dims& i) { return a.at(i) * y + b.at(i); });
}
// a_(i-1); the first stays. named: the library makes the list of i - 1, 2 flops each
template <class T>
array<T> previous(const array<T>& a, std::int64_t along, bool named) {
  array<T> y(a.shape);
  const std::size_t axis = axis_of(a.rank(), along);
  if (named) max(constant(T(-1)) + positions<T>({a.shape[axis]}), constant(T(0)));
  for_each_index(a.shape, [&](dims i) {
    T& to = y.at(i);
    if (i[axis] > 0) --i[axis];
    to = a.at(i);
  });
  return y;
}
// log(sum of exp(x_j) over j <= i), as the library shifts it: 12 flops an element
template <class T>
array<T> logcumsumexp(const array<T>& x, std::int64_t along, bool named = false) {
  const array<T> top = cummax(x, along);
  array<T> m = top;
  using limits = std::numeric_limits<std::conditional_t<std::is_same_v<T, float>, float, double>>;
  for (T& value : m.data) {
    if (value > T(limits::max())) value = limits::max();
    if (value < T(limits::lowest())) value = limits::lowest();
  }
  return log(linear_scan(exp(previous(m, along, named) - m), exp(x - m), along) + constant(T(0))) + top;
}
// named: the library asks whether there are elements
template <class T>
array<T> prod(const array<T>& x, const dims& axes, bool keepdims = false, bool named = false) {
  if (named) once(T(0), [](auto n) { return n; });
  return fold(x, axes, keepdims, T(1), [](const T& p, const T& e) { return p * e; });
}

} // namespace ref
