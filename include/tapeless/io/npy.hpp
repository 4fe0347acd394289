#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// NumPy's .npy files: "\x93NUMPY", version (2 bytes), header length (2 bytes; 4 from version 2 on),
// {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }, spaces and '\n' up to a multiple of 64, the
// elements.
// Read: versions 1.0, 2.0, 3.0. Written: 1.0. Elements: '<f4' float, '<f8' double, '<i4' int32, '|b1' bool,
// row-major. A reader knows that the file is whole before it allocates or writes an element.

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "../core/dtype.hpp"
#include "../core/text.hpp"
#include "../run/error.hpp"

namespace tapeless {

// what() is "tapeless: <path>: <what is wrong>".
class io_error : public std::runtime_error {
public:
  io_error(const std::filesystem::path& path, const std::string& problem)
      : std::runtime_error("tapeless: " + path.string() + ": " + problem), path_(path) {}
  const std::filesystem::path& path() const noexcept { return path_; }

private:
  std::filesystem::path path_;
};

enum class npy_type : std::uint8_t { f4, f8, i4, b1 };

struct npy_array {
  std::vector<std::int64_t> shape;
  npy_type type = npy_type::f4;
  std::vector<std::byte> bytes; // row-major
};

namespace detail::npy {

static_assert(std::endian::native == std::endian::little,
              "tapeless: npy: files are little-endian, so is the host");

inline constexpr std::string_view descriptions[] = {"<f4", "<f8", "<i4", "|b1"}; // in the order of npy_type
inline constexpr std::int64_t item_sizes[] = {4, 8, 4, 1};
inline constexpr std::uint64_t longest_header = std::uint64_t{1} << 20; // of ours all are below 2^16

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
inline std::int64_t byte_count(const std::filesystem::path& path, std::span<const std::int64_t> shape,
                               npy_type type) {
  std::int64_t bytes = item_sizes[static_cast<std::size_t>(type)];
  bool empty = false;
  for (std::int64_t extent : shape) {
    if (extent < 0) throw io_error(path, "negative extent in shape " + to_string(shape));
    if (extent == 0) empty = true;
    else if (bytes > std::numeric_limits<std::int64_t>::max() / extent)
      throw io_error(path, "size overflow: shape " + to_string(shape));
    else bytes *= extent;
  }
  return empty ? 0 : bytes;
}

// who: "npy_write(path, data, shape): data"
inline void require_data(const void* data, bool has_elements, const std::string& who) {
  if (data == nullptr && has_elements) throw argument_error("tapeless: " + who + " is null");
}

struct close_file {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using file_handle = std::unique_ptr<std::FILE, close_file>;

inline std::string reason(int error) { return std::generic_category().message(error); }

// The header's Python literal, read strictly: a dict with the three keys once each, in any order.
class header_parser {
public:
  header_parser(const std::filesystem::path& path, std::string_view text) : path_(path), text_(text) {}

  void parse(npy_array& result) {
    parse_any_type(result);
    result.type = known_type();
  }
  // The shape, and descr() as it stands there.
  void parse_any_type(npy_array& result) {
    bool seen[3] = {};
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      const int which = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : 3;
      if (which == 3) malformed("unknown key '" + std::string(key) + "'");
      if (seen[which]) malformed("key '" + std::string(key) + "' twice");
      seen[which] = true;
      if (which == 0) descr_ = description_of_type();
      else if (which == 1) row_major();
      else result.shape = shape();
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ != text_.size()) malformed("text behind the dictionary");
    if (!seen[0] || !seen[1] || !seen[2]) malformed("a key of 'descr', 'fortran_order', 'shape' is missing");
  }
  std::string_view descr() const { return descr_; }

private:
  [[noreturn]] void malformed(const std::string& problem) const {
    throw io_error(path_, "malformed header: " + problem);
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
    if (at_ < text_.size() && text_[at_] == '[') throw io_error(path_, "unsupported dtype: structured");
    return quoted();
  }
  npy_type known_type() const {
    for (std::size_t i = 0; i < std::size(descriptions); ++i)
      if (descr_ == descriptions[i]) return static_cast<npy_type>(i);
    throw io_error(path_,
                   "unsupported dtype '" + std::string(descr_) + "': '<f4', '<f8', '<i4' and '|b1' are read");
  }
  void row_major() {
    if (word("True")) throw io_error(path_, "fortran_order: column-major data is not read");
    if (!word("False")) malformed("fortran_order is neither True nor False");
  }
  std::vector<std::int64_t> shape() {
    std::vector<std::int64_t> result;
    expect('(');
    while (!accept(')')) {
      skip_space();
      std::int64_t extent = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), extent);
      if (error == std::errc::result_out_of_range)
        throw io_error(path_, "size overflow: an extent beyond 64 bits");
      if (error != std::errc() || extent < 0) malformed("an extent is not a number >= 0");
      at_ = static_cast<std::size_t>(end - text_.data());
      result.push_back(extent);
      if (accept(',')) continue;
      if (result.size() == 1) malformed("the shape is not a tuple"); // (3) is a number in Python
      expect(')');
      break;
    }
    return result;
  }

