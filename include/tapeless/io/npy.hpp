#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// NumPy's .npy files: "\x93NUMPY", version (2 bytes), header length (2 bytes; 4 from version 2 on),
// {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }, spaces and '\n' up to a multiple of 64, the
// elements.
// Read: versions 1.0, 2.0, 3.0, of either order of axes and of bytes; bool, integers of 8 to 64 bits, reals of 16 to
// 64, which are converted where the caller names a type. Written: 1.0, row-major, '<f4' float, '<f8' double, '<i4'
// int32, '|b1' bool. A reader knows that the file is whole before it allocates or writes an element.
//
// Conversions, x in the file to T:
//   T real      rounded to the nearest; a finite number that T has no finite one for is an io_error
//   T integer   exact: what is not whole or does not fit is an io_error that names the element and its value
//   T bool      of an integer, x != 0; of a real number 0 or 1, else an io_error

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "../core/dtype.hpp"
#include "../core/error.hpp"
#include "../core/text.hpp"
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

// in the order of npy_type; those of the first four are written
inline constexpr std::string_view descriptions[] = {"<f4", "<f8", "<i4", "|b1", "<f2", "|i1",
                                                    "<i2", "<i8", "|u1", "<u2", "<u4", "<u8"};
inline constexpr int written_types = 4;
inline constexpr std::int64_t item_sizes[] = {4, 8, 4, 1, 2, 1, 2, 8, 1, 2, 4, 8};
inline constexpr std::uint64_t longest_header = std::uint64_t{1} << 20; // of ours all are below 2^16

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

// f.operator()<T>(), T the type of an element in a file
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

template <class T>
constexpr npy_type type_of() {
  constexpr bool is_element = std::is_same_v<T, float> || std::is_same_v<T, double> ||
                              std::is_same_v<T, std::int32_t> || std::is_same_v<T, bool>;
  static_assert(is_element,
                "tapeless: npy(path, data, shape): elements are float, double, std::int32_t or bool");
  if constexpr (std::is_same_v<T, float>) return npy_type::f4;
  else if constexpr (std::is_same_v<T, double>) return npy_type::f8;
  else if constexpr (std::is_same_v<T, std::int32_t>) return npy_type::i4;
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

// Bytes of all elements. The extents other than 0 must multiply without overflow, whether one is 0 or not.
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

// who: "npy_write(path, data, shape): data"
inline void require_data(const void* data, bool has_elements, const std::string& who) {
  if (data == nullptr && has_elements) throw argument_error("tapeless: " + who + " is null");
}

// How the elements stand in a file.
struct layout {
  std::vector<std::int64_t> shape;
  std::string descr;
  npy_type type = npy_type::f4; // of descr, where take_type() has been called
  bool big_endian = false, column_major = false;
  bool strict = false;

  // Strict: one of the four written.
  void take_type(const file_place& place) {
    if (strict) {
      for (int i = 0; i < written_types; ++i)
        if (descr == descriptions[i]) return void(type = static_cast<npy_type>(i));
      place.fail("unsupported dtype '", descr, "': '<f4', '<f8', '<i4' and '|b1' are read");
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
  // The bytes are those of an npy_array.
  bool is_plain() const { return !big_endian && !reorders(); }
  // With two extents other than 1 the two orders differ.
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

// The header's Python literal: a dict with the three keys once each, in any order.
class header_parser {
public:
  header_parser(const file_place& place, std::string_view text, bool strict)
      : place_(place), text_(text), strict_(strict) {}

  layout parse() {
    layout result;
    result.strict = strict_;
    bool seen[3] = {};
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      const int which = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : 3;
      if (which == 3) malformed("unknown key '" + std::string(key) + "'");
      if (seen[which]) malformed("key '" + std::string(key) + "' twice");
      seen[which] = true;
      if (which == 0) result.descr = description_of_type();
      else if (which == 1) result.column_major = column_major();
      else result.shape = shape();
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ != text_.size()) malformed("text behind the dictionary");
    if (!seen[0] || !seen[1] || !seen[2]) malformed("a key of 'descr', 'fortran_order', 'shape' is missing");
    return result;
  }

private:
  [[noreturn]] void malformed(const std::string& problem) const {
    place_.fail("malformed header: ", problem);
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) malformed(std::string("'") + c + "' expected at character " + std::to_string(at_));
  }
  std::string_view quoted() {
    const char quote = accept('\'') ? '\'' : '"';
    if (quote == '"') expect('"');
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) malformed("unterminated string");
    const std::string_view result = text_.substr(at_, end - at_);
    at_ = end + 1;
    return result;
  }
  bool word(std::string_view expected) {
    skip_space();
    if (text_.substr(at_, expected.size()) != expected) return false;
    at_ += expected.size();
    return true;
  }

  std::string_view description_of_type() {
    skip_space();
    if (at_ < text_.size() && text_[at_] == '[') place_.fail("unsupported dtype: structured");
    return quoted();
  }
  bool column_major() {
    if (word("True")) {
      if (strict_) place_.fail("fortran_order: column-major data is not read");
      return true;
    }
    if (!word("False")) malformed("fortran_order is neither True nor False");
    return false;
  }
  std::vector<std::int64_t> shape() {
    std::vector<std::int64_t> result;
    expect('(');
    while (!accept(')')) {
      skip_space();
      std::int64_t extent = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), extent);
      if (error == std::errc::result_out_of_range) place_.fail("size overflow: an extent beyond 64 bits");
      if (error != std::errc() || extent < 0) malformed("an extent is not a number >= 0");
      at_ = static_cast<std::size_t>(end - text_.data());
      if (!strict_ && at_ < text_.size() && text_[at_] == 'L') ++at_; // as Python 2 wrote them
      result.push_back(extent);
      if (accept(',')) continue;
      if (result.size() == 1) malformed("the shape is not a tuple"); // (3) is a number in Python
      expect(')');
      break;
    }
    return result;
  }

  const file_place& place_;
  std::string_view text_;
  bool strict_;
  std::size_t at_ = 0;
};

