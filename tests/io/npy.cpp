// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include <tapeless/io/npy.hpp>

#include <doctest/doctest.h>

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "scratch.hpp"

namespace {

using extents = std::vector<std::int64_t>;
namespace fs = std::filesystem;

void put(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

std::string get(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A file with this literal, not padded; the reader must not depend on the alignment.
std::string file_of(const std::string& literal, const std::string& elements, int version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(version);
  bytes += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    bytes += static_cast<char>(literal.size() >> (8 * i) & 0xff);
  return bytes + literal + elements;
}

std::string elements_of(const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

const tapeless::read_options strict{.strict = true};

// What reading says; empty if it succeeds.
std::string complaint(const fs::path& path, const tapeless::read_options& options = {}) {
  try {
    tapeless::npy_read(path, options);
    return "";
  } catch (const tapeless::io_error& error) {
    CHECK(error.path() == path);
    const std::string prefix = "tapeless: " + path.string() + ": ";
    CHECK(std::string(error.what()).substr(0, prefix.size()) == prefix);
    return std::string(error.what()).substr(prefix.size());
  }
}

std::string complaint(const fs::path& path, const std::string& bytes,
                      const tapeless::read_options& options = {}) {
  put(path, bytes);
  return complaint(path, options);
}

template <class T>
void round_trip(const fs::path& path, const std::vector<T>& values, const extents& shape,
                tapeless::npy_type type) {
  std::unique_ptr<T[]> data(new T[values.size()]());
  std::copy(values.begin(), values.end(), data.get());
  tapeless::npy_write(path, static_cast<const T*>(data.get()), shape);
  CHECK(get(path).size() % 64 == (values.size() * sizeof(T)) % 64);

  const tapeless::npy_array read = tapeless::npy_read(path);
  CHECK(read.shape == shape);
  CHECK(read.type == type);
  REQUIRE(read.bytes.size() == values.size() * sizeof(T));
  CHECK((values.empty() || std::memcmp(read.bytes.data(), data.get(), read.bytes.size()) == 0));

  std::unique_ptr<T[]> back(new T[values.size()]());
  tapeless::npy_read_into(path, back.get(), shape);
  CHECK(std::equal(values.begin(), values.end(), back.get()));
}

std::string literal_of(const std::string& descr, bool column_major, const extents& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (column_major ? "True" : "False") +
         ", 'shape': " + tapeless::detail::npy::to_string(shape) + ", }\n";
}
template <class R> std::string bytes_of(const std::vector<R>& values, bool big_endian = false) {
  std::string bytes;
  for (const R x : values) {
    std::array<char, sizeof(R)> item;
    std::memcpy(item.data(), &x, sizeof(R));
    if (big_endian) std::reverse(item.begin(), item.end());
    bytes.append(item.data(), item.size());
  }
  return bytes;
}
// The elements of an array of T.
template <class T> std::vector<T> elements(const tapeless::npy_array& a) {
  std::vector<T> result(a.bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < result.size(); ++i) {
    T x;
    std::memcpy(&x, a.bytes.data() + i * sizeof(T), sizeof(T));
    result[i] = x;
  }
  return result;
}
// What npy_read<T> says; empty if it succeeds.
template <class T> std::string complaint_as(const fs::path& path, const std::string& bytes,
                                            const tapeless::read_options& options = {}) {
  put(path, bytes);
  try {
    tapeless::npy_read<T>(path, options);
    return "";
  } catch (const tapeless::io_error& error) {
    return std::string(error.what()).substr(("tapeless: " + path.string() + ": ").size());
  }
}

const std::string pair_literal = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";

} // namespace

TEST_CASE("npy: the bytes written are those of format 1.0") {
  const scratch dir;
  const fs::path path = dir / "x.npy";
  const std::array<float, 6> x{0, 1, -2, 0.5f, 3, 4};
  tapeless::npy_write(path, x.data(), extents{2, 3});
  // 10 bytes before the literal (59 bytes), 58 spaces, a newline: 128
  const std::string literal = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  REQUIRE(literal.size() == 59);
  const std::string header =
      std::string("\x93NUMPY\x01\x00\x76\x00", 10) + literal + std::string(58, ' ') + "\n";
  REQUIRE(header.size() == 128);
  const unsigned char elements[24] = {0, 0, 0, 0,    0, 0, 0x80, 0x3f, 0, 0, 0,    0xc0,
                                      0, 0, 0, 0x3f, 0, 0, 0x40, 0x40, 0, 0, 0x80, 0x40};
  CHECK(get(path) == header + std::string(reinterpret_cast<const char*>(elements), 24));

  tapeless::npy_write(path, x.data(), extents{});
  CHECK(get(path).substr(10, 55) == "{'descr': '<f4', 'fortran_order': False, 'shape': (), }");
  CHECK(get(path).size() == 128 + 4);
  const std::int32_t three[3] = {1, 2, 3};
  tapeless::npy_write(path, three, extents{3});
  CHECK(get(path).substr(10, 57) == "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }");
  const bool yes = true;
  tapeless::npy_write(path, &yes, extents{1});
  CHECK(get(path).substr(10, 57) == "{'descr': '|b1', 'fortran_order': False, 'shape': (1,), }");
  CHECK(get(path).back() == '\1');
}

TEST_CASE("npy: what is written is read, for every type, rank 0, and without elements") {
  const scratch dir;
  const fs::path path = dir / "x.npy";
  using tapeless::npy_type;
  round_trip<float>(path, {1, -2, 3.5f, 0, -0.0f, 1e30f}, {2, 3}, npy_type::f4);
  round_trip<double>(path, {1, 2, 3, 4, 5, 6, 7, 1e300}, {2, 1, 4}, npy_type::f8);
  round_trip<std::int32_t>(path, {-1, 2147483647, -2147483647 - 1}, {3}, npy_type::i4);
  round_trip<bool>(path, {true, false, true, true}, {2, 2}, npy_type::b1);
  round_trip<std::int64_t>(path, {-1, std::int64_t{1} << 62}, {2}, npy_type::i8);
  round_trip<std::uint8_t>(path, {0, 1, 128, 255, 7, 8}, {1, 2, 3}, npy_type::u1);
  round_trip<double>(path, {42}, {}, npy_type::f8);
  round_trip<float>(path, {}, {3, 0, 2}, npy_type::f4);
  round_trip<float>(path, {7}, extents(40, 1), npy_type::f4); // a header beyond 128 bytes
  CHECK(dir.files() == 1);                                    // no temporary is left
}

TEST_CASE("npy: versions 1, 2 and 3, keys in any order, either quotes, any spaces, no alignment") {
  const scratch dir;
  const fs::path path = dir / "x.npy";
  const std::string data = elements_of({1, 2});
  for (int version : {1, 2, 3}) {
    put(path, file_of(pair_literal, data, version));
    float x[2] = {};
    tapeless::npy_read_into(path, x, extents{2});
    CHECK(x[0] == 1);
    CHECK(x[1] == 2);
  }
  CHECK(complaint(path, file_of("{\"shape\":(2,),\"fortran_order\":False,\"descr\":\"<f4\"}", data)) == "");
  CHECK(complaint(path, file_of(" { 'descr' : '<f4' , 'fortran_order' : False , 'shape' : ( 2 , ) , } \n",
                                data)) == "");
  CHECK(complaint(path, file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2)}", data)) == "");
  CHECK(complaint(path, file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2,)}", data)) == "");
}

TEST_CASE("npy: any byte but 0 reads as true") {
  const scratch dir;
  const fs::path path = dir / "x.npy";
  put(path, file_of("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", std::string("\0\1\x7f", 3)));
  bool x[3] = {true, false, false};
  tapeless::npy_read_into(path, x, extents{3});
  CHECK_FALSE(x[0]);
  CHECK(x[1]);
  CHECK(x[2]);
}

TEST_CASE("npy: any byte of a bool but 0 is written as 1") {
  const scratch dir;
  const fs::path path = dir / "x.npy";
  const unsigned char bytes[] = {0, 1, 2, 128, 255};
  tapeless::npy_write(path, reinterpret_cast<const bool*>(bytes), extents{5});
  const std::vector<std::byte> written = tapeless::npy_read(path).bytes;
  CHECK(written ==
        std::vector<std::byte>{std::byte{0}, std::byte{1}, std::byte{1}, std::byte{1}, std::byte{1}});
}

TEST_CASE("npy: a file cut anywhere is refused and leaves the destination alone") {
  const scratch dir;
  const fs::path path = dir / "x.npy";
  for (int version : {1, 2}) {
    const std::string whole = file_of(pair_literal, elements_of({1, 2}), version);
    CHECK(complaint(path, whole) == "");
    for (std::size_t length = 0; length < whole.size(); ++length) {
      CAPTURE(length);
      CHECK(complaint(path, whole.substr(0, length)).substr(0, 9) == "truncated");
      float x[2] = {-7, -7};
      CHECK_THROWS_AS(tapeless::npy_read_into(path, x, extents{2}), tapeless::io_error);
      CHECK(x[0] == -7);
      CHECK(x[1] == -7);
    }
    CHECK(complaint(path, whole + '\0').substr(0, 14) == "trailing bytes");
  }
}

TEST_CASE("npy: a literal cut anywhere is refused as malformed") {
  const scratch dir;
  const fs::path path = dir / "x.npy";
  const std::size_t closed = pair_literal.find('}') + 1;
  for (std::size_t length = 0; length < closed; ++length) {
    CAPTURE(length);
    const std::string said = complaint(path, file_of(pair_literal.substr(0, length), elements_of({1, 2})));
    CHECK((said.starts_with("malformed header") || said.starts_with("unsupported dtype")));
  }
  CHECK(complaint(path, file_of(pair_literal.substr(0, closed), elements_of({1, 2}))) == "");
}

TEST_CASE("npy: a changed byte in the header gives an exception or another valid header, never a crash") {
  const scratch dir;
  const fs::path path = dir / "x.npy";
  const std::string whole = file_of(pair_literal, elements_of({1, 2}));
  int refused = 0;
  int changed = 0;
  for (std::size_t i = 0; i + 8 < whole.size(); ++i)
    for (char c : {'\0', '\xff', '9', ',', ')', '\'', '}', ' '}) {
      std::string bytes = whole;
      bytes[i] = c;
      changed += bytes != whole;
      refused += bytes != whole && complaint(path, bytes) != "";
    }
  CHECK(changed > 400);
  CHECK(refused > changed * 9 / 10); // the rest only changes spaces
}

TEST_CASE("npy: what is not read is named") {
  const scratch dir;
  const fs::path path = dir / "x.npy";
  const std::string data = elements_of({1, 2});
  const auto header = [](const std::string& descr, const std::string& order, const std::string& shape) {
    return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
  };
  const auto says = [&](const std::string& literal) { return complaint(path, file_of(literal, data)); };
  const auto strictly = [&](const std::string& literal) {
    return complaint(path, file_of(literal, data), strict);
  };
  CHECK(says(header("'<f4'", "False", "(2,)")) == "");
  CHECK(strictly(header("'<f4'", "False", "(2,)")) == "");
  CHECK(strictly(header("'>f4'", "False", "(2,)")) ==
        "unsupported dtype '>f4': '<f4', '<f8', '<i4', '|b1', '<i8' and '|u1' are read");
  for (const char* other : {"<i2", "<f2", "<u1", "i8", "f4", "=f4", "?"})
    CHECK(strictly(header(std::string("'") + other + "'", "False", "(2,)"))
              .starts_with(std::string("unsupported dtype '") + other + "'"));
  CHECK(strictly(header("'<f4'", "True", "(2,)")) == "fortran_order: column-major data is not read");
  CHECK(strictly(header("'<f4'", "False", "(2L,)")).starts_with("malformed header"));
  for (const char* other :
       {"<c8", "<c16", "|O", "|S3", "<U2", "<M8[ns]", "<f16", "|V4", "<i3", "<b2", "", "<", "?1"})
    CHECK(says(header(std::string("'") + other + "'", "False", "(2,)")) ==
          std::string("unsupported dtype '") + other +
              "': bool, integers and real numbers of up to 64 bits are read");
  CHECK(says(header("[('a', '<f4')]", "False", "(2,)")) == "unsupported dtype: structured");
  CHECK(says(header("'<f4'", "0", "(2,)")) == "malformed header: fortran_order is neither True nor False");
  CHECK(says(header("'<f4'", "False", "(2)")) == "malformed header: the shape is not a tuple");
  CHECK(says(header("'<f4'", "False", "(-2,)")) == "malformed header: an extent is not a number >= 0");
  CHECK(says(header("'<f4'", "False", "(2.0,)")).starts_with("malformed header"));
  CHECK(says(header("'<f4'", "False", "(,)")).starts_with("malformed header"));
  CHECK(says(header("'<f4'", "False", "[2]")).starts_with("malformed header"));
  CHECK(says(pair_literal + "x") == "malformed header: text behind the dictionary");
  CHECK(says("{'descr': '<f4', 'shape': (2,), }") ==
        "malformed header: a key of 'descr', 'fortran_order', 'shape' is missing");
  CHECK(says("{'descr': '<f4', 'descr': '<f4', }") == "malformed header: key 'descr' twice");
  CHECK(says("{'author': 'me', }") == "malformed header: unknown key 'author'");
  CHECK(complaint(path, file_of(pair_literal, data, 4)) == "unsupported format version 4.0");
  CHECK(complaint(path, "PK\x03\x04 a zip file, not an array") ==
        "bad magic: no .npy file, but an archive; npz_read reads an .npz file");
  CHECK(complaint(path, "PQ") == "bad magic: no .npy file");
  CHECK(complaint(dir / "missing.npy").starts_with("cannot be read: "));
  CHECK(complaint(dir.directory).starts_with("cannot be read: "));
}

TEST_CASE("npy: sizes that overflow are refused before anything is allocated") {
  const scratch dir;
  const fs::path path = dir / "x.npy";
  const auto says = [&](const std::string& shape) {
    return complaint(path, file_of("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }", ""));
  };
  CHECK(says("(4294967296, 4294967296)") == "size overflow: shape (4294967296, 4294967296)");
  CHECK(says("(2305843009213693952,)").starts_with("size overflow")); // 2^61 elements of 4 bytes
  CHECK(says("(0, 4294967296, 4294967296)").starts_with("size overflow"));
  CHECK(says("(99999999999999999999,)") == "size overflow: an extent beyond 64 bits");
  CHECK(says("(1152921504606846976,)")
            .starts_with("truncated: 0 bytes of elements")); // 2^62 bytes: fits 63 bits
  const float x = 0;
  CHECK_THROWS_AS(tapeless::npy_write(path, &x, extents{std::int64_t{1} << 62}), tapeless::io_error);
  CHECK_THROWS_AS(tapeless::npy_write(path, &x, extents{-1}), tapeless::io_error);
}

TEST_CASE(
    "npy: another shape, and strictly another dtype, is refused with both, and the destination is untouched") {
  const scratch dir;
  const fs::path path = dir / "x.npy";
  const float x[6] = {1, 2, 3, 4, 5, 6};
  tapeless::npy_write(path, x, extents{2, 3});
  const std::string prefix = "tapeless: " + path.string() + ": ";
  double wide[6] = {-7, -7, -7, -7, -7, -7};
  CHECK_THROWS_WITH_AS(tapeless::npy_read_into(path, wide, extents{2, 3}, strict),
                       (prefix + "wrong dtype: found '<f4', expected '<f8'").c_str(), tapeless::io_error);
  CHECK_THROWS_WITH_AS(tapeless::npy_read<double>(path, strict),
                       (prefix + "wrong dtype: found '<f4', expected '<f8'").c_str(), tapeless::io_error);
  float y[6] = {-7, -7, -7, -7, -7, -7};
  CHECK_THROWS_WITH_AS(tapeless::npy_read_into(path, y, extents{3, 2}),
                       (prefix + "wrong shape: found (2, 3), expected (3, 2)").c_str(), tapeless::io_error);
  CHECK_THROWS_WITH_AS(tapeless::npy_read_into(path, y, extents{6}),
                       (prefix + "wrong shape: found (2, 3), expected (6,)").c_str(), tapeless::io_error);
  for (int i = 0; i < 6; ++i) {
    CHECK(wide[i] == -7);
    CHECK(y[i] == -7);
  }
}

TEST_CASE("npy: a write that fails leaves neither a file nor a change behind") {
  const scratch dir;
  const float x = 5;
  CHECK_THROWS_AS(tapeless::npy_write(dir / "no" / "such.npy", &x, extents{}), tapeless::io_error);
  CHECK(dir.files() == 0);
  fs::create_directories(dir / "taken.npy" / "inside");
  CHECK_THROWS_AS(tapeless::npy_write(dir / "taken.npy", &x, extents{}), tapeless::io_error); // a directory
  CHECK(dir.files() == 1);
  CHECK(fs::exists(dir / "taken.npy" / "inside"));

  const fs::path path = dir / "x.npy";
  put(path, "old");
  put(dir / "x.npy.0.partial", "of another process");
  CHECK_THROWS_AS(tapeless::npy_write(path, &x, extents(40000, 1)),
                  tapeless::io_error); // header beyond 64 kB
  CHECK(get(path) == "old");
  tapeless::npy_write(path, &x, extents{});
  CHECK(get(path).size() == 132);
  CHECK(get(dir / "x.npy.0.partial") == "of another process");
  CHECK(dir.files() == 3);
}

TEST_CASE("npy: null data is refused before a file is opened, unless the shape has no elements") {
  const scratch dir;
  const fs::path path = dir / "x.npy";
  float* none = nullptr;
  CHECK_THROWS_WITH_AS(tapeless::npy_write<float>(path, none, extents{4}),
                       "tapeless: npy_write(path, data, shape): data is null", tapeless::argument_error);
  CHECK(dir.files() == 0);
  CHECK_THROWS_WITH_AS(tapeless::npy_read_into(path, none, extents{4}),
                       "tapeless: npy_read_into(path, data, shape): data is null", tapeless::argument_error);
  tapeless::npy_write<float>(path, none, extents{4, 0});
  tapeless::npy_read_into(path, none, extents{4, 0});
  CHECK(tapeless::npy_read(path).shape == extents{4, 0});
}

TEST_CASE("npy: a header of more than a megabyte is refused by its length, however long the file is") {
  const scratch dir;
  const fs::path path = dir / "x.npy";
  const std::size_t longest = std::size_t{1} << 20;
  const std::string data = elements_of({1, 2});
  std::string literal = pair_literal;
  literal.append(longest - literal.size(), ' ');
  CHECK(complaint(path, file_of(literal, data, 2)) == "");
  CHECK(complaint(path, file_of(literal + ' ', data, 2)) ==
        "a header of 1048577 bytes: at most 1048576 are read");
  put(path, std::string("\x93NUMPY\x02\x00\x00\x00\x00\x40", 12)); // a gigabyte of header, in a sparse file
  fs::resize_file(path, 12 + (std::uintmax_t{1} << 30));
  CHECK(complaint(path) == "a header of 1073741824 bytes: at most 1048576 are read");
}

TEST_CASE("npy: a write that the disk stops leaves the old file and no temporary one") {
  const scratch dir;
  const fs::path path = dir / "x.npy";
  const float old = 5;
  tapeless::npy_write(path, &old, extents{});
  const std::string before = get(path);
  const std::vector<double> large(100000);
  rlimit limit{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &limit) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN); // a write beyond the limit then fails with EFBIG
  const rlimit small{4096, limit.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  std::string said;
  try {
    tapeless::npy_write(path, large.data(), extents{100000});
  } catch (const tapeless::io_error& error) { said = error.what(); }
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, handler);
  CHECK(said.find("cannot be written: ") != std::string::npos);
  CHECK(get(path) == before);
  CHECK(dir.files() == 1);
}

TEST_CASE("npy: files in column order are read right, of any rank, and come out in row order") {
  const scratch dir;
  const fs::path path = dir / "x.npy";
  for (const extents& shape : {extents{},
                               {3},
                               {1},
                               {0},
                               {4, 1},
                               {1, 4},
                               {0, 3},
                               {3, 0, 2},
                               {2, 3},
                               {5, 2},
                               {2, 3, 4},
                               {2, 1, 3},
                               {1, 2, 1, 3, 1},
                               {2, 2, 2, 2, 3},
                               extents(300, 1)}) {
    CAPTURE(tapeless::detail::npy::to_string(shape));
    std::int64_t n = 1;
    for (const std::int64_t extent : shape) n *= extent;
    // element (i, j, ..) is its number in row-major order; the file holds it at i + shape[0] * (j + ..)
    std::vector<double> expected(static_cast<std::size_t>(n)), stored(expected);
    for (std::int64_t k = 0; k < n; ++k) {
      expected[static_cast<std::size_t>(k)] = static_cast<double>(k);
      std::int64_t rest = k, place = 0;
      std::vector<std::int64_t> index(shape.size());
      for (std::size_t a = shape.size(); a-- > 0; rest /= shape[a]) index[a] = rest % shape[a];
      for (std::size_t a = shape.size(); a-- > 0;) place = place * shape[a] + index[a];
      stored[static_cast<std::size_t>(place)] = static_cast<double>(k);
    }
    for (const bool big : {false, true}) {
      put(path, file_of(literal_of(big ? ">f8" : "<f8", true, shape), bytes_of(stored, big)));
      const tapeless::npy_array a = tapeless::npy_read(path);
      CHECK(a.shape == shape);
      CHECK(a.type == tapeless::npy_type::f8);
      CHECK(elements<double>(a) == expected);
      CHECK(elements<float>(tapeless::npy_read<float>(path)) ==
            std::vector<float>(expected.begin(), expected.end()));
      std::vector<double> into(expected.size() + 1, -7);
      tapeless::npy_read_into(path, into.data(), shape);
      CHECK(into.back() == -7);
      into.pop_back();
      CHECK(into == expected);
      CHECK(complaint(path, strict) != "");
    }
  }
}

TEST_CASE_TEMPLATE("npy: elements of every type and byte order are converted where T is named", R, float,
                   double, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                   std::uint32_t, std::uint64_t) {
  const scratch dir;
  const fs::path path = dir / "x.npy";
  const std::string code = std::string(std::is_floating_point_v<R> ? "f"
                                       : std::is_signed_v<R>       ? "i"
                                                                   : "u") +
                           std::to_string(sizeof(R));
  const std::vector<R> values{R{0}, R{1}, R{100}, static_cast<R>(std::is_signed_v<R> ? -100 : 101)};
  using tapeless::npy_type;
  for (const char* order : {"<", ">", "=", "|", ""}) {
    const std::string file = file_of(literal_of(order + code, false, {4}), bytes_of(values, *order == '>'));
    put(path, file);
    CHECK(elements<R>(tapeless::npy_read(path)) == values);
    CHECK(elements<float>(tapeless::npy_read<float>(path)) ==
          std::vector<float>(values.begin(), values.end()));
    CHECK(elements<double>(tapeless::npy_read<double>(path)) ==
          std::vector<double>(values.begin(), values.end()));
    CHECK(tapeless::npy_read<double>(path).type == npy_type::f8);
    std::int32_t whole[4] = {};
    tapeless::npy_read_into(path, whole, extents{4});
    for (std::size_t i = 0; i < 4; ++i) CHECK(whole[i] == static_cast<std::int32_t>(values[i]));
    if constexpr (!std::is_floating_point_v<R>)
      CHECK(elements<bool>(tapeless::npy_read<bool>(path)) == std::vector<bool>{false, true, true, true});
    else CHECK(complaint_as<bool>(path, file) == "element 2 = 100 is neither 0 nor 1, as a bool is");
  }
  constexpr npy_type expected = std::is_same_v<R, float>           ? npy_type::f4
                                : std::is_same_v<R, double>        ? npy_type::f8
                                : std::is_same_v<R, std::int8_t>   ? npy_type::i1
                                : std::is_same_v<R, std::int16_t>  ? npy_type::i2
                                : std::is_same_v<R, std::int32_t>  ? npy_type::i4
                                : std::is_same_v<R, std::int64_t>  ? npy_type::i8
                                : std::is_same_v<R, std::uint8_t>  ? npy_type::u1
                                : std::is_same_v<R, std::uint16_t> ? npy_type::u2
                                : std::is_same_v<R, std::uint32_t> ? npy_type::u4
                                                                   : npy_type::u8;
  CHECK(tapeless::npy_read(path).type == expected);
}

TEST_CASE("npy: bool is read as any type, and zeros and ones of any type as bool") {
  const scratch dir;
  const fs::path path = dir / "x.npy";
  for (const char* descr : {"|b1", "?", "<b1"}) {
    put(path, file_of(literal_of(descr, false, {3}), std::string("\0\1\7f", 3)));
    CHECK(elements<float>(tapeless::npy_read<float>(path)) == std::vector<float>{0, 1, 1});
    CHECK(elements<std::int32_t>(tapeless::npy_read<std::int32_t>(path)) ==
          std::vector<std::int32_t>{0, 1, 1});
    CHECK(elements<unsigned char>(tapeless::npy_read<bool>(path)) == std::vector<unsigned char>{0, 1, 1});
  }
  put(path, file_of(literal_of("<f8", false, {3}), bytes_of<double>({1, -0.0, 1})));
  CHECK(elements<unsigned char>(tapeless::npy_read<bool>(path)) == std::vector<unsigned char>{1, 0, 1});
  put(path, file_of(literal_of("|u1", false, {3}), "\xff\1\x80"));
  CHECK(elements<unsigned char>(tapeless::npy_read<bool>(path)) == std::vector<unsigned char>{1, 1, 1});
}

TEST_CASE("npy: every half is read as the number it is") {
  const scratch dir;
  const fs::path path = dir / "x.npy";
  std::vector<std::uint16_t> all(1 << 16);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  for (const bool big : {false, true}) {
    put(path, file_of(literal_of(big ? ">f2" : "<f2", false, {1 << 16}), bytes_of(all, big)));
    CHECK(tapeless::npy_read(path).type == tapeless::npy_type::f2);
    CHECK(elements<std::uint16_t>(tapeless::npy_read(path)) == all);
    const std::vector<float> read = elements<float>(tapeless::npy_read<float>(path));
    const std::vector<double> wide = elements<double>(tapeless::npy_read<double>(path));
    int wrong = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const int exponent = all[i] >> 10 & 31, fraction = all[i] & 1023;
      double x = exponent == 31  ? (fraction == 0 ? INFINITY : NAN)
                 : exponent == 0 ? std::ldexp(fraction, -24)
                                 : std::ldexp(1024 + fraction, exponent - 25);
      if (all[i] >> 15 != 0) x = -x;
      wrong += !(read[i] == x || (std::isnan(read[i]) && std::isnan(x))) ||
               std::signbit(read[i]) != std::signbit(x);
      wrong += !(wide[i] == x || (std::isnan(wide[i]) && std::isnan(x)));
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("npy: a number that the type has no value for is named with its place, and nothing is written") {
  const scratch dir;
  const fs::path path = dir / "x.npy";
  const auto says = [&]<class T, class R>(const char* descr, const std::vector<R>& values, T) {
    return complaint_as<T>(path, file_of(literal_of(descr, false, {static_cast<std::int64_t>(values.size())}),
                                         bytes_of(values)));
  };
  using i8 = std::vector<std::int64_t>;
  using u4 = std::vector<std::uint32_t>;
  using f8 = std::vector<double>;
  using f4 = std::vector<float>;
  const std::int32_t label = 0;
  CHECK(says("<i8", i8{2147483647, -2147483648}, label) == "");
  CHECK(says("<i8", i8{0, 0, 5000000000}, label) == "element 2 = 5000000000 exceeds an std::int32_t");
  CHECK(says("<i8", i8{-2147483649}, label) == "element 0 = -2147483649 exceeds an std::int32_t");
  CHECK(says("<i8", i8{std::int64_t{1} << 32}, label) == "element 0 = 4294967296 exceeds an std::int32_t");
  CHECK(says("<u4", u4{1, 2147483648}, label) == "element 1 = 2147483648 exceeds an std::int32_t");
  CHECK(says("<u8", std::vector<std::uint64_t>{~std::uint64_t{0}}, label) ==
        "element 0 = 18446744073709551615 exceeds an std::int32_t");
  CHECK(says("<f8", f8{3, -2147483648.0, 2147483647.0, -0.0}, label) == "");
  CHECK(says("<f8", f8{3, 1.5}, label) == "element 1 = 1.5 is not whole");
  CHECK(says("<f8", f8{2147483648.0}, label) == "element 0 = 2147483648 exceeds an std::int32_t");
  CHECK(says("<f8", f8{NAN}, label) == "element 0 = nan is not whole");
  CHECK(says("<f8", f8{INFINITY}, label) == "element 0 = inf exceeds an std::int32_t");
  CHECK(says("<f4", f4{0.5f}, label) == "element 0 = 0.5 is not whole");
  const std::uint8_t pixel = 0;
  CHECK(says("<i8", i8{0, 255}, pixel) == "");
  CHECK(says("<i8", i8{0, 256}, pixel) == "element 1 = 256 exceeds an std::uint8_t");
  CHECK(says("<i8", i8{-1}, pixel) == "element 0 = -1 exceeds an std::uint8_t");
  CHECK(says("<f4", f4{255, -0.0f}, pixel) == "");
  CHECK(says("<f4", f4{256}, pixel) == "element 0 = 256 exceeds an std::uint8_t");
  CHECK(says("<f4", f4{-1}, pixel) == "element 0 = -1 exceeds an std::uint8_t");
  CHECK(says("<f4", f4{0.5f}, pixel) == "element 0 = 0.5 is not whole");
  CHECK(says("<u8", std::vector<std::uint64_t>{std::uint64_t{1} << 63}, std::int64_t{}) ==
        "element 0 = 9223372036854775808 exceeds an std::int64_t");
  CHECK(says("<f8", f8{0x1p63}, std::int64_t{}).ends_with("exceeds an std::int64_t"));
  CHECK(says("<f8", f8{-0x1p63}, std::int64_t{}) == "");
  CHECK(says("<f8", f8{1, 1e39}, 0.0f) == "element 1 = 1e+39 exceeds a float");
  CHECK(says("<f8", f8{-0x1.ffffffp+127}, 0.0f).ends_with("exceeds a float")); // rounded it were infinite
  CHECK(says("<f8", f8{-0x1.fffffefffffffp+127}, 0.0f) == "");
  CHECK(says("<f8", f8{0.5}, true) == "element 0 = 0.5 is neither 0 nor 1, as a bool is");
  CHECK(says("<f8", f8{NAN}, true) == "element 0 = nan is neither 0 nor 1, as a bool is");
  // the index, whatever the order in the file
  CHECK(complaint_as<std::int32_t>(
            path, file_of(literal_of("<i8", false, {2, 3}), bytes_of(i8{0, 0, 0, 0, 0, 5000000000}))) ==
        "element (1, 2) = 5000000000 exceeds an std::int32_t");
  CHECK(complaint_as<std::int32_t>(
            path, file_of(literal_of("<i8", true, {2, 3}), bytes_of(i8{0, 0, 0, 5000000000, 0, 0}))) ==
        "element (1, 1) = 5000000000 exceeds an std::int32_t");
  put(path, file_of(literal_of("<i8", false, {3}), bytes_of(i8{1, 2, 5000000000})));
  std::int32_t labels[3] = {-7, -7, -7};
  CHECK_THROWS_AS(tapeless::npy_read_into(path, labels, extents{3}), tapeless::io_error);
  for (const std::int32_t x : labels) CHECK(x == -7);
}

TEST_CASE("npy: real numbers are rounded to the nearest; infinities and NaN stay") {
  const scratch dir;
  const fs::path path = dir / "x.npy";
  const std::vector<double> x{0.1, 1 + 0x1p-24, 1 + 0x1.8p-23, 1e-60, 1e-40, INFINITY, -INFINITY, -0.0};
  put(path, file_of(literal_of("<f8", false, {8}), bytes_of(x)));
  const std::vector<float> y = elements<float>(tapeless::npy_read<float>(path));
  const std::vector<float> expected{0.1f, 1, 1 + 0x1p-22f, 0, 1e-40f, INFINITY, -INFINITY, 0};
  CHECK(y == expected);
  CHECK(std::signbit(y[7]));
  put(path,
      file_of(literal_of("<i8", false, {2}), bytes_of<std::int64_t>({16777217, std::int64_t{1} << 62})));
  CHECK(elements<float>(tapeless::npy_read<float>(path)) == std::vector<float>{16777216, 0x1p62f});
  put(path, file_of(literal_of("<f8", false, {1}), bytes_of<double>({NAN})));
  CHECK(std::isnan(elements<float>(tapeless::npy_read<float>(path))[0]));
}

TEST_CASE("npy: extents as Python 2 wrote them are read") {
  const scratch dir;
  const fs::path path = dir / "x.npy";
  CHECK(complaint(path, file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (1L, 2L), }",
                                elements_of({1, 2}))) == "");
  CHECK(tapeless::npy_read(path).shape == extents{1, 2});
}

TEST_CASE(
    "npy: a file with changed, missing or added bytes is read or refused, and what is read is as long as it says") {
  const scratch dir;
  const fs::path path = dir / "x.npy";
  std::mt19937 engine(41);
  const std::vector<std::string> wholes{
      file_of(pair_literal, elements_of({1, 2})),
      file_of(literal_of(">i8", true, {2, 3}), bytes_of<std::int64_t>({1, 2, 3, 4, 5, 6}, true), 2),
      file_of(literal_of("<f2", true, {2, 2, 2}), std::string(16, '\x3c')),
      file_of(literal_of("|u1", false, {}), "x"), file_of(literal_of("|b1", true, {3, 0}), "")};
  const std::string likely = "0123456789(),'<>|LTrue ibf\xff\x80\n";
  int read = 0, refused = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string bytes = wholes[engine() % wholes.size()];
    for (unsigned changes = engine() % 4; changes-- > 0 && !bytes.empty();) {
      const std::size_t at = engine() % bytes.size();
      const char other = likely[engine() % likely.size()];
      switch (engine() % 4) {
        case 0: bytes[at] = static_cast<char>(engine()); break;
        case 1: bytes[at] = other; break;
        case 2: bytes.erase(at, engine() % 3); break;
        default: bytes.insert(at, 1 + engine() % 2, other);
      }
    }
    put(path, bytes);
    const auto attempt = [&](auto f) {
      try {
        const tapeless::npy_array a = f();
        std::size_t n = static_cast<std::size_t>(tapeless::detail::npy::item_size(a.type));
        for (const std::int64_t extent : a.shape) n *= static_cast<std::size_t>(extent);
        CHECK(a.bytes.size() == n);
        ++read;
      } catch (const tapeless::io_error&) { ++refused; }
    };
    attempt([&] { return tapeless::npy_read(path); });
    attempt([&] { return tapeless::npy_read<float>(path); });
    attempt([&] { return tapeless::npy_read<std::int32_t>(path); });
    attempt([&] { return tapeless::npy_read<bool>(path); });
    attempt([&] { return tapeless::npy_read(path, strict); });
  }
  CHECK(read > 1000);
  CHECK(refused > 1000);
}
