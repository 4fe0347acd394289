#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// How the elements of a .npy file are stored: their type, their shape, the order of axes and of bytes.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>
#include "file.hpp"

namespace tapeless {

enum class npy_type : std::uint8_t { f4, f8, i4, b1, f2, i1, i2, i8, u1, u2, u4, u8 };

struct npy_array {
  std::vector<std::int64_t> shape;
  npy_type type = npy_type::f4;
  std::vector<std::byte> bytes; // row-major, little-endian
};

namespace detail::npy {

static_assert(std::endian::native == std::endian::little,
              "tapeless: npy: files are little-endian, so is the host");

// In the order of npy_type
inline constexpr std::string_view descriptions[] = {"<f4", "<f8", "<i4", "|b1", "<f2", "|i1",
                                                    "<i2", "<i8", "|u1", "<u2", "<u4", "<u8"};
// Of files that are written, and of those that are read where reading is strict.
inline constexpr npy_type written_types[] = {npy_type::f4, npy_type::f8, npy_type::i4,
                                             npy_type::b1, npy_type::i8, npy_type::u1};
inline constexpr std::int64_t item_sizes[] = {4, 8, 4, 1, 2, 1, 2, 8, 1, 2, 4, 8};

template <class T>
constexpr npy_type type_of() {
  constexpr bool is_element = std::is_same_v<T, float> || std::is_same_v<T, double> ||
                              std::is_same_v<T, std::int32_t> || std::is_same_v<T, bool> ||
                              std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::uint8_t>;
  static_assert(is_element,
                "tapeless: npy(path, data, shape): elements are float, double, bool, std::int32_t, "
                "std::int64_t or std::uint8_t");
  if constexpr (std::is_same_v<T, float>) return npy_type::f4;
  else if constexpr (std::is_same_v<T, double>) return npy_type::f8;
  else if constexpr (std::is_same_v<T, std::int32_t>) return npy_type::i4;
  else if constexpr (std::is_same_v<T, std::int64_t>) return npy_type::i8;
  else if constexpr (std::is_same_v<T, std::uint8_t>) return npy_type::u1;
  else return npy_type::b1;
}

inline std::string_view description(npy_type type) { return descriptions[static_cast<std::size_t>(type)]; }
inline std::int64_t item_size(npy_type type) { return item_sizes[static_cast<std::size_t>(type)]; }

// As Python writes a tuple: (), (3,), (2, 3)
inline std::string to_string(std::span<const std::int64_t> shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + (shape.size() == 1 ? ",)" : ")");
}

// The bytes of all elements. The product of the extents other than 0 must not overflow, even where one is 0.
inline std::int64_t byte_count(const file_place& place, std::span<const std::int64_t> shape,
                               std::int64_t item) {
  std::int64_t bytes = item;
  bool empty = false;
  for (std::int64_t extent : shape) {
    if (extent < 0) place.fail("negative extent in shape ", to_string(shape));
    if (extent == 0) empty = true;
    else if (bytes > std::numeric_limits<std::int64_t>::max() / extent)
      place.fail("size overflow: shape ", to_string(shape));
    else bytes *= extent;
  }
  return empty ? 0 : bytes;
}

struct layout {
  std::vector<std::int64_t> shape;
  std::string descr;
  npy_type type = npy_type::f4; // that of descr once take_type() has been called
  bool big_endian = false, column_major = false;
  bool strict = false;

  // Strict: descr is one of those that are written.
  void take_type(const file_place& place) {
    if (strict) {
      for (const npy_type written : written_types)
        if (descr == description(written)) return void(type = written);
      place.fail("unsupported dtype '", descr, "': '<f4', '<f8', '<i4', '|b1', '<i8' and '|u1' are read");
    }
    std::string_view code = descr; // NumPy takes "f4", "=f4" and "<i1", too
    if (!code.empty() && std::string_view("<>=|").find(code[0]) != std::string_view::npos) {
      big_endian = code[0] == '>';
      code.remove_prefix(1);
    }
    if (code == "?") code = "b1";
    for (std::size_t i = 0; i < std::size(descriptions); ++i)
      if (code == descriptions[i].substr(1)) return void(type = static_cast<npy_type>(i));
    place.fail("unsupported dtype '", descr, "': bool, integers and real numbers of up to 64 bits are read");
  }
  // Are the bytes in the file those of an npy_array?
  bool is_plain() const { return !big_endian && !reorders(); }
  // The two orders of axes differ only where at least two extents are not 1.
  bool reorders() const {
    return column_major &&
           std::count_if(shape.begin(), shape.end(), [](std::int64_t n) { return n != 1; }) > 1;
  }
  std::size_t elements() const {
    std::int64_t n = 1;
    for (const std::int64_t extent : shape) n = extent == 0 ? 0 : n * extent;
    return static_cast<std::size_t>(n);
  }
};

inline void require_shape(const file_place& place, std::span<const std::int64_t> found,
                          std::span<const std::int64_t> expected) {
  if (!std::equal(found.begin(), found.end(), expected.begin(), expected.end()))
    place.fail("wrong shape: found ", to_string(found), ", expected ", to_string(expected));
}
template <class T> void require_type(const file_place& place, const layout& how) {
  constexpr npy_type type = type_of<T>();
  if (how.strict && how.type != type)
    place.fail("wrong dtype: found '", how.descr, "', expected '", std::string(description(type)), "'");
}

} // namespace detail::npy
} // namespace tapeless