// Where the header's literal stands in a file of size bytes.   @pre start: its first min(size, 12) bytes
struct literal_place {
  std::uint64_t begin = 10, length = 0;
};
inline literal_place find_literal(const file_place& place, std::string_view start, std::uintmax_t size) {
  constexpr std::string_view magic("\x93NUMPY", 6);
  const std::string_view begin = start.substr(0, magic.size());
  if (begin != magic.substr(0, begin.size()))
    place.fail(begin.substr(0, 2) == "PK"
                   ? "bad magic: no .npy file, but an archive; npz_read reads an .npz file"
                   : "bad magic: no .npy file");
  if (size < 10) place.fail("truncated in the header");
  const auto byte = [start](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(start[i])}; };
  if (byte(6) < 1 || byte(6) > 3 || byte(7) != 0)
    place.fail("unsupported format version ", byte(6), ".", byte(7));
  literal_place literal;
  literal.length = byte(8) + (byte(9) << 8);
  if (byte(6) > 1) {
    literal.begin = 12;
    if (size < literal.begin) place.fail("truncated in the header");
    literal.length += (byte(10) << 16) + (byte(11) << 24);
  }
  if (literal.length > longest_header)
    place.fail("a header of ", literal.length, " bytes: at most ", longest_header, " are read");
  if (literal.length > size - literal.begin) place.fail("truncated in the header");
  return literal;
}

// f(k) for the place k in the file of each element, the elements in row-major order
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
      k += axes[a].stride;
      if (++axes[a].at < axes[a].extent) break;
      k -= axes[a].stride * axes[a].extent;
      axes[a].at = 0;
    }
  }
}

// Element k in the file as messages name it: 5, or (1, 2) in an array of several axes.
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

// Element k of the file, R its type there: a number. Any byte but 0 is true.
template <class R> auto element_at(const std::byte* from, std::size_t k, bool big_endian) {
  std::array<std::byte, sizeof(R)> bytes;
  std::memcpy(bytes.data(), from + k * sizeof(R), sizeof(R));
  if (big_endian) std::reverse(bytes.begin(), bytes.end());
  if constexpr (std::is_same_v<R, bool>) return bytes[0] != std::byte{0};
  else if constexpr (std::is_same_v<R, half>) return to_float(std::bit_cast<half>(bytes));
  else return std::bit_cast<R>(bytes);
}

// What T has no value for, as a phrase behind the number; null: it has one.
template <class T, class X> constexpr const char* misfit(X x) {
  constexpr bool real = std::is_floating_point_v<X>;
  if constexpr (std::is_same_v<T, X> || std::is_same_v<X, bool>) return nullptr;
  else if constexpr (std::is_same_v<T, bool>) {
    if constexpr (real) return x == 0 || x == 1 ? nullptr : "is neither 0 nor 1, as a bool is";
    else return nullptr;
  } else if constexpr (std::is_floating_point_v<T>) {
    if constexpr (real && sizeof(T) < sizeof(X)) { // from there on it is nearer to infinity
      constexpr X end = 0x1.ffffffp+127;
      return (x >= end || x <= -end) && std::abs(x) <= std::numeric_limits<X>::max() ? "exceeds a float"
                                                                                     : nullptr;
    } else return nullptr;
  } else {
    constexpr const char* exceeds = sizeof(T) == 4 ? "exceeds an std::int32_t" : "exceeds an std::int64_t";
    if constexpr (real) {
      constexpr X end = sizeof(T) == 4 ? X(0x1p31) : X(0x1p63);
      if (x != x) return "is not whole";
      if (x < -end || x >= end) return exceeds;
      return x == std::trunc(x) ? nullptr : "is not whole";
    } else return std::in_range<T>(x) ? nullptr : exceeds;
  }
}

