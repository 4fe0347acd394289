#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The elements of a .npy file in memory: numbers of the file's type, converted to the caller's.

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../core/dtype.hpp"
#include "file.hpp"
#include "npy_layout.hpp"

namespace tapeless::detail::npy {

struct half {
  std::uint16_t bits;
};
constexpr float to_float(half h) {
  const std::uint32_t sign = std::uint32_t{h.bits} >> 15 << 31;
  const std::uint32_t exponent = h.bits >> 10 & 31u, fraction = h.bits & 0x3ffu;
  if (exponent == 0) { // fraction * 2^-24
    const float x = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -x : x;
  }
  return std::bit_cast<float>(sign | (exponent == 31 ? 255u : exponent + 112u) << 23 | fraction << 13);
}

// Calls f.operator()<T>(), where T is the type of an element in the file.
template <class F> void with_type(npy_type type, F&& f) {
  switch (type) {
    case npy_type::f4: return f.template operator()<float>();
    case npy_type::f8: return f.template operator()<double>();
    case npy_type::i4: return f.template operator()<std::int32_t>();
    case npy_type::b1: return f.template operator()<bool>();
    case npy_type::f2: return f.template operator()<half>();
    case npy_type::i1: return f.template operator()<std::int8_t>();
    case npy_type::i2: return f.template operator()<std::int16_t>();
    case npy_type::i8: return f.template operator()<std::int64_t>();
    case npy_type::u1: return f.template operator()<std::uint8_t>();
    case npy_type::u2: return f.template operator()<std::uint16_t>();
    case npy_type::u4: return f.template operator()<std::uint32_t>();
    case npy_type::u8: return f.template operator()<std::uint64_t>();
  }
}

// Calls f(k) for each element in row-major order, where k is its place in the file.
template <class F> void for_each_place(const layout& how, F&& f) {
  const std::size_t n = how.elements();
  if (!how.reorders()) {
    for (std::size_t k = 0; k < n; ++k) f(k);
    return;
  }
  if (n == 0) return;
  struct axis {
    std::size_t extent, stride, at = 0;
  };
  std::vector<axis> axes; // the first steps by 1
  std::size_t stride = 1;
  for (const std::int64_t extent : how.shape)
    if (extent != 1) {
      axes.push_back({static_cast<std::size_t>(extent), stride});
      stride *= static_cast<std::size_t>(extent);
    }
  for (std::size_t i = 0, k = 0; i < n; ++i) {
    f(k);
    for (std::size_t a = axes.size(); a-- > 0;) {
      axis& x = axes[a];
      k += x.stride;
      if (++x.at != x.extent) break; // with < nvcc reads a list of template arguments
      k -= x.stride * x.extent;
      x.at = 0;
    }
  }
}

// Element k of the file as messages name it: 5, or (1, 2) in an array of several axes.
inline std::string index_text(const layout& how, std::size_t k) {
  if (how.shape.size() < 2) return std::to_string(k);
  std::vector<std::int64_t> index(how.shape.size());
  for (std::size_t i = 0; i < index.size(); ++i) {
    const std::size_t axis = how.column_major ? i : index.size() - 1 - i;
    const std::size_t extent = static_cast<std::size_t>(how.shape[axis]);
    index[axis] = static_cast<std::int64_t>(k % extent);
    k /= extent;
  }
  return to_string(index);
}
template <class X> std::string number_text(X x) {
  if constexpr (std::is_same_v<X, bool>) return x ? "true" : "false";
  else {
    char digits[32];
    return {digits, std::to_chars(digits, digits + sizeof digits, x).ptr};
  }
}

// Element k of the file, whose elements are of type R, as a number. A bool is true where its byte is not 0.
template <class R> auto element_at(const std::byte* from, std::size_t k, bool big_endian) {
  std::array<std::byte, sizeof(R)> bytes;
  std::memcpy(bytes.data(), from + k * sizeof(R), sizeof(R));
  if (big_endian) std::reverse(bytes.begin(), bytes.end());
  if constexpr (std::is_same_v<R, bool>) return bytes[0] != std::byte{0};
  else if constexpr (std::is_same_v<R, half>) return to_float(std::bit_cast<half>(bytes));
  else return std::bit_cast<R>(bytes);
}

// Why T has no value for x, as a phrase that follows the number in a message. Null where T has one.
template <class T, class X> constexpr const char* misfit(X x) {
  constexpr bool real = std::is_floating_point_v<X>;
  if constexpr (std::is_same_v<T, X> || std::is_same_v<X, bool>) return nullptr;
  else if constexpr (std::is_same_v<T, bool>) {
    if constexpr (real) return x == 0 || x == 1 ? nullptr : "is neither 0 nor 1, as a bool is";
    else return nullptr;
  } else if constexpr (std::is_floating_point_v<T>) {
    if constexpr (real && sizeof(T) < sizeof(X)) { // from here on x rounds to infinity
      constexpr X end = 0x1.ffffffp+127;
      return (x >= end || x <= -end) && std::abs(x) <= std::numeric_limits<X>::max() ? "exceeds a float"
                                                                                     : nullptr;
    } else return nullptr;
  } else {
    constexpr const char* exceeds = sizeof(T) == 4   ? "exceeds an std::int32_t"
                                    : sizeof(T) == 1 ? "exceeds an std::uint8_t"
                                                     : "exceeds an std::int64_t";
    if constexpr (real) {
      constexpr X end = sizeof(T) == 4 ? X(0x1p31) : sizeof(T) == 1 ? X(0x1p8) : X(0x1p63);
      if (x != x) return "is not whole";
      if (x < (sizeof(T) == 1 ? 0 : -end) || x >= end) return exceeds;
      return x == std::trunc(x) ? nullptr : "is not whole";
    } else return std::in_range<T>(x) ? nullptr : exceeds;
  }
}

// Throws io_error at the first element that T has no value for.   @pre from: elements() of how.type
template <class T> void require_fits(const file_place& place, const layout& how, const std::byte* from) {
  const std::size_t n = how.elements();
  with_type(how.type, [&]<class R>() {
    using X = decltype(element_at<R>(from, 0, false));
    constexpr bool wider =
        !std::is_floating_point_v<T> || (std::is_floating_point_v<X> && sizeof(X) > sizeof(T));
    if constexpr (!std::is_same_v<T, X> && wider)
      for (std::size_t k = 0; k < n; ++k) {
        const X x = element_at<R>(from, k, how.big_endian);
        if (const char* problem = misfit<T>(x); problem != nullptr)
          place.fail("element ", index_text(how, k), " = ", number_text(x), " ", problem);
      }
  });
}
// Writes the elements as T in row-major order.   @pre require_fits<T>
template <class T> void store(const layout& how, const std::byte* from, T* to) {
  with_type(how.type, [&]<class R>() {
    for_each_place(how, [&](std::size_t k) {
      const auto x = element_at<R>(from, k, how.big_endian);
      if constexpr (std::is_same_v<T, bool>) *to++ = x != 0;
      else *to++ = static_cast<T>(x);
    });
  });
}
// Writes the elements unconverted, in row-major order and little-endian.
inline void store_bytes(const layout& how, const std::byte* from, std::byte* to) {
  const std::size_t item = static_cast<std::size_t>(item_size(how.type));
  for_each_place(how, [&](std::size_t k) {
    const std::byte* const x = from + k * item;
    if (how.big_endian) std::reverse_copy(x, x + item, to);
    else std::copy(x, x + item, to);
    to += item;
  });
}

// The caller's bools as bytes 0 and 1, as files have them: any byte but 0 is true. Empty for other elements.
template <class T> std::vector<unsigned char> flags_of(const T* data, std::int64_t n) {
  std::vector<unsigned char> flags;
  if constexpr (is_bool<T>) {
    flags.resize(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < flags.size(); ++i)
      flags[i] = read_element(data, static_cast<std::int64_t>(i)) ? 1 : 0;
  }
  return flags;
}

// The array with elements of type T; unconverted where T is void.   @pre from: elements() of how.type
template <class T> npy_array to_array(const file_place& place, layout how, const std::byte* from) {
  npy_array result;
  if constexpr (std::is_void_v<T>) {
    result.type = how.type;
    result.bytes.resize(how.elements() * static_cast<std::size_t>(item_size(how.type)));
    store_bytes(how, from, result.bytes.data());
  } else {
    require_type<T>(place, how);
    require_fits<T>(place, how, from);
    result.type = type_of<T>();
    result.bytes.resize(how.elements() * sizeof(T));
    store(how, from, reinterpret_cast<T*>(result.bytes.data()));
  }
  result.shape = std::move(how.shape);
  return result;
}

} // namespace tapeless::detail::npy
