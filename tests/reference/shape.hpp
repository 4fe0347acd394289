#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Elements move, none is computed: 0 flops, except sum_to, which adds each element once.
//   transpose: y[i] = x[j] with j[perm[a]] = i[a]        slice: y[.., i, ..] = x[.., lo + i, ..]
//   pad: x between lo and hi further elements            broadcast_to and its transpose sum_to

#include "array.hpp"
#include "elementwise.hpp"

namespace ref {

template <class T>
array<T> reshape(const array<T>& x, const dims& shape) {
  return {shape, x.data}; // throws where the number of elements differs
}

template <class T>
array<T> transpose(const array<T>& x, const dims& perm) {
  if (perm.size() != x.rank()) throw std::invalid_argument("reference: permutation of another rank");
  std::vector<bool> seen(x.rank(), false);
  dims shape(x.rank());
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    const std::size_t from = axis_of(x.rank(), perm[axis]);
    if (seen[from]) throw std::invalid_argument("reference: not a permutation");
    seen[from] = true;
    shape[axis] = x.shape[from];
  }
  array<T> y(shape);
  for_each_index(shape, [&](const dims& i) {
    dims j(x.rank());
    for (std::size_t axis = 0; axis < x.rank(); ++axis) j[axis_of(x.rank(), perm[axis])] = i[axis];
    y.at(i) = x.at(j);
  });
  return y;
}

// Elements lo <= i < hi of one axis.
template <class T>
array<T> slice(const array<T>& x, std::int64_t axis, std::int64_t lo, std::int64_t hi) {
  const std::size_t a = axis_of(x.rank(), axis);
  if (lo < 0 || hi < lo || hi > x.shape[a]) throw std::invalid_argument("reference: slice out of range");
  dims shape = x.shape;
  shape[a] = hi - lo;
  array<T> y(shape);
  for_each_index(shape, [&](const dims& i) {
    dims j = i;
    j[a] += lo;
    y.at(i) = x.at(j);
  });
  return y;
}

// lo further elements before and hi behind, along one axis; with zeros it is the transpose of slice.
template <class T>
array<T> pad(const array<T>& x, std::int64_t axis, std::int64_t lo, std::int64_t hi, T fill = T(0)) {
  const std::size_t a = axis_of(x.rank(), axis);
  if (lo < 0 || hi < 0) throw std::invalid_argument("reference: negative padding");
  dims shape = x.shape;
  shape[a] += lo + hi;
  array<T> y(shape, fill);
  for_each_index(x.shape, [&](const dims& i) {
    dims j = i;
    j[a] += lo;
    y.at(j) = x.at(i);
  });
  return y;
}

template <class T>
array<T> concat(const std::vector<array<T>>& parts, std::int64_t axis) {
  if (parts.empty()) throw std::invalid_argument("reference: nothing to concatenate");
  const std::size_t a = axis_of(parts[0].rank(), axis);
  dims shape = parts[0].shape;
  shape[a] = 0;
  for (const array<T>& part : parts) {
    dims expected = parts[0].shape;
    if (part.rank() == expected.size()) expected[a] = part.shape[a];
    if (part.shape != expected) throw std::invalid_argument("reference: parts differ in another axis");
    shape[a] += part.shape[a];
  }
  array<T> y(shape);
  std::int64_t start = 0;
  for (const array<T>& part : parts) {
    for_each_index(part.shape, [&](const dims& i) {
      dims j = i;
      j[a] += start;
      y.at(j) = part.at(i);
    });
    start += part.shape[a];
  }
  return y;
}

template <class T>
array<T> flip(const array<T>& x, std::int64_t axis) {
  const std::size_t a = axis_of(x.rank(), axis);
  array<T> y(x.shape);
  for_each_index(x.shape, [&](const dims& i) {
    dims j = i;
    j[a] = x.shape[a] - 1 - i[a];
    y.at(i) = x.at(j);
  });
  return y;
}

template <class T>
array<T> broadcast_to(const array<T>& x, const dims& shape) {
  if (broadcast_shape(x.shape, shape) != shape)
    throw std::invalid_argument("reference: does not broadcast to it");
  array<T> y(shape);
  for_each_index(shape, [&](const dims& i) { y.at(i) = x.at(broadcast_index(x.shape, i)); });
  return y;
}

// The transpose of broadcast_to: every element is added to the one it would have been copied from.
template <class T>
array<T> sum_to(const array<T>& d, const dims& shape) {
  if (broadcast_shape(shape, d.shape) != d.shape)
    throw std::invalid_argument("reference: does not broadcast from it");
  array<T> y(shape);
  for_each_index(d.shape, [&](const dims& i) { y.at(broadcast_index(shape, i)) += d.at(i); });
  return y;
}

} // namespace ref