  const std::filesystem::path& path_;
  std::string_view text_, descr_;
  std::size_t at_ = 0;
};

// Where the header's literal stands in a file of size bytes.   @pre start: its first min(size, 12) bytes
struct literal_place {
  std::uint64_t begin = 10, length = 0;
};
inline literal_place find_literal(const std::filesystem::path& path, std::string_view start,
                                  std::uintmax_t size) {
  constexpr std::string_view magic("\x93NUMPY", 6);
  const std::string_view begin = start.substr(0, magic.size());
  if (begin != magic.substr(0, begin.size())) throw io_error(path, "bad magic: no .npy file");
  if (size < 10) throw io_error(path, "truncated in the header");
  const auto byte = [start](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(start[i])}; };
  if (byte(6) < 1 || byte(6) > 3 || byte(7) != 0)
    throw io_error(path, std::string("unsupported format version ") + std::to_string(byte(6)) + "." +
                             std::to_string(byte(7)));
  literal_place place;
  place.length = byte(8) + (byte(9) << 8);
  if (byte(6) > 1) {
    place.begin = 12;
    if (size < place.begin) throw io_error(path, "truncated in the header");
    place.length += (byte(10) << 16) + (byte(11) << 24);
  }
  if (place.length > longest_header)
    throw io_error(path, "a header of " + std::to_string(place.length) + " bytes: at most " +
                             std::to_string(longest_header) + " are read");
  if (place.length > size - place.begin) throw io_error(path, "truncated in the header");
  return place;
}

// An open file that stands at its first element; header.bytes is empty, payload their number.
struct opened {
  file_handle file;
  npy_array header;
  std::int64_t payload = 0;
};

inline void read_exactly(const std::filesystem::path& path, std::FILE* file, void* to, std::size_t bytes) {
  if (bytes > 0 && std::fread(to, 1, bytes, file) != bytes)
    throw io_error(path, std::ferror(file) != 0 ? "read error" : "truncated");
}

inline opened open(const std::filesystem::path& path) {
  std::error_code error; // the size first: opening a pipe would wait
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) throw io_error(path, "cannot be read: " + error.message());
  opened result;
  errno = 0;
  result.file.reset(std::fopen(path.string().c_str(), "rb"));
  if (!result.file) throw io_error(path, "cannot be read: " + reason(errno));

  char start[12] = {};
  const std::size_t available = static_cast<std::size_t>(std::min<std::uintmax_t>(size, sizeof start));
  read_exactly(path, result.file.get(), start, available);
  const literal_place literal = find_literal(path, {start, available}, size);
  if (std::fseek(result.file.get(), static_cast<long>(literal.begin), SEEK_SET) != 0)
    throw io_error(path, "read error");

  std::string text(static_cast<std::size_t>(literal.length), '\0');
  read_exactly(path, result.file.get(), text.data(), text.size());
  header_parser(path, text).parse(result.header);
  result.payload = byte_count(path, result.header.shape, result.header.type);
  const std::uint64_t rest = size - literal.begin - literal.length;
  const std::uint64_t wanted = static_cast<std::uint64_t>(result.payload);
  const std::string sizes = std::to_string(rest) + " bytes of elements, shape " +
                            to_string(result.header.shape) + " has " + std::to_string(wanted);
  if (rest < wanted) throw io_error(path, "truncated: " + sizes);
  if (rest > wanted) throw io_error(path, "trailing bytes: " + sizes);
  return result;
}