// Refuses elements that T has no value for.   @pre from: elements() of how.type
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
// The elements as T in row-major order.   @pre require_fits<T>
template <class T> void store(const layout& how, const std::byte* from, T* to) {
  with_type(how.type, [&]<class R>() {
    for_each_place(how, [&](std::size_t k) {
      const auto x = element_at<R>(from, k, how.big_endian);
      if constexpr (std::is_same_v<T, bool>) *to++ = x != 0;
      else *to++ = static_cast<T>(x);
    });
  });
}
// The elements as they are, in row-major order and little-endian.
inline void store_bytes(const layout& how, const std::byte* from, std::byte* to) {
  const std::size_t item = static_cast<std::size_t>(item_size(how.type));
  for_each_place(how, [&](std::size_t k) {
    const std::byte* const x = from + k * item;
    if (how.big_endian) std::reverse_copy(x, x + item, to);
    else std::copy(x, x + item, to);
    to += item;
  });
}

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

// An open file that stands at its first element; payload: bytes of all elements.
struct opened {
  file_handle file;
  layout how;
  std::size_t payload = 0;
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

// A file of this shape whose elements are read as T.
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

inline std::string header(const std::filesystem::path& path, std::string_view descr,
                          std::span<const std::int64_t> shape) {
  std::string literal =
      "{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': " + to_string(shape) + ", }";
  literal.append(63 - (10 + literal.size()) % 64, ' ');
  literal += '\n';
  if (literal.size() > 0xffff) throw io_error(path, "the shape is too long for format 1.0");
  std::string result("\x93NUMPY\x01\x00", 8);
  result += static_cast<char>(literal.size() % 256);
  result += static_cast<char>(literal.size() / 256);
  return result + literal;
}

// The caller's bools, of which any byte but 0 is true, as the 0 and 1 of a file; empty for other elements.
template <class T> std::vector<unsigned char> flags_of(const T* data, std::int64_t n) {
  std::vector<unsigned char> flags;
  if constexpr (is_bool<T>) {
    flags.resize(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < flags.size(); ++i)
      flags[i] = read_element(data, static_cast<std::int64_t>(i)) ? 1 : 0;
  }
  return flags;
}

// The array as T or, of void, as it is.   @pre from: elements() of how.type
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

} // namespace detail::npy

// Reads a whole file: the elements as they are in it, row-major and little-endian. Throws io_error where it is no .npy
// file of the kinds above, or not as long as it says. Memory: the array; twice where it is reordered.
inline npy_array npy_read(const std::filesystem::path& path, const read_options& options = {}) {
  detail::npy::opened opened = detail::npy::open(path, options);
  std::vector<std::byte> bytes = detail::npy::elements_of(path, opened);
  if (!opened.how.is_plain()) return detail::npy::to_array<void>(path, std::move(opened.how), bytes.data());
  return {std::move(opened.how.shape), opened.how.type, std::move(bytes)};
}
// npy_read<T>(path): the elements converted to T, float, double, std::int32_t or bool, as above; with
// read_options::strict only a file of T.
template <class T> npy_array npy_read(const std::filesystem::path& path, const read_options& options = {}) {
  detail::npy::opened opened = detail::npy::open(path, options);
  const std::vector<std::byte> bytes = detail::npy::elements_of(path, opened);
  return detail::npy::to_array<T>(path, std::move(opened.how), bytes.data());
}

// Reads a file of exactly this shape into data, row-major, the elements converted to T as above; with
// read_options::strict only a file of T. Throws io_error as npy_read does, and where the shape differs; all of this is
// known before data is touched (only a failing disk can leave it half-written). Throws argument_error where data is
// null and the shape has elements. Memory: none for a file of T, row-major; else the file.
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

// Writes data, row-major, of product(shape) elements. The file is written beside the target under a temporary
// name, <path>.<numbers>.partial, and renamed when the system has taken all of it: other processes and later runs
// find the old file or the new one, whatever fails here, and an exception leaves no temporary file. A link stays a
// link and its target is replaced; the mode of a replaced file is kept. Devices, pipes and /dev/stdout are written to
// as they are. Nothing is forced to the disk: after a crash of the system, not of the program, the target may be
// incomplete.
// Throws argument_error where data is null and the shape has elements, io_error where the shape is negative,
// overflows or does not fit a header, both before a file is opened, and io_error where the disk refuses.
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
