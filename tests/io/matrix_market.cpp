// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include <tapeless/io/matrix_market.hpp>
#include <tapeless/run/csr_dense.hpp>

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "scratch.hpp"

namespace tl = tapeless;
namespace fs = std::filesystem;

namespace {

template <class T> using table = tl::csr<T, tl::dyn<'r'>, tl::dyn<'c'>, tl::dyn<'e'>>;

void put(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}
std::string get(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The dense elements of a file with this text.
template <class T = double> std::vector<T> dense_of(const fs::path& path, const std::string& text,
                                                    const tl::read_options& options = {}) {
  put(path, text);
  const auto dense = tl::to_dense(*tl::load_matrix_market<table<T>>(path, options));
  return {dense->begin(), dense->end()};
}
// What loading says; empty if it succeeds.
template <class A = table<double>> std::string complaint(const fs::path& path,
                                                         const tl::read_options& options = {}) {
  try {
    tl::load_matrix_market<A>(path, options);
    return "";
  } catch (const tl::io_error& error) {
    const std::string prefix = "tapeless: " + path.string() + ": ";
    CHECK(std::string(error.what()).substr(0, prefix.size()) == prefix);
    return std::string(error.what()).substr(prefix.size());
  }
}
template <class A = table<double>> std::string complaint(const fs::path& path, const std::string& text,
                                                         const tl::read_options& options = {}) {
  put(path, text);
  return complaint<A>(path, options);
}
const tl::read_options strict{.strict = true};

const std::string general = "%%MatrixMarket matrix coordinate real general\n";
const std::string small = general + "2 3 3\n1 1 1.5\n2 3 -2e3\n1 2 +.25\n";
template <class T> using dense = std::vector<T>;

// small, by Python's gzip.compress(small, mtime=0)
const unsigned char small_gz[] = {
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x53, 0x55, 0xf5, 0x4d, 0x2c,
    0x29, 0xca, 0xac, 0xf0, 0x4d, 0x2c, 0xca, 0x4e, 0x2d, 0x51, 0xc8, 0x05, 0x73, 0x14, 0x92,
    0xf3, 0xf3, 0x8b, 0x52, 0x32, 0xf3, 0x12, 0x4b, 0x52, 0x15, 0x8a, 0x52, 0x13, 0x73, 0x14,
    0xd2, 0x53, 0xf3, 0x52, 0x8b, 0x12, 0x73, 0xb8, 0x8c, 0x14, 0x8c, 0x15, 0x8c, 0xb9, 0x0c,
    0x15, 0x80, 0x50, 0xcf, 0x14, 0xcc, 0xd3, 0x35, 0x4a, 0x05, 0x09, 0x18, 0x29, 0x68, 0xeb,
    0x19, 0x99, 0x72, 0x01, 0x00, 0x37, 0xc1, 0xfa, 0x39, 0x4e, 0x00, 0x00, 0x00};
std::string gzipped() { return {reinterpret_cast<const char*>(small_gz), sizeof small_gz}; }

} // namespace

TEST_CASE("matrix market: real, integer and pattern, general, symmetric and skew-symmetric") {
  const scratch dir;
  const fs::path path = dir / "x.mtx";
  const auto kind = [](const std::string& field, const std::string& symmetry) {
    return "%%MatrixMarket matrix coordinate " + field + " " + symmetry + "\n";
  };
  CHECK(dense_of(path, small) == dense<double>{1.5, 0.25, 0, 0, 0, -2000});
  CHECK(dense_of<float>(path, small) == dense<float>{1.5f, 0.25f, 0, 0, 0, -2000});
  CHECK(dense_of(path, kind("integer", "general") + "1 2 1\n1 2 -7\n") == dense<double>{0, -7});
  CHECK(dense_of<std::int32_t>(path, kind("integer", "general") + "1 2 1\n1 2 -2147483648\n") ==
        dense<std::int32_t>{0, -2147483647 - 1});
  CHECK(dense_of(path, kind("pattern", "general") + "2 2 2\n1 2\n2 1\n") == dense<double>{0, 1, 1, 0});
  CHECK(dense_of<std::int32_t>(path, kind("pattern", "general") + "1 2 1\n1 2\n") ==
        dense<std::int32_t>{0, 1});
  CHECK(dense_of(path, kind("real", "symmetric") + "3 3 4\n1 1 1\n2 1 2\n3 3 9\n3 2 5\n") ==
        dense<double>{1, 2, 0, 2, 0, 5, 0, 5, 9});
  CHECK(dense_of(path, kind("pattern", "symmetric") + "2 2 2\n1 1\n2 1\n") == dense<double>{1, 1, 1, 0});
  CHECK(dense_of(path, kind("integer", "skew-symmetric") + "2 2 1\n2 1 4\n") == dense<double>{0, -4, 4, 0});
}

TEST_CASE("matrix market: comments, blank lines, CRLF, tabs, capitals, no last newline") {
  const scratch dir;
  const fs::path path = dir / "x.mtx";
  const dense<double> expected{1.5, 0.25, 0, 0, 0, -2000};
  CHECK(dense_of(path,
                 "%%matrixmarket MATRIX Coordinate REAL General\r\n% a comment\r\n%\r\n\r\n 2 3\t3 \r\n"
                 "\r\n1 1 1.5\r\n  2\t3 -2e3\r\n% 9 9 9\r\n\n1 2 0.25") == expected);
  CHECK(dense_of(path, small + "\n\n% end\n") == expected);
}

TEST_CASE("matrix market: entries that stand twice are summed, zeros stay, nothing is a matrix too") {
  const scratch dir;
  const fs::path path = dir / "x.mtx";
  put(path, general + "2 2 4\n2 2 1\n1 1 0\n2 2 4\n2 1 3\n");
  const auto a = tl::load_matrix_market<table<double>>(path);
  CHECK(a->nnz() == 3);
  CHECK(a->row_end()[0] == 1);
  CHECK(a->values()[0] == 0);
  CHECK(a->columns()[1] == 0);
  CHECK(a->values()[2] == 5);
  for (const char* sizes : {"0 0 0\n", "0 4 0\n", "4 0 0\n", "3 2147483647 0\n", "7 7 0"}) {
    CAPTURE(sizes);
    put(path, general + sizes);
    CHECK(tl::load_matrix_market<table<double>>(path)->nnz() == 0);
  }
}

TEST_CASE("matrix market: what is wrong is named with its line") {
  const scratch dir;
  const fs::path path = dir / "x.mtx";
  const auto banner = [&](const std::string& words) {
    return complaint(path, "%%MatrixMarket " + words + "\n1 1 0\n");
  };
  const auto strictly = [&](const std::string& words) {
    return complaint(path, "%%MatrixMarket " + words + "\n1 1 0\n", strict);
  };
  CHECK(complaint(path, "") == "no banner: a Matrix Market file begins with %%MatrixMarket");
  CHECK(complaint(path, "", strict) == "no banner: a Matrix Market file begins with %%MatrixMarket");
  CHECK(complaint(path, "%\n\n% c\n") ==
        "line 3: no banner: a Matrix Market file begins with %%MatrixMarket");
  CHECK(complaint(path, "\n" + general + "1 1 0\n", strict) ==
        "line 1: no banner: a Matrix Market file begins with %%MatrixMarket");
  CHECK(complaint(path, general.substr(1) + "1 1 0\n", strict) ==
        "line 1: no banner: a Matrix Market file begins with %%MatrixMarket");
  CHECK(complaint(path, "1 1 0\n") == "line 1: no banner: a Matrix Market file begins with %%MatrixMarket");
  CHECK(banner("matrix coordinate real general") == "");
  CHECK(banner("vector coordinate real general") == "line 1: object 'vector': 'matrix' is read");
  CHECK(strictly("matrix coordinate real general") == "");
  CHECK(strictly("matrix array real general") ==
        "line 1: format 'array' is a dense matrix: 'coordinate' is read");
  CHECK(strictly("matrix elemental real general") == "line 1: format 'elemental': 'coordinate' is read");
  CHECK(banner("matrix elemental real general") ==
        "line 1: format 'elemental': 'coordinate' and 'array' are read");
  CHECK(banner("matrix array pattern general") == "line 1: a pattern is 'coordinate': an 'array' has values");
  CHECK(banner("matrix array complex general") ==
        "line 1: field 'complex': 'real', 'integer' and 'pattern' are read");
  CHECK(banner("matrix coordinate complex hermitian") ==
        "line 1: field 'complex': 'real', 'integer' and 'pattern' are read");
  CHECK(banner("matrix coordinate complex general") ==
        "line 1: field 'complex': 'real', 'integer' and 'pattern' are read");
  CHECK(strictly("matrix coordinate real hermitian") ==
        "line 1: symmetry 'hermitian': 'general', 'symmetric' and 'skew-symmetric' are read");
  CHECK(banner("matrix coordinate real") ==
        "line 1: symmetry '': 'general', 'symmetric', 'skew-symmetric' and 'hermitian' are read");
  CHECK(strictly("matrix coordinate real") ==
        "line 1: symmetry '': 'general', 'symmetric' and 'skew-symmetric' are read");
  CHECK(banner("matrix coordinate pattern skew-symmetric") ==
        "line 1: a pattern has no signs to be skew-symmetric with");
  CHECK(banner("matrix coordinate real general x") == "line 1: 'x' behind the last field");

  const auto body = [&](const std::string& text) { return complaint(path, general + "% c\n" + text); };
  CHECK(body("") == "truncated: no line of sizes");
  CHECK(body("2 3\n") == "line 3: number of entries expected, found ''");
  CHECK(body("2 3 1 1\n1 1 1\n") == "line 3: '1' behind the last field");
  CHECK(body("2 x 1\n1 1 1\n") == "line 3: number of columns expected, found 'x'");
  CHECK(body("-2 3 1\n1 1 1\n") == "load_matrix_market(path): rows = -2: an extent is not negative");
  CHECK(body("2 3 -1\n1 1 1\n") == "line 3: number of entries is negative");
  CHECK(body("2147483648 3 1\n1 1 1\n") ==
        "load_matrix_market(path): rows = 2147483648: at most 2147483647, positions are std::int32_t");
  CHECK(body("99999999999999999999 3 1\n1 1 1\n") ==
        "line 3: number of rows '99999999999999999999' is out of range");
  CHECK(body("2 3 1\n3 1 1\n") == "line 4: row 3 is outside [1, 2]");
  CHECK(body("2 3 1\n0 1 1\n") == "line 4: row 0 is outside [1, 2]");
  CHECK(body("2 3 2\n1 1 1\n\n2 4 1\n") == "line 6: column 4 is outside [1, 3]");
  CHECK(body("2 3 1\n2 0 1\n") == "line 4: column 0 is outside [1, 3]");
  CHECK(body("2 3 1\n1.5 1 1\n") == "line 4: row expected, found '1.5'");
  CHECK(body("2 3 1\n1 1 one\n") == "line 4: value expected, found 'one'");
  CHECK(body("2 3 1\n1 1      \n") == "line 4: value expected, found ''");
  CHECK(body("2 3 1\n1 1 1 0\n") == "line 4: '0' behind the last field");
  CHECK(body("2 3 1\n1 1 1e999\n") == "line 4: value '1e999' is out of range");
  CHECK(body("2 3 2\n1 1 1.000000\n") == "truncated: 1 of 2 entries");
  CHECK(body("2 3 1\n1 1 1\n2 2 1\n") == "line 5: text behind the 1 entries");
  CHECK(body(std::string("2 3 1\n1 1 ").append(100, 'x')) ==
        std::string("line 4: value expected, found '").append(40, 'x').append("..'"));

  const auto symmetric = [&](const std::string& which, const std::string& text,
                             const tl::read_options& options = {}) {
    return complaint(path, "%%MatrixMarket matrix coordinate real " + which + "\n" + text, options);
  };
  CHECK(symmetric("symmetric", "2 3 1\n1 1 1\n") ==
        "line 2: a symmetric matrix is square, this one has 2 rows and 3 columns");
  CHECK(symmetric("symmetric", "3 3 1\n1 2 1\n", strict) ==
        "line 3: row 1, column 2: a symmetric file has no entries above the diagonal");
  CHECK(symmetric("skew-symmetric", "3 3 1\n2 2 0\n", strict) ==
        "line 3: row 2: a skew-symmetric file has no entries on the diagonal");
  CHECK(symmetric("skew-symmetric", "3 3 1\n2 2 1\n") ==
        "line 3: row 2: a skew-symmetric file has no entries on the diagonal but zeros");

  const std::string integers = "%%MatrixMarket matrix coordinate integer general\n1 1 1\n";
  CHECK(complaint(path, integers + "1 1 1.5\n") == "line 3: value expected, found '1.5'");
  CHECK(complaint<table<std::int32_t>>(path, integers + "1 1 2147483648\n") ==
        "line 3: value '2147483648' is out of range");
  CHECK(complaint<table<std::int32_t>>(path, small, strict) ==
        "line 1: real values, but the matrix type has std::int32_t");
  CHECK(complaint<table<std::int32_t>>(path, small) ==
        "line 3: value '1.5' is not whole, as an std::int32_t is");
  CHECK(complaint(path, general + "1 1 1\n1 1 1.5D1\n", strict) == "line 3: value expected, found '1.5D1'");
  CHECK(complaint(path, general + "1 1 1\n1 1 1 % c\n", strict) == "line 3: '%' behind the last field");
  CHECK(complaint(path, "%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1 7\n", strict) ==
        "line 3: '7' behind the last field");
  CHECK(complaint(dir / "missing.mtx").starts_with("cannot be read: "));
  CHECK(complaint(dir.directory).starts_with("cannot be read: "));
}

TEST_CASE("matrix market: files as collections have them are read") {
  const scratch dir;
  const fs::path path = dir / "x.mtx";
  const auto kind = [](const std::string& field, const std::string& symmetry) {
    return "%%MatrixMarket matrix coordinate " + field + " " + symmetry + "\n";
  };
  const auto refused_strictly = [&](const std::string& text) {
    CHECK(complaint(path, text, strict) != "");
    return text;
  };
  const auto read = [&](const std::string& text) { return dense_of(path, refused_strictly(text)); };
  // a weight behind the entries of a pattern, of any or of some
  CHECK(read(kind("pattern", "general") + "2 2 2\n1 2 7\n2 1 7\n") == dense<double>{0, 1, 1, 0});
  CHECK(read(kind("pattern", "symmetric") + "2 2 2\n1 1\n2 1 0.5D0\n") == dense<double>{1, 1, 1, 0});
  CHECK(complaint(path, kind("pattern", "general") + "2 2 1\n1 2 x\n") ==
        "line 3: weight expected, found 'x'");
  CHECK(complaint(path, kind("pattern", "general") + "2 2 1\n1 2 1 1\n") ==
        "line 3: '1' behind the last field");
  // the upper triangle, and both where they do not say one element twice
  CHECK(read(kind("real", "symmetric") + "2 2 1\n1 2 4\n") == dense<double>{0, 4, 4, 0});
  CHECK(read(kind("pattern", "symmetric") + "2 2 1\n1 2\n") == dense<double>{0, 1, 1, 0});
  CHECK(read(kind("real", "skew-symmetric") + "2 2 1\n1 2 4\n") == dense<double>{0, 4, -4, 0});
  CHECK(read(kind("real", "symmetric") + "3 3 4\n1 2 4\n2 2 1\n3 1 5\n1 2 1\n") ==
        dense<double>{0, 5, 5, 5, 1, 0, 5, 0, 0});
  const std::string twice = ": a symmetric file holds row 1, column 3 and its mirror image";
  CHECK(complaint(path, kind("real", "symmetric") + "3 3 4\n3 1 5\n2 2 1\n1 3 5\n2 1 1\n").ends_with(twice));
  CHECK(complaint(path, kind("real", "skew-symmetric") + "3 3 2\n1 3 5\n3 1 -5\n").ends_with(twice));
  CHECK(complaint(path, kind("pattern", "symmetric") + "3 3 2\n1 3\n3 1\n").ends_with(twice));
  // hermitian, of real numbers
  CHECK(read(kind("real", "hermitian") + "2 2 2\n2 1 4\n2 2 3\n") == dense<double>{0, 4, 4, 3});
  CHECK(read(kind("integer", "hermitian") + "2 2 1\n2 1 4\n") == dense<double>{0, 4, 4, 0});
  // zeros on the diagonal of a skew-symmetric matrix are stored
  CHECK(read(kind("real", "skew-symmetric") + "2 2 2\n1 1 0\n2 1 4\n") == dense<double>{0, -4, 4, 0});
  CHECK(tl::load_matrix_market<table<double>>(path)->nnz() == 3);
  CHECK(read(kind("integer", "skew-symmetric") + "2 2 2\n2 2 -0\n2 1 4\n") == dense<double>{0, -4, 4, 0});
  // the banner with one '%', behind comments and blank lines, a comment behind it, or a mark of UTF-8 before
  CHECK(read("%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n") == dense<double>{0, 1, 1, 0});
  CHECK(read("%matrixmarket MATRIX Coordinate PATTERN Symmetric\r\n2 2 1\r\n2 1\r\n") ==
        dense<double>{0, 1, 1, 0});
  CHECK(read("\n % by hand\n\n" + general + "1 1 1\n1 1 2\n") == dense<double>{2});
  CHECK(read("\xef\xbb\xbf" + general + "1 1 1\n1 1 2\n") == dense<double>{2});
  CHECK(read("%%MatrixMarket matrix coordinate real general % by hand\n1 1 1\n1 1 2\n") == dense<double>{2});
  // comments behind fields, and other spaces
  CHECK(read(general + "1 2 2 % sizes\n%\n1 1 2% no field\n\n1 2\f3 %\n % end") == dense<double>{2, 3});
  // Fortran's exponents
  CHECK(read(general + "1 4 4\n1 1 1.5D+02\n1 2 -.5d0\n1 3 2.D-1\n1 4 +1D2\n") ==
        dense<double>{150, -0.5, 0.2, 100});
  CHECK(read(general + "1 2 2\n1 1 0.25-100\n1 2 -0.5+120\n") == dense<double>{0.25e-100, -0.5e120});
  CHECK(dense_of<float>(path, general + "1 2 2\n1 1 1.5D+02\n1 2 1.0D-60\n") == dense<float>{150, 0});
  for (const char* wrong : {"1.5D", "D5", "1.5D+", "1.5DD2", "1.5D2.5", "1.5e2D1", "1-100", "1.5-1",
                            "1.5+1000", "d", "1.5-1d0", "-", "+", "+-1", "--1", ".", "0x10", "1,5"})
    CHECK(complaint(path, general + "1 1 1\n1 1 " + wrong + "\n") ==
          std::string("line 3: value expected, found '") + wrong + "'");
  CHECK(complaint(path, general + "1 1 1\n1 1 1D999\n") == "line 3: value '1D999' is out of range");
  // integers written as real numbers, and beyond 64 bits; real numbers that are whole, into std::int32_t
  CHECK(read(kind("integer", "general") + "1 3 3\n1 1 3.0\n1 2 1e3\n1 3 99999999999999999999\n") ==
        dense<double>{3, 1000, 1e20});
  CHECK(complaint(path, kind("integer", "general") + "1 1 1\n1 1 nan\n") ==
        "line 3: value expected, found 'nan'");
  CHECK(complaint(path, kind("integer", "general") + "1 1 1\n1 1 inf\n") ==
        "line 3: value expected, found 'inf'");
  CHECK(read(kind("unsigned-integer", "general") + "1 1 1\n1 1 3\n") == dense<double>{3});
  CHECK(read(kind("double", "general") + "1 1 1\n1 1 3\n") == dense<double>{3});
  CHECK(dense_of<std::int32_t>(path, general + "1 3 3\n1 1 3.0\n1 2 -2147483648.0\n1 3 2.0D2\n") ==
        dense<std::int32_t>{3, -2147483647 - 1, 200});
  for (const char* wrong : {"2147483648.0", "1e10", "-2147483649.0", "inf", "-inf", "2147483648", "1D99"})
    CHECK(complaint<table<std::int32_t>>(path, general + "1 1 1\n1 1 " + wrong + "\n") ==
          std::string("line 3: value '") + wrong + "' is out of range");
  for (const char* wrong : {"0.5", "nan", "1e-3", "1.5D0"})
    CHECK(complaint<table<std::int32_t>>(path, general + "1 1 1\n1 1 " + wrong + "\n") ==
          std::string("line 3: value '") + wrong + "' is not whole, as an std::int32_t is");
}

TEST_CASE("matrix market: arrays are read column by column, of zeros nothing is stored") {
  const scratch dir;
  const fs::path path = dir / "x.mtx";
  const auto array = [](const std::string& field, const std::string& symmetry) {
    return "%%MatrixMarket matrix array " + field + " " + symmetry + "\n";
  };
  CHECK(dense_of(path, array("real", "general") + "2 3\n1\n2\n3\n4\n5\n6\n") ==
        dense<double>{1, 3, 5, 2, 4, 6});
  CHECK(dense_of<float>(path, array("integer", "general") + "% c\n3 1\r\n1\r\n\r\n%\r\n-2\r\n3") ==
        dense<float>{1, -2, 3});
  CHECK(dense_of<std::int32_t>(path, array("integer", "general") + "1 2\n1\n-2\n") ==
        dense<std::int32_t>{1, -2});
  CHECK(dense_of(path, array("real", "general") + "2 2\n1 2\n3.5D0 4 % lines\n") ==
        dense<double>{1, 3.5, 2, 4});
  for (const char* kind : {"symmetric", "hermitian"})
    CHECK(dense_of(path, array("real", kind) + "3 3\n1\n2\n3\n4\n5\n6\n") ==
          dense<double>{1, 2, 3, 2, 4, 5, 3, 5, 6});
  CHECK(dense_of(path, array("real", "skew-symmetric") + "3 3\n1\n2\n3\n") ==
        dense<double>{0, -1, -2, 1, 0, -3, 2, 3, 0});
  CHECK(dense_of(path, array("real", "skew-symmetric") + "1 1\n") == dense<double>{0});
  CHECK(dense_of(path, array("real", "general") + "0 3\n").empty());
  CHECK(dense_of(path, array("real", "skew-symmetric") + "0 0\n").empty());
  put(path, array("real", "general") + "2 2\n0\n1\n-0.0\nnan\n");
  CHECK(tl::load_matrix_market<table<double>>(path)->nnz() == 2);
  CHECK(complaint<tl::csr<double, 2, 2, 2>>(path) == "");

  const auto says = [&](const std::string& text) { return complaint(path, array("real", "general") + text); };
  CHECK(says("2 2\n1\n2\n3.00000\n") == "truncated: 3 of 4 values");
  CHECK(says("2 2\n1\n2\n3\n") == "truncated: 4 values do not fit into 6 bytes");
  CHECK(says("1 2\n1\n2\n3\n") == "line 5: text behind the 2 values");
  CHECK(says("1 2\n1\n2 3\n") == "line 4: '3' behind the last field");
  CHECK(says("1 2\n1\nx2\n") == "line 4: value expected, found 'x2'");
  CHECK(says("1 2 2\n1\n2\n") == "line 2: '2' behind the last field");
  CHECK(says("2147483647 2147483647\n1\n") ==
        "truncated: 4611686014132420609 values do not fit into 2 bytes");
  CHECK(complaint(path, array("real", "symmetric") + "2 3\n1\n1\n1\n1\n") ==
        "line 2: a symmetric matrix is square, this one has 2 rows and 3 columns");
  CHECK(
      complaint(path, array("real", "symmetric") + "2147483647 2147483647\n1\n").starts_with("truncated: "));
}

TEST_CASE("matrix market: rows that a small file declares are limited, and the limit can be raised") {
  const scratch dir;
  const fs::path path = dir / "x.mtx";
  const std::string text = general + "200000000 3 1\n1 1 1\n";
  CHECK(complaint(path, text)
            .starts_with("200000000 rows: 1600000000 bytes of memory, and the limit of this file is "));
  CHECK(complaint(path).ends_with("; tl::read_options{.limit = 1600000000} allows it"));
  put(path, general + "10000000 3 0\n");
  CHECK(complaint(path) != "");
  CHECK(complaint(path, tl::read_options{.limit = 79999999}) != "");
  CHECK(complaint(path, tl::read_options{.limit = 80000000}) == "");
  CHECK(complaint(path, tl::read_options{.strict = true, .limit = 80000000}) == "");
  CHECK(complaint<tl::csr<double, 10000000, 3, 0>>(path) == ""); // the caller's own number
  CHECK(complaint(path, general + "8000000 3 0\n") == "");
}

TEST_CASE("matrix market: a file with changed, missing or added bytes is read or refused") {
  const scratch dir;
  const fs::path path = dir / "x.mtx";
  std::mt19937 engine(41);
  const std::string wholes[] = {
      small, "%%MatrixMarket matrix array integer symmetric\n3 3\n1\n2\n3\n4\n5\n6\n",
      "%MatrixMarket matrix coordinate pattern symmetric\n% c\n3 3 3\n1 1\n2 1 7\n1 3\n",
      "%%MatrixMarket matrix coordinate real skew-symmetric\r\n3 3 2\r\n1 1 0\r\n2 1 1.5D+01\r\n"};
  const std::string likely = "0123456789 -+.eEdD%\n\r\tnaif\xff";
  int read = 0, refused = 0;
  for (int i = 0; i < 6000; ++i) {
    std::string text = wholes[engine() % 4];
    for (unsigned changes = engine() % 4; changes-- > 0 && !text.empty();) {
      const std::size_t at = engine() % text.size();
      const char other = likely[engine() % likely.size()];
      switch (engine() % 5) {
        case 0: text[at] = static_cast<char>(engine()); break;
        case 1: text[at] = other; break;
        case 2: text.erase(at, engine() % 3); break;
        case 3: text.insert(at, text.substr(engine() % text.size(), engine() % 9)); break;
        default: text.insert(at, 1 + engine() % 2, other);
      }
    }
    put(path, text);
    const bool good = complaint(path) == "";
    complaint<table<std::int32_t>>(path);
    if (complaint(path, strict) == "") CHECK(good); // strict reads less
    ++(good ? read : refused);
  }
  CHECK(read > 500);
  CHECK(refused > 500);
}

TEST_CASE("matrix market: a file that declares more than it holds is refused before anything is allocated") {
  const scratch dir;
  const fs::path path = dir / "x.mtx";
  CHECK(complaint(path, general + "2147483647 2147483647 2147483647\n1 1 1\n") ==
        "truncated: 2147483647 entries do not fit into 6 bytes");
  CHECK(complaint(path, general + "1 1 9223372036854775807\n").starts_with("truncated: "));
}

TEST_CASE("matrix market: a file cut anywhere or with a changed byte is refused or read, never a crash") {
  const scratch dir;
  const fs::path path = dir / "x.mtx";
  const std::size_t digits = small.size() - 3; // cut there the number is another one
  for (std::size_t length = 0; length < digits; ++length) {
    CAPTURE(length);
    CHECK(complaint(path, small.substr(0, length)) != "");
  }
  int refused = 0;
  for (std::size_t i = 0; i < small.size(); ++i)
    for (char c : {'\0', '\xff', '9', '-', '\n', '%', ' '}) {
      std::string text = small;
      text[i] = c;
      refused += complaint(path, text) != "";
    }
  CHECK(refused > 300);
}

TEST_CASE("matrix market: extents of the type are those of the file") {
  const scratch dir;
  const fs::path path = dir / "x.mtx";
  CHECK(complaint<tl::csr<float, 2, 3, 3>>(path, small) == "");
  CHECK(complaint<tl::csr<float, 4, 3, 3>>(path, small) ==
        "load_matrix_market(path): rows = 2, but the matrix type has 4");
  CHECK(complaint<tl::csr<float, 2, 3, 4>>(path, small) ==
        "load_matrix_market(path): nnz = 3, but the matrix type has 4");
  CHECK(complaint<tl::csr<float, tl::dyn<'n'>, tl::dyn<'n'>, tl::dyn<'e'>>>(path, small) ==
        "load_matrix_market(path): cols says n = 3, but rows says n = 2");
}

TEST_CASE_TEMPLATE("matrix market: what is saved is read back bit by bit", T, float, double) {
  const scratch dir;
  const fs::path path = dir / "x.mtx";
  std::mt19937_64 engine(7);
  std::vector<tl::triplet<T>> entries;
  using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  for (std::int32_t k = 0; k < 20000; ++k) { // beyond one buffer of the writer
    const T x = std::bit_cast<T>(static_cast<bits>(engine()));
    entries.push_back({k / 101 + 1, k % 101, std::isfinite(x) ? x : T{0}});
  }
  using limits = std::numeric_limits<T>;
  const T special[] = {limits::max(),      limits::lowest(),    limits::min(), limits::denorm_min(),
                       limits::infinity(), -limits::infinity(), T{-0.0},       T(0.1)};
  for (std::int32_t k = 0; k < 8; ++k) entries.push_back({250, k, special[k]});
  const auto saved = tl::csr_from_triplets<table<T>>(260, 103, entries);
  tl::save_matrix_market(path, *saved);
  const auto loaded = tl::load_matrix_market<table<T>>(path);
  CHECK(loaded->rows() == 260);
  CHECK(loaded->cols() == 103);
  REQUIRE(loaded->nnz() == saved->nnz());
  for (tl::extent_t i = 0; i < 260; ++i) CHECK(loaded->row_end()[i] == saved->row_end()[i]);
  int wrong = 0;
  for (tl::extent_t k = 0; k < saved->nnz(); ++k)
    wrong += loaded->columns()[k] != saved->columns()[k] ||
             std::bit_cast<bits>(loaded->values()[k]) != std::bit_cast<bits>(saved->values()[k]);
  CHECK(wrong == 0);
  using wide = tl::csr<T, tl::dyn<'r'>, tl::dyn<'c'>, tl::dyn<'e'>, std::int64_t>;
  const std::string text = get(path);
  const auto again = tl::load_matrix_market<wide>(path);
  tl::save_matrix_market(path, *again);
  CHECK(get(path) == text);
  CHECK(dir.files() == 1); // no temporary is left
}

TEST_CASE("matrix market: the text that is written") {
  const scratch dir;
  const fs::path path = dir / "x.mtx";
  const tl::triplet<float> entries[] = {{1, 2, 0.1f}, {0, 0, -3}, {1, 0, 1e20f}};
  const auto a = tl::csr_from_triplets<table<float>>(2, 3, entries);
  tl::save_matrix_market(path, *a);
  CHECK(get(path) == general + "2 3 3\n1 1 -3\n2 1 1e+20\n2 3 0.1\n");
  const tl::triplet<std::int32_t> whole[] = {{0, 0, -3}};
  tl::save_matrix_market(path, *tl::csr_from_triplets<tl::csr<std::int32_t, 1, 1, 1>>(1, 1, whole));
  CHECK(get(path) == "%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 -3\n");

  // a view that breaks the invariants, and a path that cannot be: the old file stays
  const std::int32_t ptr[] = {0, 2}, columns[] = {1, 1};
  const float values[] = {1, 2};
  const auto bad = tl::csr_view<table<const float>>(tl::trusted, 1, 2, ptr, columns, values);
  CHECK_THROWS_WITH_AS(tl::save_matrix_market(path, bad),
                       "tapeless: save_matrix_market(path, a): row 0: column 1 stands twice",
                       tl::argument_error);
  CHECK_THROWS_AS(tl::save_matrix_market(dir / "no" / "such.mtx", *a), tl::io_error);
  CHECK_THROWS_AS(tl::save_matrix_market(dir / "x.mtx.gz", *a), tl::io_error);
  CHECK(get(path).ends_with("1 1 -3\n"));
  CHECK(dir.files() == 1);
}

TEST_CASE("matrix market: values below the smallest float are rounded, as a conversion would") {
  const scratch dir;
  const fs::path path = dir / "x.mtx";
  CHECK(dense_of<float>(path, general + "1 3 3\n1 1 1e-60\n1 2 -1e-40\n1 3 1\n") ==
        dense<float>{0, -1e-40f, 1});
  CHECK(complaint<table<float>>(path, general + "1 1 1\n1 1 1e39\n") ==
        "line 3: value '1e39' is out of range");
}

TEST_CASE("matrix market: gzip files are told by their content") {
  const scratch dir;
  const fs::path path = dir / "x.mtx.gz";
#ifdef TAPELESS_WITH_ZLIB
  CHECK(dense_of(path, gzipped()) == dense<double>{1.5, 0.25, 0, 0, 0, -2000});
  put(dir / "named.mtx", gzipped());
  CHECK(complaint(dir / "named.mtx") == "");
  for (std::size_t length = 2; length < gzipped().size(); ++length) {
    CAPTURE(length);
    CHECK(complaint(path, gzipped().substr(0, length)) == "truncated: the compressed data has no end");
  }
  CHECK(complaint(path, gzipped() + gzipped()).ends_with("text behind the 3 entries")); // two members
  CHECK(complaint(path, gzipped() + "x") != "");
  put(path, gzipped());
  CHECK(complaint(path, tl::read_options{.limit = 77}) ==
        "inflates to more than 77 bytes, the limit of this file; a larger tl::read_options::limit allows it");
  CHECK(complaint(path, tl::read_options{.limit = 1000}) == "");
  std::string wrong = gzipped();
  wrong[wrong.size() - 5] = static_cast<char>(wrong[wrong.size() - 5] + 1);
  CHECK(complaint(path, wrong).starts_with("corrupt: "));
#else
  CHECK(complaint(path, gzipped()) ==
        "is compressed: define TAPELESS_WITH_ZLIB and link zlib, or link tapeless::zlib");
#endif
}