// A file of exactly this element type and shape.
template <class T> opened open_as(const std::filesystem::path& path, std::span<const std::int64_t> shape) {
  constexpr npy_type type = type_of<T>();
  opened result = open(path);
  const std::vector<std::int64_t>& found = result.header.shape;
  if (result.header.type != type)
    throw io_error(path, "wrong dtype: found '" + std::string(description(result.header.type)) +
                             "', expected '" + std::string(description(type)) + "'");
  if (!std::equal(found.begin(), found.end(), shape.begin(), shape.end()))
    throw io_error(path, "wrong shape: found " + to_string(found) + ", expected " + to_string(shape));
  return result;
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

// A new file beside the target; gone at the end unless it became the target.
struct partial_file {
  std::FILE* file = nullptr;
  std::filesystem::path name;

  explicit partial_file(const std::filesystem::path& path) {
    for (int i = 0; file == nullptr && i < 1000; ++i) { // "x" makes the name ours alone
      name = path;
      name += joined(".", i, ".partial");
      errno = 0;
      file = std::fopen(name.string().c_str(), "wbx");
      if (file == nullptr && errno != EEXIST) break;
    }
    if (file == nullptr) throw io_error(path, "cannot be written: " + reason(errno));
  }
  partial_file(const partial_file&) = delete;
  partial_file& operator=(const partial_file&) = delete;
  ~partial_file() {
    if (file != nullptr) std::fclose(file);
    std::error_code ignored;
    if (!name.empty()) std::filesystem::remove(name, ignored);
  }
  void becomes(const std::filesystem::path& path) {
    errno = 0;
    const bool closed = std::fclose(std::exchange(file, nullptr)) == 0;
    if (!closed) throw io_error(path, "cannot be written: " + reason(errno));
    std::error_code error;
    std::filesystem::rename(name, path, error);
    if (error) throw io_error(path, "cannot be written: " + error.message());
    name.clear();
  }
};

} // namespace detail::npy

// Reads a whole file. Throws io_error where it is no .npy file of the kinds above, or not as long as it says.
inline npy_array npy_read(const std::filesystem::path& path) {
  detail::npy::opened opened = detail::npy::open(path);
  opened.header.bytes.resize(static_cast<std::size_t>(opened.payload));
  detail::npy::read_exactly(path, opened.file.get(), opened.header.bytes.data(), opened.header.bytes.size());
  return std::move(opened.header);
}

// Reads a file of exactly this element type and shape into data, row-major. Throws io_error as npy_read does,
// and where dtype or shape differ; all of this is known before data is touched (only a failing disk can leave
// it half-written). Throws argument_error where data is null and the shape has elements.
template <class T>
void npy_read_into(const std::filesystem::path& path, T* data, std::span<const std::int64_t> shape) {
  detail::npy::require_data(data, detail::npy::byte_count(path, shape, detail::npy::type_of<T>()) > 0,
                            "npy_read_into(path, data, shape): data");
  const detail::npy::opened opened = detail::npy::open_as<T>(path, shape);
  const std::size_t bytes = static_cast<std::size_t>(opened.payload);
  if constexpr (std::is_same_v<T, bool>) { // any byte but 0 is true, and a bool may hold 0 or 1 only
    std::vector<unsigned char> raw(bytes);
    detail::npy::read_exactly(path, opened.file.get(), raw.data(), bytes);
    for (std::size_t i = 0; i < bytes; ++i) data[i] = raw[i] != 0;
  } else {
    detail::npy::read_exactly(path, opened.file.get(), data, bytes);
  }
}

// Writes data, row-major, of product(shape) elements. The file is written beside the target under a temporary
// name, <path>.<number>.partial, and renamed when the system has taken all of it: other processes and later runs
// find the old file or the new one, whatever fails here, and an exception leaves no temporary file. Nothing is
// forced to the disk: after a crash of the system, not of the program, the target may be incomplete.
// Throws argument_error where data is null and the shape has elements, io_error where the shape is negative,
// overflows or does not fit a header, both before a file is opened, and io_error where the disk refuses.
template <class T>
void npy_write(const std::filesystem::path& path, const T* data, std::span<const std::int64_t> shape) {
  constexpr npy_type type = detail::npy::type_of<T>();
  const std::int64_t payload = detail::npy::byte_count(path, shape, type);
  const std::string header = detail::npy::header(path, detail::npy::description(type), shape);
  detail::npy::require_data(data, payload > 0, "npy_write(path, data, shape): data");
  detail::npy::partial_file partial(path);

  errno = 0;
  const std::size_t bytes = static_cast<std::size_t>(payload);
  const std::vector<unsigned char> flags = detail::npy::flags_of(data, payload);
  const void* const elements = flags.empty() ? static_cast<const void*>(data) : flags.data();
  bool good = std::fwrite(header.data(), 1, header.size(), partial.file) == header.size();
  good = good && (bytes == 0 || std::fwrite(elements, 1, bytes, partial.file) == bytes);
  good = good && std::fflush(partial.file) == 0;
  if (!good) throw io_error(path, "cannot be written: " + detail::npy::reason(errno));
  partial.becomes(path);
}

} // namespace tapeless
