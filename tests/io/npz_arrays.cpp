// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The files of tests/io/data are made by make.py there.
#include <tapeless/io/npz_arrays.hpp>
#include <tapeless/run/memory.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#ifdef TAPELESS_WITH_ZLIB
#include <zlib.h>
#endif

#include "scratch.hpp"

namespace tl = tapeless;
namespace fs = std::filesystem;
namespace zip = tl::detail::zip;

namespace {

void put(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}
std::string get(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
fs::path data(const char* name) { return fs::path(TAPELESS_TEST_DATA) / name; }

// What f says; empty if it succeeds.
template <class F> std::string complaint(const fs::path& path, F f) {
  try {
    f();
    return "";
  } catch (const tl::io_error& error) {
    CHECK(error.path() == path);
    return std::string(error.what()).substr(("tapeless: " + path.string() + ": ").size());
  }
}
template <class T> std::vector<T> elements(const tl::npy_array& a) {
  std::vector<T> result(a.bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < result.size(); ++i) {
    T x;
    std::memcpy(&x, a.bytes.data() + i * sizeof(T), sizeof(T));
    result[i] = x;
  }
  return result;
}
// 0, 1, 2, ...
template <class T> bool counts_up(const std::vector<T>& x, std::size_t n) {
  if (x.size() != n) return false;
  for (std::size_t i = 0; i < n; ++i)
    if (x[i] != static_cast<T>(i)) return false;
  return true;
}

struct params {
  tl::tensor<float, 2, 3, 4> columns;
  struct {
    tl::tensor<std::int32_t, 7> labels;
    tl::tensor<bool, 4> mask;
  } inner;
  std::array<tl::tensor<double, 2, 3>, 2> b;
};
const std::vector<std::string> names{"columns", "labels", "mask", "big", "big_columns"};

std::string npy(const char* descr, const std::vector<std::int64_t>& shape, const std::string& bytes) {
  return tl::detail::npy::header("", descr, shape) + bytes;
}

#ifdef TAPELESS_WITH_ZLIB
std::string little(std::uint64_t x, int bytes) {
  std::string result;
  for (int i = 0; i < bytes; ++i) result += static_cast<char>(x >> 8 * i & 255);
  return result;
}
// An archive of one deflated member: `head` and then `zeros` bytes of 0, deflated piece by piece.
std::string bomb(const std::string& name, const std::string& head, std::uint64_t zeros) {
  z_stream s{};
  REQUIRE(::deflateInit2(&s, 9, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed;
  std::uint32_t crc = 0;
  const auto feed = [&](const std::string& bytes, int flush) {
    crc = static_cast<std::uint32_t>(
        ::crc32(crc, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
    s.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    s.avail_in = static_cast<uInt>(bytes.size());
    char out[1 << 14];
    do {
      s.next_out = reinterpret_cast<Bytef*>(out);
      s.avail_out = sizeof out;
      ::deflate(&s, flush);
      packed.append(out, sizeof out - s.avail_out);
    } while (s.avail_out == 0);
  };
  feed(head, Z_NO_FLUSH);
  const std::string piece(1 << 20, '\0');
  for (std::uint64_t left = zeros; left > 0;) {
    const std::uint64_t n = std::min<std::uint64_t>(left, piece.size());
    feed(piece.substr(0, n), Z_NO_FLUSH);
    left -= n;
  }
  feed("", Z_FINISH);
  ::deflateEnd(&s);
  const std::string common = little(0, 2) + little(8, 2) + little(0x210000, 4) + little(crc, 4) +
                             little(packed.size(), 4) + little(head.size() + zeros, 4) +
                             little(name.size(), 2) + little(0, 2);
  const std::string local = little(zip::local_signature, 4) + little(20, 2) + common + name + packed;
  const std::string directory = little(zip::directory_signature, 4) + little(20, 2) + little(20, 2) + common +
                                std::string(10, '\0') + little(0, 4) + name;
  return local + directory + little(zip::end_signature, 4) + little(0, 4) + little(1, 2) + little(1, 2) +
         little(directory.size(), 4) + little(local.size(), 4) + little(0, 2);
}
#endif

} // namespace

TEST_CASE(
    "npz arrays: what NumPy has saved is read by name, of every type and order, as it is or converted") {
  for (const char* file : {"numpy_savez.npz", "numpy_savez_compressed.npz"}) {
    CAPTURE(file);
    const fs::path path = data(file);
    CHECK(tl::npz_names(path) == std::vector<std::string>{"columns", "big", "big_columns", "half", "labels",
                                                          "pixels", "mask", "scalar", "none"});
#ifndef TAPELESS_WITH_ZLIB
    if (std::string(file) == "numpy_savez_compressed.npz") {
      CHECK(complaint(path, [&] { tl::npz_read(path, "half"); }) ==
            "is compressed: define TAPELESS_WITH_ZLIB and link zlib, or link tapeless::zlib");
      continue;
    }
#endif
    using shape = std::vector<std::int64_t>;
    CHECK(counts_up(elements<double>(tl::npz_read(path, "columns")), 24));
    CHECK(tl::npz_read(path, "columns").shape == shape{2, 3, 4});
    CHECK(counts_up(elements<std::int32_t>(tl::npz_read(path, "big")), 6));
    CHECK(counts_up(elements<double>(tl::npz_read(path, "big_columns")), 6));
    CHECK(counts_up(elements<float>(tl::npz_read<float>(path, "half")), 5));
    CHECK(tl::npz_read(path, "labels").type == tl::npy_type::i8);
    CHECK(counts_up(elements<std::int32_t>(tl::npz_read<std::int32_t>(path, "labels")), 7));
    CHECK(counts_up(elements<float>(tl::npz_read<float>(path, "pixels")), 6));
    CHECK(elements<std::uint8_t>(tl::npz_read(path, "mask")) == std::vector<std::uint8_t>{0, 1, 0, 1});
    CHECK(tl::npz_read(path, "scalar").shape.empty());
    CHECK(tl::npz_read(path, "none").shape == shape{3, 0});
    CHECK(complaint(path, [&] {
            tl::npz_read(path, "other");
          }).starts_with("has no member other.npy; it has "));
    CHECK(complaint(path, [&] { tl::npz_read(path, "columns", {.strict = true}); }) ==
          "columns.npy: fortran_order: column-major data is not read");
    CHECK(complaint(path, [&] { tl::npz_read<float>(path, "pixels", {.strict = true}); }) ==
          "pixels.npy: wrong dtype: found '|u1', expected '<f4'");
    CHECK(tl::npz_read<std::uint8_t>(path, "pixels", {.strict = true}).type == tl::npy_type::u1);

    tl::owned<params> p;
    tl::load_npz(path, *p, names);
    CHECK(counts_up(std::vector<float>(p->columns.begin(), p->columns.end()), 24));
    CHECK(counts_up(std::vector<std::int32_t>(p->inner.labels.begin(), p->inner.labels.end()), 7));
    CHECK(std::vector<bool>(p->inner.mask.begin(), p->inner.mask.end()) ==
          std::vector<bool>{false, true, false, true});
    struct batch {
      tl::tensor<std::uint8_t, 2, 3> pixels;
      tl::tensor<std::int64_t, 7> labels;
    };
    tl::owned<batch> stored;
    tl::load_npz(path, *stored, {"pixels", "labels"}, {.strict = true});
    CHECK(counts_up(std::vector<std::uint8_t>(stored->pixels.begin(), stored->pixels.end()), 6));
    CHECK(counts_up(std::vector<std::int64_t>(stored->labels.begin(), stored->labels.end()), 7));
    for (const auto& b : p->b) CHECK(counts_up(std::vector<double>(b.begin(), b.end()), 6));
  }
}

TEST_CASE("npz arrays: without names the leaves are arr_0, arr_1, ...") {
  const fs::path path = data("numpy_positional.npz");
  CHECK(tl::npz_names(path) == std::vector<std::string>{"arr_0", "arr_1"});
  tl::owned<std::tuple<tl::tensor<float, 2, 3>, tl::tensor<std::int32_t, 3>>> p;
  tl::load_npz(path, *p);
  CHECK(std::get<0>(*p).data()[5] == 5);
  CHECK(std::get<1>(*p).data()[2] == 2);
  tl::owned<tl::tensor<double, 3>> one; // a leaf is a tree
  tl::load_npz(path, *one, {"arr_1"});
  CHECK(one->data()[2] == 2);
}

TEST_CASE("npz arrays: a tree that is saved is loaded, by names and without") {
  const scratch dir;
  const fs::path path = dir / "x.npz";
  tl::owned<params> saved, loaded;
  tl::load_npz(data("numpy_savez.npz"), *saved, names);
  for (const std::vector<std::string>& used : {names, {}}) {
    tl::save_npz(path, *saved, used);
    CHECK(tl::npz_names(path) ==
          (used.empty() ? std::vector<std::string>{"arr_0", "arr_1", "arr_2", "arr_3", "arr_4"} : names));
    tl::owned<params> again;
    tl::load_npz(path, *again, used, {.strict = true});
    CHECK(counts_up(std::vector<float>(again->columns.begin(), again->columns.end()), 24));
    CHECK(again->inner.mask.data()[1]);
    CHECK(again->b[1].data()[5] == 5);
  }
  tl::owned<tl::tensor<float, 0>> none;
  tl::save_npz(path, *none);
  tl::load_npz(path, *none);
  CHECK(tl::npz_read(path, "arr_0").shape == std::vector<std::int64_t>{0});
  CHECK(dir.files() == 1);
}

TEST_CASE("npz arrays: a tree is loaded as a whole or not at all; names are as many as leaves") {
  const scratch dir;
  const fs::path path = dir / "x.npz";
  const fs::path whole = data("numpy_savez.npz");
  tl::owned<std::tuple<tl::tensor<float, 2, 3>, tl::tensor<std::int32_t, 3>>> p;
  std::get<0>(*p).data()[0] = -7;
  const auto refused = [&](const std::vector<std::string>& used) {
    const std::string said = complaint(whole, [&] { tl::load_npz(whole, *p, used); });
    CHECK(std::get<0>(*p).data()[0] == -7);
    return said;
  };
  CHECK(refused({"big", "labels"}) == "labels.npy: wrong shape: found (7,), expected (3,)");
  CHECK(refused({"big", "nothing"}).starts_with("has no member nothing.npy; it has "));
  CHECK(refused({}).starts_with("has no member arr_0.npy; it has "));
  const auto throws = [&](auto f, const char* message) {
    CHECK_THROWS_WITH_AS(f(), message, tl::argument_error);
    CHECK_FALSE(fs::exists(path));
  };
  throws([&] { tl::load_npz(whole, *p, {"big"}); },
         "tapeless: load_npz(path, tree, names): 1 names for 2 leaves");
  throws([&] { tl::save_npz(path, *p, {"a", "b", "c"}); },
         "tapeless: save_npz(path, tree, names): 3 names for 2 leaves");
  throws([&] { tl::save_npz(path, *p, {"a", "a"}); },
         "tapeless: save_npz(path, tree, names): the name 'a' is empty, too long or stands twice");
  throws([&] { tl::save_npz(path, *p, {"a", ""}); },
         "tapeless: save_npz(path, tree, names): the name '' is empty, too long or stands twice");
  throws([&] { tl::save_npz(path, tl::tensor<float, 3>()); },
         "tapeless: save_npz(path, tree): the data of leaf 0 is null");
  throws([&] { tl::load_npz(whole, tl::tensor<float, 3>()); },
         "tapeless: load_npz(path, tree): the data of leaf 0 is null");
  zip::write_stored(path, {{"a.npy", {"no array"}}, {"o.npy", {npy("|O", {1}, "pickle")}}});
  CHECK(complaint(path, [&] { tl::npz_read(path, "a"); }) == "a.npy: bad magic: no .npy file");
  CHECK(complaint(path, [&] { tl::npz_read(path, "o"); }).starts_with("o.npy: unsupported dtype '|O'"));
  const std::string five = npy("<i8", {1}, std::string("\0\0\0\0\5\0\0\0", 8));
  zip::write_stored(path, {{"x.npy", {five}}, {"y.npy", {five.substr(0, five.size() - 1)}}});
  CHECK(complaint(path, [&] { tl::npz_read<std::int32_t>(path, "x"); }) ==
        "x.npy: element 0 = 21474836480 exceeds an std::int32_t");
  CHECK(complaint(path, [&] { tl::npz_read(path, "y"); }) == "y.npy: 7 bytes of elements, 1 of 8 expected");
}

TEST_CASE("npz arrays: an archive of thousands of arrays is read") {
  const scratch dir;
  const fs::path path = dir / "x.npz";
  const std::string one = npy("<f4", {}, std::string(4, '\0'));
  std::vector<zip::stored_member> members;
  for (int i = 0; i < 5000; ++i) members.push_back({"arr_" + std::to_string(i) + ".npy", {one}});
  zip::write_stored(path, members);
  CHECK(tl::npz_names(path).size() == 5000);
  CHECK(tl::npz_read(path, "arr_4999").bytes.size() == 4);
}

#ifdef TAPELESS_WITH_ZLIB
TEST_CASE(
    "npz arrays: what inflates beyond the limit is refused before it is inflated; the limit can be raised") {
  const scratch dir;
  const fs::path path = dir / "x.npz";
  const std::int64_t n = 100000000;
  const std::string head = npy("|u1", {n}, "");
  put(path, bomb("arr_0.npy", head, n));
  CHECK(fs::file_size(path) < 110000);
  const std::string needed = std::to_string(n + static_cast<std::int64_t>(head.size()));
  CHECK(complaint(path, [&] { tl::npz_read(path, "arr_0"); })
            .starts_with("arr_0.npy: " + needed + " inflated bytes: " + needed +
                         " bytes of memory, and the limit of this file is "));
  CHECK(tl::npz_read(path, "arr_0", {.limit = 1000000000}).bytes.size() == n);
  // a tree that has room for it has asked for it
  tl::owned<tl::tensor<bool, n>> mask;
  tl::load_npz(path, *mask);
  CHECK_FALSE(mask->data()[n - 1]);
  tl::owned<tl::tensor<bool, 10>> small;
  CHECK(complaint(path, [&] { tl::load_npz(path, *small); }).find("the limit of this file is ") !=
        std::string::npos);
}
#endif

TEST_CASE("npz arrays: an archive with changed, missing or added bytes is read or refused") {
  const scratch dir;
  const fs::path path = dir / "x.npz";
  std::mt19937 engine(41);
  int read = 0, refused = 0;
  for (const char* name : {"numpy_savez.npz", "numpy_savez_compressed.npz"}) {
    const std::string whole = get(data(name));
    for (int i = 0; i < 1000; ++i) {
      std::string bytes = whole;
      for (unsigned changes = 1 + engine() % 3; changes-- > 0;) {
        const std::size_t at = engine() % bytes.size();
        switch (engine() % 8) {
          case 0: bytes.erase(at, engine() % 20); break;
          case 1: bytes.insert(at, bytes.substr(engine() % bytes.size(), engine() % 20)); break;
          case 2: bytes[at] = static_cast<char>(bytes[at] ^ 1 << engine() % 8); break;
          default: bytes[bytes.size() - 1 - at % 600] = static_cast<char>(engine()); // the directory
        }
      }
      put(path, bytes);
      try {
        tl::owned<params> p;
        tl::load_npz(path, *p, names);
        ++read;
      } catch (const tl::io_error&) { ++refused; }
    }
  }
#ifdef TAPELESS_WITH_ZLIB
  CHECK(read > 50);
#endif
  CHECK(refused > 500);
  CHECK(read + refused == 2000);
}
