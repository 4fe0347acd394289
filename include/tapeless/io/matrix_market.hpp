#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Matrix Market files of sparse matrices (.mtx, and gzipped .mtx.gz):
//   %%MatrixMarket matrix coordinate real|integer|pattern general|symmetric|skew-symmetric
//   % comments and blank lines
//   rows columns entries
//   row column value       one line an entry, from 1 on; no value in a pattern, where it is 1
// A symmetric file holds the lower triangle, a skew-symmetric one what is below the diagonal; the other entries are
// made. Entries that stand twice are summed.

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

#include "../run/csr_build.hpp"
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
  reader(const std::filesystem::path& path, std::string_view text) : path_(path), rest_(text) {}

  template <class... X> [[noreturn]] void fail(const X&... problem) const {
    throw io_error(path_, joined("line ", number_, ": ", joined(problem...)));
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
  // The next field of the line; empty at its end.
  std::string_view next_field() {
    skip_space();
    std::size_t n = 0;
    while (n < line_.size() && !is_space(line_[n])) ++n;
    const std::string_view found = line_.substr(0, n);
    line_.remove_prefix(n);
    return found;
  }
  void expect_end_of_line() {
    if (const std::string_view more = next_field(); !more.empty())
      fail("'", shortened(more), "' behind the last field");
  }
  template <class T> T number(const char* what) {
    const std::string_view text = next_field();
    T x{};
    const std::errc error = parse(text, x);
    if (error == std::errc::result_out_of_range) fail(what, " '", shortened(text), "' is out of range");
    if (error != std::errc()) fail(what, " expected, found '", shortened(text), "'");
    return x;
  }
  std::size_t bytes_left() const { return rest_.size(); }
  static std::string shortened(std::string_view text) {
    return std::string(text.substr(0, 40)) + (text.size() > 40 ? ".." : "");
  }

private:
  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }
  void skip_space() {
    while (!line_.empty() && is_space(line_[0])) line_.remove_prefix(1);
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

  const std::filesystem::path& path_;
  std::string_view rest_, line_;
  std::int64_t number_ = 0;
};

struct banner {
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
  if (!in.next_line() || word() != "%%matrixmarket")
    in.fail("no banner: a Matrix Market file begins with %%MatrixMarket");
  if (const std::string object = word(); object != "matrix") unknown("object", object, "'matrix' is read");
  if (const std::string format = word(); format == "array")
    in.fail("format 'array' is a dense matrix: 'coordinate' is read");
  else if (format != "coordinate") unknown("format", format, "'coordinate' is read");
  banner b;
  const std::string values = word();
  if (values == "integer") b.field = field::integer;
  else if (values == "pattern") b.field = field::pattern;
  else if (values != "real") unknown("field", values, "'real', 'integer' and 'pattern' are read");
  const std::string kind = word();
  if (kind == "symmetric") b.symmetry = symmetry::symmetric;
  else if (kind == "skew-symmetric") b.symmetry = symmetry::skew;
  else if (kind != "general")
    unknown("symmetry", kind, "'general', 'symmetric' and 'skew-symmetric' are read");
  if (b.symmetry == symmetry::skew && b.field == field::pattern)
    in.fail("a pattern has no signs to be skew-symmetric with");
  in.expect_end_of_line();
  return b;
}

template <class T> T value_of(reader& in, field f) {
  if (f == field::pattern) return T{1};
  if constexpr (std::is_integral_v<T>) return in.number<T>("value");
  else return f == field::integer ? static_cast<T>(in.number<std::int64_t>("value")) : in.number<T>("value");
}

