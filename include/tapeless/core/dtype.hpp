// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The element types of the language: float, double (differentiable), int32 (labels, indices), bool (masks).
// Three are for storage. Matmul and convolutions multiply bf16. int64 (labels, row ends of sparse matrices) and uint8
// (images) are moved and cast, and nothing else computes with them.
#pragma once
#include <cstdint>
#include <type_traits>
#include "bf16.hpp"         // IWYU pragma: export
#include "element_type.hpp" // IWYU pragma: export

namespace tapeless {

namespace detail {
template <class T> struct dtype_of_impl {};
template <> struct dtype_of_impl<float> {
  static constexpr dtype value = dtype::f32;
};
template <> struct dtype_of_impl<double> {
  static constexpr dtype value = dtype::f64;
};
template <> struct dtype_of_impl<std::int32_t> {
  static constexpr dtype value = dtype::i32;
};
template <> struct dtype_of_impl<bool> {
  static constexpr dtype value = dtype::boolean;
};
template <> struct dtype_of_impl<std::int64_t> {
  static constexpr dtype value = dtype::i64;
};
template <> struct dtype_of_impl<bf16> {
  static constexpr dtype value = dtype::bf16;
};
template <> struct dtype_of_impl<std::uint8_t> {
  static constexpr dtype value = dtype::u8;
};

constexpr bool is_float(dtype t) { return t == dtype::f32 || t == dtype::f64; }
constexpr bool is_stored_integer(dtype t) { return t == dtype::i64 || t == dtype::u8; }
constexpr bool is_for_storage(dtype t) { return t == dtype::bf16 || is_stored_integer(t); }
constexpr bool is_index(dtype t) { return t == dtype::i32 || is_stored_integer(t); } // or may be cast to one
// The element type of tangents and cotangents of t.   @pre is_float(t) or t is bf16
constexpr dtype tangent_type(dtype t) { return t == dtype::bf16 ? dtype::f32 : t; }
constexpr int size_of(dtype t) {
  return t == dtype::f64 || t == dtype::i64      ? 8
         : t == dtype::boolean || t == dtype::u8 ? 1
         : t == dtype::bf16                      ? 2
                                                 : 4;
}
constexpr const char* name_of(dtype t) {
  constexpr const char* n[] = {"float", "double", "int32", "bool", "int64", "bf16", "uint8"};
  return n[static_cast<int>(t)];
}

// A bool in memory that may be the caller's: any byte but 0 is true. In C++ a bool must be 0 or 1 in memory, so it is
// read as a byte. Copies are 0 or 1.
struct mask_byte {
  std::uint8_t byte = 0;
  constexpr mask_byte() = default;
  constexpr mask_byte(bool b) : byte(b ? 1 : 0) {}
  constexpr mask_byte(const mask_byte& o) : byte(o.byte != 0 ? 1 : 0) {}
  constexpr mask_byte& operator=(const mask_byte& o) {
    byte = o.byte != 0 ? 1 : 0;
    return *this;
  }
  constexpr operator bool() const { return byte != 0; }
};
static_assert(sizeof(mask_byte) == 1 && sizeof(bool) == 1);
template <class T> inline constexpr bool is_bool = std::is_same_v<std::remove_const_t<T>, bool>;
// x[i], in the caller's memory.
template <class T> inline std::remove_const_t<T> read_element(T* x, std::int64_t i) {
  if constexpr (is_bool<T>) return reinterpret_cast<const mask_byte*>(x)[i];
  else return x[i];
}
} // namespace detail
template <class T>
concept element = requires { detail::dtype_of_impl<std::remove_const_t<T>>::value; };
template <element T> inline constexpr dtype dtype_of = detail::dtype_of_impl<std::remove_const_t<T>>::value;

} // namespace tapeless
