// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include <tapeless/io/npy.hpp>

#include <doctest/doctest.h>

#include <sys/resource.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
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

// What reading says; empty if it succeeds.
std::string complaint(const fs::path& path) {
  try {
    tapeless::npy_read(path);
    return "";
  } catch (const tapeless::io_error& error) {
    CHECK(error.path() == path);
    const std::string prefix = "tapeless: " + path.string() + ": ";
    CHECK(std::string(error.what()).substr(0, prefix.size()) == prefix);
    return std::string(error.what()).substr(prefix.size());
  }
}

std::string complaint(const fs::path& path, const std::string& bytes) {
  put(path, bytes);
  return complaint(path);
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
  CHECK(says(header("'<f4'", "False", "(2,)")) == "");
  CHECK(says(header("'>f4'", "False", "(2,)")) ==
        "unsupported dtype '>f4': '<f4', '<f8', '<i4' and '|b1' are read");
  CHECK(says(header("'<i8'", "False", "(2,)")).starts_with("unsupported dtype '<i8'"));
  CHECK(says(header("[('a', '<f4')]", "False", "(2,)")) == "unsupported dtype: structured");
  CHECK(says(header("'<f4'", "True", "(2,)")) == "fortran_order: column-major data is not read");
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
  CHECK(complaint(path, "PK\x03\x04 a zip file, not an array") == "bad magic: no .npy file");
  CHECK(complaint(path, "PK") == "bad magic: no .npy file");
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

TEST_CASE("npy: another dtype or shape is refused with both, and the destination is untouched") {
  const scratch dir;
  const fs::path path = dir / "x.npy";
  const float x[6] = {1, 2, 3, 4, 5, 6};
  tapeless::npy_write(path, x, extents{2, 3});
  const std::string prefix = "tapeless: " + path.string() + ": ";
  double wide[6] = {-7, -7, -7, -7, -7, -7};
  CHECK_THROWS_WITH_AS(tapeless::npy_read_into(path, wide, extents{2, 3}),
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