template <class A> owned<A> parse(const std::filesystem::path& path, std::string_view text) {
  constexpr const char* who = "load_matrix_market(path)";
  using T = typename A::value_type;
  reader in(path, text);
  const banner b = read_banner(in);
  if (std::is_integral_v<T> && b.field == field::real)
    in.fail("real values, but the matrix type has std::int32_t");
  if (!in.next_content()) throw io_error(path, "truncated: no line of sizes");
  const auto rows = in.number<std::int64_t>("number of rows");
  const auto cols = in.number<std::int64_t>("number of columns");
  const auto entries = in.number<std::int64_t>("number of entries");
  in.expect_end_of_line();
  csr_names(who).take_rows_and_cols<A>(rows, cols);
  if (entries < 0) in.fail("number of entries is negative");
  if (b.symmetry != symmetry::general && rows != cols)
    in.fail("a symmetric matrix is square, this one has ", rows, " rows and ", cols, " columns");
  const auto shortest =
      static_cast<std::int64_t>((in.bytes_left() + 1) / (b.field == field::pattern ? 4 : 6));
  if (entries > shortest) // "1 1\n", "1 1 1\n"
    throw io_error(path,
                   joined("truncated: ", entries, " entries do not fit into ", in.bytes_left(), " bytes"));

  std::vector<triplet<T>> all;
  all.reserve(static_cast<std::size_t>(b.symmetry == symmetry::general ? entries : 2 * entries));
  for (std::int64_t k = 0; k < entries; ++k) {
    if (!in.next_content()) throw io_error(path, joined("truncated: ", k, " of ", entries, " entries"));
    const auto i = in.number<std::int64_t>("row");
    const auto j = in.number<std::int64_t>("column");
    if (i < 1 || i > rows) in.fail("row ", i, " is outside [1, ", rows, "]");
    if (j < 1 || j > cols) in.fail("column ", j, " is outside [1, ", cols, "]");
    const T value = value_of<T>(in, b.field);
    in.expect_end_of_line();
    const auto r = static_cast<std::int32_t>(i - 1), c = static_cast<std::int32_t>(j - 1);
    all.push_back({r, c, value});
    if (b.symmetry == symmetry::general) continue;
    if (j > i) in.fail("row ", i, ", column ", j, ": a symmetric file has no entries above the diagonal");
    if (b.symmetry == symmetry::skew && i == j)
      in.fail("row ", i, ": a skew-symmetric file has no entries on the diagonal");
    if constexpr (std::is_integral_v<T>)
      if (b.symmetry == symmetry::skew && value == std::numeric_limits<T>::min())
        in.fail("value ", value, " has no negative");
    if (i != j) all.push_back({c, r, b.symmetry == symmetry::skew ? static_cast<T>(-value) : value});
  }
  if (in.next_content()) in.fail("text behind the ", entries, " entries");
  return csr_from_entries<A>(
      who, "entry", rows, cols, static_cast<extent_t>(all.size()),
      [t = all.data()](extent_t k) { return static_cast<extent_t>(t[k].row); },
      [t = all.data()](extent_t k) { return static_cast<extent_t>(t[k].col); },
      [t = all.data()](extent_t k) { return t[k].value; });
}

} // namespace detail::matrix_market

// load_matrix_market<csr<float, dyn<'r'>, dyn<'c'>, dyn<'e'>>>(path): the file's matrix. Elements are float, double or
// std::int32_t, which real values are not read into; values below the smallest float are rounded.
// gzip is told by the content, whatever the name; it needs zlib (see inflate.hpp).
// Throws io_error with the number of the line where something is not as above, extents disagree with the type, a number
// is out of range, entries are missing or too many. Memory: the file, 12 to 16 bytes an entry, and the matrix.
template <detail::host_sparse_matrix A> owned<A> load_matrix_market(const std::filesystem::path& path) {
  static_assert(
      detail::are_in_rows<A>,
      "tapeless: load_matrix_market<A>(path): A is not tiled; csr_tiled(a) makes a tiled matrix of one in rows");
  static_assert(detail::matrix_market::number_with_sign<typename A::value_type>,
                "tapeless: load_matrix_market(path): elements are float, double or std::int32_t");
  return detail::as_io_error(path, [&] {
    std::string text = detail::whole_file(path);
    if (text.starts_with("\x1f\x8b")) text = detail::inflated(path, text, detail::deflated::gzip, 0);
    return detail::matrix_market::parse<A>(path, text);
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
  detail::npy::partial_file partial(path);
  std::string text = "%%MatrixMarket matrix coordinate ";
  text += std::is_integral_v<T> ? "integer general\n" : "real general\n";
  const auto put = [&text](auto x, char behind) {
    char digits[32];
    text.append(digits, std::to_chars(digits, digits + sizeof digits, x).ptr);
    text += behind;
  };
  const auto flush = [&] {
    errno = 0;
    if (std::fwrite(text.data(), 1, text.size(), partial.file) != text.size())
      throw io_error(path, detail::joined("cannot be written: ", detail::npy::reason(errno)));
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
  partial.becomes(path);
}

} // namespace tapeless
