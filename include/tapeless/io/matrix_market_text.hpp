#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The text of a Matrix Market file: its lines, their fields, numbers as C and Fortran write them, and the banner.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "../core/text.hpp"
#include "file.hpp"

namespace tapeless::detail::matrix_market {

// Reads line by line, and the current line field by field. Messages count lines from 1.
class reader {
public:
  reader(const std::filesystem::path& path, std::string_view text, bool strict_reading)
      : strict(strict_reading), path_(path), rest_(text) {}
  const bool strict;

  template <class... X> [[noreturn]] void fail(const X&... problem) const {
    throw io_error(path_,
                   number_ == 0 ? joined(problem...) : joined("line ", number_, ": ", joined(problem...)));
  }
  bool next_line() {
    if (rest_.empty()) return false;
    ++number_;
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return true;
  }
  // Goes to the next line that is neither blank nor a comment.
  bool next_content() {
    while (next_line()) {
      skip_space();
      if (!line_.empty() && line_[0] != '%') return true;
    }
    return false;
  }
  // The next field of the line, empty at its end. Where reading is not strict, a comment ends the line.
  std::string_view next_field() {
    skip_space();
    std::size_t n = 0;
    const auto is_comment = [this](char c) { return !strict && c == '%'; };
    if (!line_.empty() && is_comment(line_[0])) line_ = {};
    while (n < line_.size() && !is_space(line_[n]) && !is_comment(line_[n])) ++n;
    const std::string_view found = line_.substr(0, n);
    line_.remove_prefix(n);
    return found;
  }
  void expect_end_of_line() {
    if (const std::string_view more = next_field(); !more.empty())
      fail("'", shortened(more), "' behind the last field");
  }
  template <class T> T number(const char* what) { return number<T>(what, next_field()); }
  template <class T> T number(const char* what, std::string_view text) const {
    T x{};
    std::errc error = parse(text, x);
    if constexpr (std::is_floating_point_v<T>)
      if (!strict && error == std::errc::invalid_argument) error = parse(with_exponent_of_c(text), x);
    if (error == std::errc::result_out_of_range) fail(what, " '", shortened(text), "' is out of range");
    if (error != std::errc()) fail_expected(what, text);
    return x;
  }
  [[noreturn]] void fail_expected(const char* what, std::string_view found) const {
    fail(what, " expected, found '", shortened(found), "'");
  }
  [[noreturn]] void fail_truncated(std::int64_t found, std::int64_t expected, const char* items) const {
    throw io_error(path_, joined("truncated: ", found, " of ", expected, " ", items));
  }
  // Goes past the first word of the banner. Strict: it is in the first line. Otherwise comments and blank lines may
  // come before it, and one '%' is enough.
  void find_banner() {
    if (!strict && rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3); // of UTF-8
    while (next_line()) {
      skip_space();
      const std::string_view first = line_.substr(0, std::min(line_.find_first_of(" \t\r"), line_.size()));
      if (is_word(first, "%%matrixmarket") || (!strict && is_word(first, "%matrixmarket")))
        return line_.remove_prefix(first.size());
      if (strict || !(first.empty() || first[0] == '%')) break;
    }
    fail("no banner: a Matrix Market file begins with %%MatrixMarket");
  }
  std::size_t bytes_left() const { return rest_.size(); }
  static std::string shortened(std::string_view text) {
    return std::string(text.substr(0, 40)) + (text.size() > 40 ? ".." : "");
  }

private:
  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }
  void skip_space() {
    while (!line_.empty() && is_space(line_[0])) line_.remove_prefix(1);
  }
  // Compares without regard to case.   @pre word has lower-case letters only
  static bool is_word(std::string_view text, std::string_view word) {
    return std::equal(text.begin(), text.end(), word.begin(), word.end(),
                      [](char a, char b) { return a == b || (a >= 'A' && a <= 'Z' && a - 'A' + 'a' == b); });
  }
  template <class T> static std::errc parse(std::string_view text, T& x) {
    if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
    const char *const begin = text.data(), *const end = begin + text.size();
    auto [stop, error] = std::from_chars(begin, end, x);
    if constexpr (std::is_same_v<T, float>)
      if (error == std::errc::result_out_of_range) { // too small for a float: round the double
        double wide = 0;
        const auto again = std::from_chars(begin, end, wide);
        if (again.ec == std::errc() && std::abs(wide) < 1) {
          x = static_cast<float>(wide);
          error = std::errc();
        }
      }
    return error == std::errc() && stop != end ? std::errc::invalid_argument : error;
  }
  // Fortran writes 1.5D+02 for 1.5e+02, and 1.5-120 for 1.5e-120: no letter before three digits.
  static std::string with_exponent_of_c(std::string_view text) {
    std::string result(text);
    const std::size_t mantissa = std::min(text.find_first_not_of("0123456789.", 1), text.size());
    const bool signed_exponent =
        text.size() - mantissa == 4 && text.substr(0, mantissa).find('.') != std::string_view::npos;
    if (mantissa == text.size()) return result;
    if (text[mantissa] == 'd' || text[mantissa] == 'D') result[mantissa] = 'e';
    else if ((text[mantissa] == '+' || text[mantissa] == '-') && signed_exponent)
      result.insert(mantissa, 1, 'e');
    return result;
  }

  const std::filesystem::path& path_;
  std::string_view rest_, line_;
  std::int64_t number_ = 0;
};

enum class field { real, integer, pattern };
enum class symmetry { general, symmetric, skew };

struct banner {
  bool array = false;
  matrix_market::field field = field::real;
  matrix_market::symmetry symmetry = symmetry::general;
};
inline banner read_banner(reader& in) {
  const auto word = [&in] {
    std::string text(in.next_field());
    for (char& c : text)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return text;
  };
  const auto unknown = [&in](const char* what, const std::string& found, const char* read) {
    in.fail(what, " '", reader::shortened(found), "': ", read);
  };
  in.find_banner();
  if (const std::string object = word(); object != "matrix") unknown("object", object, "'matrix' is read");
  banner b;
  const std::string format = word();
  b.array = format == "array";
  if (b.array && in.strict) in.fail("format 'array' is a dense matrix: 'coordinate' is read");
  if (!b.array && format != "coordinate")
    unknown("format", format, in.strict ? "'coordinate' is read" : "'coordinate' and 'array' are read");
  const std::string values = word();
  if (values == "integer" || (!in.strict && values == "unsigned-integer")) b.field = field::integer;
  else if (values == "pattern") b.field = field::pattern;
  else if (values != "real" && (in.strict || values != "double"))
    unknown("field", values, "'real', 'integer' and 'pattern' are read");
  const std::string kind = word();
  if (kind == "symmetric" || (!in.strict && kind == "hermitian"))
    b.symmetry = symmetry::symmetric; // of reals
  else if (kind == "skew-symmetric") b.symmetry = symmetry::skew;
  else if (kind != "general")
    unknown("symmetry", kind,
            in.strict ? "'general', 'symmetric' and 'skew-symmetric' are read"
                      : "'general', 'symmetric', 'skew-symmetric' and 'hermitian' are read");
  if (b.symmetry == symmetry::skew && b.field == field::pattern)
    in.fail("a pattern has no signs to be skew-symmetric with");
  if (b.array && b.field == field::pattern) in.fail("a pattern is 'coordinate': an 'array' has values");
  in.expect_end_of_line();
  return b;
}

} // namespace tapeless::detail::matrix_market
