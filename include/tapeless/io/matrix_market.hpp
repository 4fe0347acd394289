#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Matrix Market files of matrices (.mtx, and gzipped .mtx.gz):
//   %%MatrixMarket matrix coordinate real|integer|pattern general|symmetric|skew-symmetric|hermitian
//   % comments and blank lines
//   rows columns entries
//   row column value       one line an entry, from 1 on; no value in a pattern, where it is 1
// or, dense,
//   %%MatrixMarket matrix array real|integer general|symmetric|skew-symmetric|hermitian
//   rows columns
//   value                  column by column; of a symmetric matrix from the diagonal on, of a skew-symmetric one below it
// A symmetric file holds one triangle, a skew-symmetric one what is on one side of the diagonal; the other entries are
// made. Entries that stand twice are summed.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "../core/csr.hpp"
#include "../core/extent.hpp"
#include "../core/text.hpp"
#include "../run/csr.hpp"
#include "../run/csr_build.hpp"
#include "../run/memory.hpp"
#include "file.hpp"
#include "inflate.hpp"

namespace tapeless {
namespace detail::matrix_market {

template <class T>
concept number_with_sign =
    std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, std::int32_t>;

enum class field { real, integer, pattern };
enum class symmetry { general, symmetric, skew };

// The lines of a text, numbered from 1, and the fields of the current one.
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
  // The next line that is neither blank nor a comment.
  bool next_content() {
    while (next_line()) {
      skip_space();
      if (!line_.empty() && line_[0] != '%') return true;
    }
    return false;
  }
  // The next field of the line; empty at its end. A comment ends a line, where reading is not strict.
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
  // Behind the first word of the banner, which stands in the first line; where reading is not strict, behind comments
  // and blank lines, too, and with one '%' of two.
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
  // @pre word: small letters
  static bool is_word(std::string_view text, std::string_view word) {
    return std::equal(text.begin(), text.end(), word.begin(), word.end(),
                      [](char a, char b) { return a == b || (a >= 'A' && a <= 'Z' && a - 'A' + 'a' == b); });
  }
  template <class T> static std::errc parse(std::string_view text, T& x) {
    if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
    const char* const end = text.data() + text.size();
    auto [stop, error] = std::from_chars(text.data(), end, x);
    if constexpr (std::is_same_v<T, float>)
      if (error == std::errc::result_out_of_range) { // below the smallest float it is rounded
        double wide = 0;
        const auto again = std::from_chars(text.data(), end, wide);
        if (again.ec == std::errc() && std::abs(wide) < 1) {
          x = static_cast<float>(wide);
          error = std::errc();
        }
      }
    return error == std::errc() && stop != end ? std::errc::invalid_argument : error;
  }
  // Fortran writes 1.5D+02 for 1.5e+02 and, of three digits, 1.5-120 for 1.5e-120.
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

// A value that is there.
template <class T> T value_of(const reader& in, field f, std::string_view text) {
  constexpr const char* what = "value";
  if constexpr (std::is_integral_v<T>) {
    if (in.strict || text.find_first_of(".dDeEnN") == std::string_view::npos) return in.number<T>(what, text);
    const double x = in.number<double>(what, text); // 3.0
    if (x != std::trunc(x))
      in.fail(what, " '", reader::shortened(text), "' is not whole, as an std::int32_t is");
    if (!(std::abs(x) <= 0x1p31 && x != 0x1p31))
      in.fail(what, " '", reader::shortened(text), "' is out of range");
    return static_cast<T>(x);
  } else if (f == field::integer && in.strict) {
    return static_cast<T>(in.number<std::int64_t>(what, text));
  } else {
    const T x = in.number<T>(what, text);
    if (f == field::integer && !(std::isfinite(x) && x == std::trunc(x))) in.fail_expected(what, text);
    return x;
  }
}

// The entries of a file as triplets, those that symmetry adds behind theirs.
template <class T> struct entries_of {
  reader& in;
  banner b;
  std::int64_t rows, cols;
  std::vector<triplet<T>> all;
  bool below = false, above = false; // entries off the diagonal

  // @pre i, j in the matrix, from 1 on
  void add(std::int64_t i, std::int64_t j, T value) {
    const auto r = static_cast<std::int32_t>(i - 1), c = static_cast<std::int32_t>(j - 1);
    const bool skew = b.symmetry == symmetry::skew;
    all.push_back({r, c, value});
    if (b.symmetry == symmetry::general) return;
    (j > i ? above : below) |= i != j;
    if (j > i && in.strict)
      in.fail("row ", i, ", column ", j, ": a symmetric file has no entries above the diagonal");
    if (skew && i == j && (in.strict || value != T{}))
      in.fail("row ", i, ": a skew-symmetric file has no entries on the diagonal",
              in.strict ? "" : " but zeros");
    if constexpr (std::is_integral_v<T>)
      if (skew && value == std::numeric_limits<T>::min()) in.fail("value ", value, " has no negative");
    if (i != j) all.push_back({c, r, skew ? static_cast<T>(-value) : value});
  }
  // The two triangles of a symmetric file may not say the same element twice: summed it were doubled.
  void require_one_side() const {
    if (!above || !below) return;
    std::vector<std::uint64_t> lower, upper; // column and row; row and column
    for (std::size_t k = 0; k < all.size(); k += all[k].row == all[k].col ? 1 : 2) {
      const auto r = static_cast<std::uint64_t>(all[k].row), c = static_cast<std::uint64_t>(all[k].col);
      if (r > c) lower.push_back(c << 32 | r);
      else if (r < c) upper.push_back(r << 32 | c);
    }
    std::sort(lower.begin(), lower.end());
    for (const std::uint64_t key : upper)
      if (std::binary_search(lower.begin(), lower.end(), key))
        in.fail("a symmetric file holds row ", (key >> 32) + 1, ", column ", (key & 0xffffffffu) + 1,
                " and its mirror image");
  }
};

template <class T> void read_coordinates(entries_of<T>& to, std::int64_t entries) {
  reader& in = to.in;
  for (std::int64_t k = 0; k < entries; ++k) {
    if (!in.next_content()) in.fail_truncated(k, entries, "entries");
    const auto i = in.number<std::int64_t>("row");
    const auto j = in.number<std::int64_t>("column");
    if (i < 1 || i > to.rows) in.fail("row ", i, " is outside [1, ", to.rows, "]");
    if (j < 1 || j > to.cols) in.fail("column ", j, " is outside [1, ", to.cols, "]");
    T value{1};
    if (to.b.field != field::pattern) value = value_of<T>(in, to.b.field, in.next_field());
    else if (!in.strict) // a weight may stand there, which no pattern has
      if (const std::string_view weight = in.next_field(); !weight.empty())
        in.number<double>("weight", weight);
    in.expect_end_of_line();
    to.add(i, j, value);
  }
  to.require_one_side();
}
// Zeros are no entries.
template <class T> void read_array(entries_of<T>& to, std::int64_t values) {
  reader& in = to.in;
  std::int64_t k = 0;
  for (std::int64_t j = 1; j <= to.cols; ++j) {
    const auto begin = to.b.symmetry == symmetry::general     ? 1
                       : to.b.symmetry == symmetry::symmetric ? j
                                                              : j + 1;
    for (std::int64_t i = begin; i <= to.rows; ++i, ++k) {
      std::string_view text = in.next_field();
      while (text.empty()) {
        if (!in.next_content()) in.fail_truncated(k, values, "values");
        text = in.next_field();
      }
      if (const T value = value_of<T>(in, to.b.field, text); value != T{}) to.add(i, j, value);
    }
  }
  in.expect_end_of_line();
}

template <class A>
owned<A> parse(const std::filesystem::path& path, std::string_view text, memory_limit& memory, bool strict) {
  constexpr const char* who = "load_matrix_market(path)";
  using T = typename A::value_type;
  reader in(path, text, strict);
  const banner b = read_banner(in);
  if (std::is_integral_v<T> && b.field == field::real && strict)
    in.fail("real values, but the matrix type has std::int32_t");
  if (!in.next_content()) throw io_error(path, "truncated: no line of sizes");
  const auto rows = in.number<std::int64_t>("number of rows");
  const auto cols = in.number<std::int64_t>("number of columns");
  std::int64_t entries = b.array ? 0 : in.number<std::int64_t>("number of entries");
  in.expect_end_of_line();
  csr_names(who).take_rows_and_cols<A>(rows, cols);
  if (entries < 0) in.fail("number of entries is negative");
  const bool general = b.symmetry == symmetry::general;
  if (!general && rows != cols)
    in.fail("a symmetric matrix is square, this one has ", rows, " rows and ", cols, " columns");
  if (b.array)
    entries = general ? rows * cols : rows * (b.symmetry == symmetry::symmetric ? rows + 1 : rows - 1) / 2;
  const char* const items = b.array ? "values" : "entries";
  const int shortest = b.array ? 2 : b.field == field::pattern ? 4 : 6; // "1\n", "1 1\n", "1 1 1\n"
  if (entries > static_cast<std::int64_t>(in.bytes_left() + 1) / shortest)
    throw io_error(
        path, joined("truncated: ", entries, " ", items, " do not fit into ", in.bytes_left(), " bytes"));
  const std::int64_t most = general ? entries : 2 * entries;
  take_matrix<A>(path, memory, rows, most, sizeof(triplet<T>));

  entries_of<T> found{in, b, rows, cols, {}};
  if (b.array) read_array(found, entries);
  else {
    found.all.reserve(static_cast<std::size_t>(most));
    read_coordinates(found, entries);
  }
  if (in.next_content()) in.fail("text behind the ", entries, " ", items);
  return csr_from_entries<A>(
      who, "entry", rows, cols, static_cast<extent_t>(found.all.size()),
      [t = found.all.data()](extent_t k) { return static_cast<extent_t>(t[k].row); },
      [t = found.all.data()](extent_t k) { return static_cast<extent_t>(t[k].col); },
      [t = found.all.data()](extent_t k) { return t[k].value; });
}

} // namespace detail::matrix_market

// load_matrix_market<csr<float, dyn<'r'>, dyn<'c'>, dyn<'e'>>>(path): the file's matrix. Elements are float, double or
// std::int32_t; of real values std::int32_t takes what is whole. Values below the smallest float are rounded. Files are
// read as collections have them: Fortran's exponents, comments and blank lines anywhere, one '%' of two in the banner,
// the upper triangle of a symmetric matrix, a weight behind the entries of a pattern (which stay 1), zeros on the
// diagonal of a skew-symmetric one. Of an array zeros are left out. With read_options::strict all of that and 'array'
// and 'hermitian' are an io_error.
// gzip is told by the content, whatever the name; it needs zlib (see inflate.hpp).
// Throws io_error with the number of the line where something is not as above, extents disagree with the type, a number
// is out of range, entries are missing or too many, an element and its mirror image stand in a symmetric file, or
// memory beyond the limit of read_options would be taken. Memory: the file, 12 to 16 bytes an entry, and the matrix.
template <detail::host_sparse_matrix A> owned<A> load_matrix_market(const std::filesystem::path& path,
                                                                    const read_options& options = {}) {
  static_assert(
      detail::are_in_rows<A>,
      "tapeless: load_matrix_market<A>(path): A is not tiled; csr_tiled(a) makes a tiled matrix of one in rows");
  static_assert(detail::matrix_market::number_with_sign<typename A::value_type>,
                "tapeless: load_matrix_market(path): elements are float, double or std::int32_t");
  return detail::as_io_error(path, [&] {
    std::string text = detail::whole_file(path);
    detail::memory_limit memory(options, text.size());
    if (text.starts_with("\x1f\x8b")) {
      text = detail::inflated(path, text, detail::deflated::gzip, memory.left());
      memory.take(path, text.size(), 1, "inflated bytes");
    }
    return detail::matrix_market::parse<A>(path, text, memory, options.strict);
  });
}

// save_matrix_market(path, a): "coordinate real general" ("integer" of std::int32_t), explicit zeros too, with the
// shortest digits that read back equal. The file is replaced as a whole, as by npy_write; it is not compressed.
// Throws argument_error, before a file is opened, where csr_check does, and io_error where the disk refuses or the
// name ends in .gz.
template <detail::host_sparse_matrix A> void save_matrix_market(const std::filesystem::path& path,
                                                                const A& a) {
  static_assert(
      detail::are_in_rows<A>,
      "tapeless: save_matrix_market(path, a): a is not tiled; csr_untiled(a) has its entries by rows");
  using T = typename A::value_type;
  static_assert(detail::matrix_market::number_with_sign<T>,
                "tapeless: save_matrix_market(path, a): elements are float, double or std::int32_t");
  detail::check_csr("save_matrix_market(path, a)", a);
  if (path.extension() == ".gz") throw io_error(path, "what is written is not compressed: name it .mtx");
  detail::output_file file(path);
  std::string text = "%%MatrixMarket matrix coordinate ";
  text += std::is_integral_v<T> ? "integer general\n" : "real general\n";
  const auto put = [&text](auto x, char behind) {
    char digits[32];
    text.append(digits, std::to_chars(digits, digits + sizeof digits, x).ptr);
    text += behind;
  };
  const auto flush = [&] {
    file.write(text);
    text.clear();
  };
  put(a.rows(), ' ');
  put(a.cols(), ' ');
  put(a.nnz(), '\n');
  for (extent_t i = 0; i < a.rows(); ++i)
    for (extent_t k = a.row_begin(i); k < a.row_end()[i]; ++k) {
      put(i + 1, ' ');
      put(extent_t{a.columns()[k]} + 1, ' ');
      put(a.values()[k], '\n');
      if (text.size() > std::size_t{1} << 16) flush();
    }
  flush();
  file.finish();
}

} // namespace tapeless
