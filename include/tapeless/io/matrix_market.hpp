#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Matrix Market files of matrices (.mtx, and gzipped .mtx.gz):
//   %%MatrixMarket matrix coordinate real|integer|pattern general|symmetric|skew-symmetric|hermitian
//   % comments and blank lines
//   rows columns entries
//   row column value       one line an entry, counted from 1; in a pattern there is no value: it is 1
// or, dense,
//   %%MatrixMarket matrix array real|integer general|symmetric|skew-symmetric|hermitian
//   rows columns
//   value                  column by column; a column of a symmetric matrix begins on the diagonal, of a skew-symmetric
//                          one below it
// A symmetric file holds one triangle; a skew-symmetric one holds the entries on one side of the diagonal. The reader
// adds the mirrored entries. Entries with equal row and column are summed.

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <type_traits>

#include "../core/csr.hpp"
#include "../core/extent.hpp"
#include "../core/text.hpp"
#include "../run/csr.hpp"
#include "../run/csr_build.hpp"
#include "../run/memory.hpp"
#include "file.hpp"
#include "inflate.hpp"
#include "matrix_market_entries.hpp"
#include "matrix_market_text.hpp"

namespace tapeless {
namespace detail::matrix_market {

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
// std::int32_t. A real value for an std::int32_t must be whole. A value too small for a float is rounded if a double
// can hold it. A value too small for a double, as 1e-400, is out of range, and so is one that is too large.
// Files are read as collections have them: Fortran's exponents; comments and blank lines anywhere; one '%' in the
// banner; the upper triangle of a symmetric matrix; weights in a pattern, whose entries stay 1; zeros on the diagonal
// of a skew-symmetric matrix. Zeros of an array make no entries. With read_options::strict all of these are an
// io_error, and so are 'array' and 'hermitian'.
// gzip is recognised by the content, whatever the name. It needs zlib (see inflate.hpp).
// Throws io_error, with the number of the line, where the file is not as above, extents disagree with the type, a
// number is out of range, entries are missing or too many, a symmetric file holds an element and its mirror image, or
// the limit of read_options on memory would be exceeded. Memory: the file, 12 to 16 bytes an entry, and the matrix.
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

// save_matrix_market(path, a): writes "coordinate real general" ("integer" for std::int32_t). Explicit zeros are
// written. Numbers have the fewest digits that read back equal. The file is replaced as a whole, as by npy_write, and
// is not compressed. Throws argument_error where csr_check does, before a file is opened; io_error where the disk
// refuses or the name ends in .gz.
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
