#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// take_along: y[.., j, ..] = x[.., idx[.., j, ..], ..]; an extent of idx may be 1 beside the axis.
// add_along, max_along, min_along: x, with d[.., j, ..] put at [.., idx[.., j, ..], ..].
// The library moves single elements of a flat tensor. Flops: those of the places there; add_along one for each element of d and of x,
// max_along one for each element of d and two for each of x, min_along also those of the signs.

#include "index.hpp"
#include "reduce.hpp"

namespace ref {

// Row-major positions within the shape
template <class T>
array<T> positions(const dims& shape) {
  array<T> y(shape);
  for (std::size_t i = 0; i < y.data.size(); ++i) y.data[i] = T(static_cast<double>(i));
  return y;
}
// How a program comes by its places: from an argument; from an index that it computes; where the number of elements is named, it
// clamps them.
enum class index_of { argument, program, named };
// The place of each element that the index names
template <class T>
array<std::int32_t> places(const dims& shape, const array<std::int32_t>& idx, std::size_t axis,
                           index_of from = index_of::argument) {
  dims ahead(shape.size(), 1), behind(shape.size(), 1);
  for (std::size_t k = 0; k < shape.size(); ++k)
    if (k != axis) (k < axis ? ahead : behind)[k] = shape[k];
  const auto number = [](std::int64_t n) { return constant(T(static_cast<double>(n))); };
  const std::int64_t after = element_count(behind);
  array<T> p =
      from == index_of::program ? clamped(idx, T(static_cast<double>(shape[axis] - 1))) : cast<T>(idx);
  if (after != 1) p = p * number(after);
  if (element_count(ahead) != 1 || from == index_of::named)
    p = p + positions<T>(ahead) * number(shape[axis] * after);
  if (after != 1) p = p + positions<T>(behind);
  if (from == index_of::named) p = max(min(p, number(element_count(shape)) - number(1)), number(0));
  return as_index(p);
}

template <class T>
array<T> take_along(const array<T>& x, const array<std::int32_t>& idx, std::int64_t along,
                    index_of from = index_of::argument) {
  const array<std::int32_t> p = places<T>(x.shape, idx, axis_of(x.rank(), along), from);
  array<T> y(p.shape);
  for (std::size_t i = 0; i < p.data.size(); ++i) y.data[i] = x.data[static_cast<std::size_t>(p.data[i])];
  return y;
}
// Zeros of this shape, with d added
template <class T>
array<T> sums_along(const dims& shape, const array<std::int32_t>& idx, const array<T>& d, std::int64_t along,
                    index_of from = index_of::argument) {
  const array<std::int32_t> p = places<T>(shape, idx, axis_of(shape.size(), along), from);
  array<T> y(shape);
  for_each_index(p.shape, [&](const dims& i) {
    y.data[static_cast<std::size_t>(p.at(i))] += d.at(broadcast_index(d.shape, i));
  });
  return y;
}
template <class T>
array<T> add_along(const array<T>& x, const array<std::int32_t>& idx, const array<T>& d, std::int64_t along) {
  return x + sums_along(x.shape, idx, d, along);
}
template <class T>
array<T> max_along(const array<T>& x, const array<std::int32_t>& idx, const array<T>& d, std::int64_t along) {
  const array<std::int32_t> p = places<T>(x.shape, idx, axis_of(x.rank(), along));
  array<T> y = x;
  for_each_index(p.shape, [&](const dims& i) {
    T& to = y.data[static_cast<std::size_t>(p.at(i))];
    if (const T e = d.at(broadcast_index(d.shape, i)); beats(e, to)) to = e;
  });
  // the library looks twice at the number of the winner: is it x's, and at least 0?
  for (T& e : y.data) e = once(once(e, [](auto v) { return v; }), [](auto v) { return v; });
  return y;
}
template <class T>
array<T> min_along(const array<T>& x, const array<std::int32_t>& idx, const array<T>& d, std::int64_t along) {
  return -max_along(-x, idx, -d, along);
}

} // namespace ref
