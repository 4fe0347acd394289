#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Elements move or become 0: y[i] = x[from(i)], or 0 where from(i) is no index. 0 flops, but 2 for each position of a
// triangle or diagonal, and the additions of a diagonal.

#include "array.hpp"
#include "elementwise.hpp"

#include <algorithm>
#include <optional>

namespace ref {

template <class T, class From>
array<T> picked(const array<T>& x, const dims& shape, From from) {
  array<T> y(shape);
  for_each_index(shape, [&](const dims& i) {
    const std::optional<dims> j = from(i);
    y.at(i) = j ? x.at(*j) : T(0);
  });
  return y;
}
// y along one axis: of n elements, the i-th is element from(i) of x
template <class T, class From>
array<T> along(const array<T>& x, std::int64_t axis, std::int64_t n, From from) {
  const std::size_t a = axis_of(x.rank(), axis);
  dims shape = x.shape;
  shape[a] = n;
  return picked(x, shape, [&](dims i) {
    i[a] = from(i[a]);
    return std::optional(i);
  });
}
template <class T>
array<T> roll(const array<T>& x, std::int64_t axis, std::int64_t shift) {
  const std::int64_t n = x.shape[axis_of(x.rank(), axis)];
  return along(x, axis, n, [=](std::int64_t i) { return ((i - shift) % n + n) % n; });
}
// Where keep(column - row) is true. 2 flops for each
template <class T, class Keep>
array<char> positions(std::int64_t rows, std::int64_t columns, Keep keep) {
  array<char> y({rows, columns});
  for_each_index(y.shape, [&](const dims& i) {
    y.at(i) = keep(T(static_cast<double>(i[1])) - T(static_cast<double>(i[0])));
  });
  return y;
}
// of the last two axes: the elements whose column - row keep() takes
template <class T, class Keep>
array<T> triangle(const array<T>& x, Keep keep) {
  const std::size_t r = x.rank() - 2;
  const array<char> kept = positions<T>(x.shape[r], x.shape[r + 1], keep);
  return picked(x, x.shape, [&](const dims& i) {
    return kept.at(dims{i[r], i[r + 1]}) ? std::optional(i) : std::nullopt;
  });
}
// Each element of the square that it crosses counts: the others are added as 0.
template <class T>
array<T> diagonal(const array<T>& x, std::int64_t k) {
  const std::size_t r = x.rank() - 2;
  const std::int64_t row = k < 0 ? -k : 0, column = k > 0 ? k : 0,
                     n = std::min(x.shape[r] - row, x.shape[r + 1] - column);
  dims shape = x.shape;
  shape.pop_back();
  shape[r] = n;
  array<T> y(shape);
  const array<char> kept = positions<T>(n, n, [](T d) { return d == T(0); });
  for_each_index(shape, [&](const dims& i) {
    T sum(0);
    for (std::int64_t q = 0; q < n; ++q) {
      dims j = i;
      j[r] = row + i[r];
      j.push_back(column + q);
      sum = sum + (kept.at(dims{i[r], q}) ? x.at(j) : T(0));
    }
    y.at(i) = sum;
  });
  return y;
}

} // namespace ref
