#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// take: y[b.., j.., a..] = x[b.., idx[j..], a..]             x: (b.., extent, a..)   y: (b.., idx.., a..)
// scatter_add, its transpose: y[b.., idx[j..], a..] += d[b.., j.., a..]; 1 flop per element of d, take 0.
// An index outside 0 .. extent - 1 throws std::out_of_range; clamped(idx, top) = max(min(idx, top), 0) is what
// becomes of one that the program computes, 2 flops per index.

#include "array.hpp"
#include "elementwise.hpp"

namespace ref {

// In R, so that the comparisons of integers count where R = counted.
template <class R, class T>
array<R> clamped(const array<T>& idx, R top) {
  return max(min(cast<R>(idx), constant(top)), constant(R(0)));
}
template <class R>
array<std::int32_t> as_index(const array<R>& idx) {
  return map<std::int32_t>(idx, [](R i) { return static_cast<std::int32_t>(static_cast<double>(i)); });
}

// x's shape with its axis replaced by the axes of idx.
inline dims taken_shape(const dims& x, const dims& idx, std::size_t axis) {
  dims shape(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.end(), idx.begin(), idx.end());
  shape.insert(shape.end(), x.begin() + static_cast<std::ptrdiff_t>(axis) + 1, x.end());
  return shape;
}

// The index into x that belongs to an index into the taken elements.
inline dims taken_from(const dims& index, const array<std::int32_t>& idx, std::size_t axis) {
  const auto first = index.begin() + static_cast<std::ptrdiff_t>(axis);
  const auto last = first + static_cast<std::ptrdiff_t>(idx.rank());
  dims result(index.begin(), first);
  result.push_back(idx.at(dims(first, last)));
  result.insert(result.end(), last, index.end());
  return result;
}

template <class T>
array<T> take(const array<T>& x, const array<std::int32_t>& idx, std::int64_t axis) {
  const std::size_t a = axis_of(x.rank(), axis);
  array<T> y(taken_shape(x.shape, idx.shape, a));
  for_each_index(y.shape, [&](const dims& i) { y.at(i) = x.at(taken_from(i, idx, a)); });
  return y;
}

// axis counts in the result, whose rank is that of d less that of idx plus 1.
template <class T>
array<T> scatter_add(const array<std::int32_t>& idx, const array<T>& d, std::int64_t axis,
                     std::int64_t extent) {
  if (d.rank() < idx.rank()) throw std::invalid_argument("reference: fewer axes than indices");
  const std::size_t rank = d.rank() - idx.rank() + 1;
  const std::size_t a = axis_of(rank, axis);
  dims shape(d.shape.begin(), d.shape.begin() + static_cast<std::ptrdiff_t>(a));
  shape.push_back(extent);
  shape.insert(shape.end(), d.shape.begin() + static_cast<std::ptrdiff_t>(a + idx.rank()), d.shape.end());
  if (taken_shape(shape, idx.shape, a) != d.shape)
    throw std::invalid_argument("reference: indices of another shape");
  array<T> y(shape);
  for_each_index(d.shape, [&](const dims& i) { y.at(taken_from(i, idx, a)) += d.at(i); });
  return y;
}

// y[.., i, ..] = i along the axis.
template <class T>
array<T> iota(const dims& shape, std::int64_t axis) {
  const std::size_t a = axis_of(shape.size(), axis);
  array<T> y(shape);
  for_each_index(shape, [&](const dims& i) { y.at(i) = static_cast<T>(i[a]); });
  return y;
}

} // namespace ref
