// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Arrays of the caller: pointers, arrays, spans and vectors, with their sizes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include "../core/error.hpp"
#include "../core/extent.hpp"

namespace tapeless::detail {

// The data of a pointer, array, span or vector, and its size, -1 for a pointer.
template <class T> struct array_argument {
  T* data;
  extent_t size;

  void require(const char* who, const char* name, extent_t n) const {
    if (size >= 0 && size != n)
      refuse("tapeless: %s: %s has %lld elements, expected %lld", who, name, wide(size), wide(n));
    if (data == nullptr && n > 0) refuse("tapeless: %s: %s is null", who, name);
  }
};
template <class X>
concept has_data_and_size = requires(X& x) {
  *x.data();
  x.size();
};
template <class X> inline constexpr bool is_span_v = false;
template <class T, std::size_t N> inline constexpr bool is_span_v<std::span<T, N>> = true;
template <class X>
concept array_or_pointer =
    std::is_pointer_v<std::remove_cvref_t<X>> || std::is_array_v<std::remove_reference_t<X>> ||
    has_data_and_size<std::remove_reference_t<X>>;
// Do the elements stay alive when x is gone?
template <class X>
concept outlives_the_call =
    std::is_lvalue_reference_v<X> || std::is_pointer_v<X> || is_span_v<std::remove_cv_t<X>>;

template <class X> auto array_of(X&& x) {
  using U = std::remove_reference_t<X>;
  if constexpr (std::is_pointer_v<U>) return array_argument<std::remove_pointer_t<U>>{x, -1};
  else if constexpr (std::is_array_v<U>)
    return array_argument<std::remove_extent_t<U>>{x, static_cast<extent_t>(std::extent_v<U>)};
  else
    return array_argument<std::remove_pointer_t<decltype(x.data())>>{x.data(),
                                                                     static_cast<extent_t>(x.size())};
}
template <class X> using element_of_array = std::remove_pointer_t<decltype(array_of(std::declval<X>()).data)>;
template <class X>
concept int32_array = std::is_same_v<std::remove_const_t<element_of_array<X>>, std::int32_t>;
template <class X>
concept index_array = std::is_same_v<std::remove_const_t<element_of_array<X>>, std::int32_t> ||
                      std::is_same_v<std::remove_const_t<element_of_array<X>>, std::int64_t>;
template <class X, class T>
concept array_of_type = std::is_same_v<std::remove_const_t<element_of_array<X>>, std::remove_const_t<T>>;
template <class X, class T>
concept viewable_as = std::is_convertible_v<element_of_array<X> (*)[], T (*)[]>;

} // namespace tapeless::detail
