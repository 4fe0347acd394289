#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The header of a .npy file: read from bytes, and made.

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "file.hpp"
#include "npy_layout.hpp"

namespace tapeless::detail::npy {

inline constexpr std::uint64_t longest_header = std::uint64_t{1} << 20; // those written here are below 2^16

// Parses the header's Python literal: a dict that has each of three keys once, in any order.
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

// Where the header's literal is in the file.
struct literal_place {
  std::uint64_t begin = 10, length = 0;
};
// size: of the file.   @pre start: its first min(size, 12) bytes
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

// All bytes before the elements.
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

} // namespace tapeless::detail::npy
