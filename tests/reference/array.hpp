#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// ref::array<T>: a shape and its elements in row-major order; rank 0 holds one element.
// T is float, double, std::int32_t, ref::boolean (0 or 1) or ref::counted. The reference computes in T.
// Misuse throws std::invalid_argument (shapes) or std::out_of_range (indices).

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace ref {

using boolean = std::uint8_t;
using dims = std::vector<std::int64_t>;

inline std::int64_t element_count(const dims& shape) {
  std::int64_t count = 1;
  for (std::int64_t extent : shape) count *= extent;
  return count;
}

// Row-major position: ((i0 * shape[1] + i1) * shape[2] + i2) ...
inline std::size_t offset_of(const dims& shape, std::span<const std::int64_t> index) {
  if (index.size() != shape.size()) throw std::out_of_range("reference: index of another rank");
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (index[axis] < 0 || index[axis] >= shape[axis])
      throw std::out_of_range("reference: index out of range");
    offset = offset * shape[axis] + index[axis];
  }
  return static_cast<std::size_t>(offset);
}

// Calls f(index) for every index of the shape in row-major order.
template <class F>
void for_each_index(const dims& shape, F f) {
  dims index(shape.size(), 0);
  for (std::int64_t left = element_count(shape); left > 0; --left) {
    f(std::as_const(index));
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

// An axis counted from the front; -1 is the last one.
inline std::size_t axis_of(std::size_t rank, std::int64_t axis) {
  const std::int64_t from_front = axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
  if (from_front < 0 || from_front >= static_cast<std::int64_t>(rank))
    throw std::invalid_argument("reference: axis " + std::to_string(axis) + " of rank " +
                                std::to_string(rank));
  return static_cast<std::size_t>(from_front);
}

template <class T>
struct array {
  using value_type = T;

  dims shape;
  std::vector<T> data;

  array() : data(1) {}
  explicit array(dims extents, T fill = T(0)) : shape(std::move(extents)) {
    for (std::int64_t extent : shape)
      if (extent < 0) throw std::invalid_argument("reference: negative extent");
    data.assign(static_cast<std::size_t>(element_count(shape)), fill);
  }
  array(dims extents, std::vector<T> elements) : shape(std::move(extents)), data(std::move(elements)) {
    if (element_count(shape) != size()) throw std::invalid_argument("reference: shape and elements disagree");
  }

  std::size_t rank() const { return shape.size(); }
  std::int64_t size() const { return static_cast<std::int64_t>(data.size()); }

  T& at(std::span<const std::int64_t> index) { return data[offset_of(shape, index)]; }
  const T& at(std::span<const std::int64_t> index) const { return data[offset_of(shape, index)]; }

  template <class... Index>
  T& operator()(Index... index) {
    const std::int64_t position[sizeof...(Index) + 1] = {static_cast<std::int64_t>(index)..., 0};
    return at({position, sizeof...(Index)});
  }
  template <class... Index>
  const T& operator()(Index... index) const {
    const std::int64_t position[sizeof...(Index) + 1] = {static_cast<std::int64_t>(index)..., 0};
    return at({position, sizeof...(Index)});
  }

  friend bool operator==(const array&, const array&) = default;
};

template <class T>
array<T> constant(T value) {
  return {dims{}, std::vector<T>{value}};
}

template <class T>
array<T> vector(std::initializer_list<T> elements) {
  return {dims{static_cast<std::int64_t>(elements.size())}, std::vector<T>(elements)};
}

// The same elements in another type, e.g. cast<double>(x) for a truth in double, cast<counted>(x) for flops.
template <class To, class From>
array<To> cast(const array<From>& x) {
  array<To> y(x.shape);
  for (std::size_t i = 0; i < x.data.size(); ++i) {
    if constexpr (std::is_arithmetic_v<To>) y.data[i] = static_cast<To>(x.data[i]);
    else y.data[i] = To(static_cast<double>(x.data[i]));
  }
  return y;
}

template <class T>
bool is_nan(T x) {
  return std::isnan(static_cast<double>(x));
}

// The neutral element of max and of min.
template <class T>
T lowest() {
  if constexpr (std::is_integral_v<T>) return std::numeric_limits<T>::lowest();
  else return T(-std::numeric_limits<double>::infinity());
}
template <class T>
T highest() {
  if constexpr (std::is_integral_v<T>) return std::numeric_limits<T>::max();
  else return T(std::numeric_limits<double>::infinity());
}

} // namespace ref
