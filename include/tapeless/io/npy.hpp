#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// NumPy's .npy files: "\x93NUMPY", version (2 bytes), length of the header (2 bytes; 4 from version 2 on), the header
// {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }, spaces and '\n' up to a multiple of 64, the elements.
// Read: versions 1.0, 2.0 and 3.0; either order of axes and of bytes; bool, integers of 8 to 64 bits, real numbers of
// 16 to 64 bits. Elements are converted where the caller names a type.
// Written: version 1.0, row-major; '<f4' for float, '<f8' for double, '<i4' for int32, '|b1' for bool, '<i8'
// for int64, '|u1' for uint8.
// A reader checks that the file is complete before it allocates or writes an element.
//
// Conversions of x in the file to T:
//   T real      rounded to nearest; a finite x that would become infinite is an io_error
//   T integer   exact; an x that is not whole or does not fit is an io_error that names the element and its value
//   T bool      x != 0 where x is an integer; a real x is 0 or 1, else it is an io_error

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../core/error.hpp"
#include "../core/text.hpp"
#include "file.hpp"
#include "npy_elements.hpp" // IWYU pragma: export
#include "npy_header.hpp"   // IWYU pragma: export
#include "npy_layout.hpp"   // IWYU pragma: export

namespace tapeless {
namespace detail::npy {

// who: "npy_write(path, data, shape): data"
inline void require_data(const void* data, bool has_elements, const std::string& who) {
  if (data == nullptr && has_elements) throw argument_error("tapeless: " + who + " is null");
}

// An open file whose next byte is that of the first element.
struct opened {
  file_handle file;
  layout how;
  std::size_t payload = 0; // bytes of all elements
};

inline opened open(const std::filesystem::path& path, const read_options& options) {
  input_file in(path);
  const file_place place(path);
  char start[12] = {};
  const std::size_t available = static_cast<std::size_t>(std::min<std::uintmax_t>(in.size, sizeof start));
  read_exactly(path, in.file.get(), start, available);
  const literal_place literal = find_literal(place, {start, available}, in.size);
  if (std::fseek(in.file.get(), static_cast<long>(literal.begin), SEEK_SET) != 0)
    throw io_error(path, "read error");

  std::string text(static_cast<std::size_t>(literal.length), '\0');
  read_exactly(path, in.file.get(), text.data(), text.size());
  opened result;
  result.how = header_parser(place, text, options.strict).parse();
  result.how.take_type(place);
  const std::int64_t payload = byte_count(place, result.how.shape, item_size(result.how.type));
  const std::uint64_t rest = in.size - literal.begin - literal.length;
  const std::uint64_t wanted = static_cast<std::uint64_t>(payload);
  const std::string sizes =
      joined(rest, " bytes of elements, shape ", to_string(result.how.shape), " has ", wanted);
  if (rest < wanted) place.fail("truncated: ", sizes);
  if (rest > wanted) place.fail("trailing bytes: ", sizes);
  result.payload = static_cast<std::size_t>(payload);
  result.file = std::move(in.file);
  return result;
}

// Opens a file of this shape whose elements are read as T.
template <class T> opened open_as(const std::filesystem::path& path, std::span<const std::int64_t> shape,
                                  const read_options& options) {
  opened result = open(path, options);
  require_type<T>(path, result.how);
  require_shape(path, result.how.shape, shape);
  return result;
}

inline std::vector<std::byte> elements_of(const std::filesystem::path& path, const opened& from) {
  std::vector<std::byte> bytes(from.payload);
  read_exactly(path, from.file.get(), bytes.data(), bytes.size());
  return bytes;
}

} // namespace detail::npy

// Reads a whole file. Elements are unconverted, row-major and little-endian. Throws io_error where it is no .npy file
// of the kinds above or has another length than its header says. Memory: the array, twice where it is reordered.
inline npy_array npy_read(const std::filesystem::path& path, const read_options& options = {}) {
  detail::npy::opened opened = detail::npy::open(path, options);
  std::vector<std::byte> bytes = detail::npy::elements_of(path, opened);
  if (!opened.how.is_plain()) return detail::npy::to_array<void>(path, std::move(opened.how), bytes.data());
  return {std::move(opened.how.shape), opened.how.type, std::move(bytes)};
}
// npy_read<T>(path) converts the elements to T, an element type but bf16. With read_options::strict
// the file must have elements of type T.
template <class T> npy_array npy_read(const std::filesystem::path& path, const read_options& options = {}) {
  detail::npy::opened opened = detail::npy::open(path, options);
  const std::vector<std::byte> bytes = detail::npy::elements_of(path, opened);
  return detail::npy::to_array<T>(path, std::move(opened.how), bytes.data());
}

// Reads a file of exactly this shape into data, row-major, and converts the elements to T. With read_options::strict
// the file must have elements of type T.
// Throws io_error as npy_read does, and where the shape differs. Everything is checked before data is written; only a
// failing disk can leave it half-written. Throws argument_error where data is null and the shape has elements.
// Memory: none for a row-major file of T, else the size of the file.
template <class T>
void npy_read_into(const std::filesystem::path& path, T* data, std::span<const std::int64_t> shape,
                   const read_options& options = {}) {
  constexpr npy_type type = detail::npy::type_of<T>();
  const std::int64_t expected = detail::npy::byte_count(path, shape, detail::npy::item_size(type));
  detail::npy::require_data(data, expected > 0, "npy_read_into(path, data, shape): data");
  const detail::npy::opened opened = detail::npy::open_as<T>(path, shape, options);
  if (!std::is_same_v<T, bool> && opened.how.type == type && opened.how.is_plain()) {
    detail::read_exactly(path, opened.file.get(), data, opened.payload);
    return;
  }
  const std::vector<std::byte> bytes = detail::npy::elements_of(path, opened);
  detail::npy::require_fits<T>(path, opened.how, bytes.data());
  detail::npy::store(opened.how, bytes.data(), data);
}

// Writes data, row-major, of product(shape) elements. The bytes go to a temporary file beside the target,
// <path>.<numbers>.partial, which is renamed when it is complete. So other processes and later runs find the old file
// or the new one, whatever fails here. An exception leaves no temporary file.
// A link stays a link; its target is replaced. A replaced file keeps its mode. Devices, pipes and /dev/stdout are
// written to directly. Nothing is forced to the disk: the target may be incomplete after a crash of the system (not of
// the program). Before a file is opened, throws argument_error where data is null and the shape has elements, and
// io_error where the shape is negative, overflows or does not fit a header. Throws io_error where the disk refuses.
template <class T>
void npy_write(const std::filesystem::path& path, const T* data, std::span<const std::int64_t> shape) {
  constexpr npy_type type = detail::npy::type_of<T>();
  const std::int64_t payload = detail::npy::byte_count(path, shape, detail::npy::item_size(type));
  const std::string header = detail::npy::header(path, detail::npy::description(type), shape);
  detail::npy::require_data(data, payload > 0, "npy_write(path, data, shape): data");
  detail::output_file file(path);
  file.write(header);
  const std::vector<unsigned char> flags = detail::npy::flags_of(data, payload);
  file.write(flags.empty() ? static_cast<const void*>(data) : flags.data(),
             static_cast<std::size_t>(payload));
  file.finish();
}

} // namespace tapeless
