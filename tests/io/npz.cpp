// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// tests/io/data was made with SciPy 1.17 and NumPy 2.4:
//   a = scipy.sparse.csr_matrix(numpy.array([[0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 4, 5]], dtype=numpy.float64))
//   scipy.sparse.save_npz("scipy_csr.npz", a, compressed=False)
//   scipy.sparse.save_npz("scipy_coo.npz", a.tocoo(), compressed=False)
//   scipy.sparse.save_npz("scipy_csc_deflated.npz", a.tocsc())
// and the other files by make.py there.
#include <tapeless/io/npz.hpp>
#include <tapeless/run/csr_dense.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "scratch.hpp"

namespace tl = tapeless;
namespace fs = std::filesystem;
namespace zip = tl::detail::zip;

namespace {

template <class T, class End = std::int32_t> using table =
    tl::csr<T, tl::dyn<'r'>, tl::dyn<'c'>, tl::dyn<'e'>, End>;

void put(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}
std::string get(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
fs::path data(const char* name) { return fs::path(TAPELESS_TEST_DATA) / name; }

template <class A> std::vector<double> dense_of(const A& a) {
  const auto dense = tl::to_dense(a);
  return {dense->begin(), dense->end()};
}
const std::vector<double> expected{0, 1, 0, 2, 0, 0, 0, 0, 3, 0, 4, 5};

// What loading says; empty if it gives the matrix above.
template <class A = table<double>> std::string complaint(const fs::path& path,
                                                         const tl::read_options& options = {}) {
  try {
    return dense_of(*tl::load_npz<A>(path, options)) == expected ? "" : "another matrix";
  } catch (const tl::io_error& error) {
    CHECK(error.path() == path);
    const std::string prefix = "tapeless: " + path.string() + ": ";
    CHECK(std::string(error.what()).substr(0, prefix.size()) == prefix);
    return std::string(error.what()).substr(prefix.size());
  }
}

template <class T> std::string npy(const char* descr, const std::vector<std::int64_t>& shape,
                                   const std::vector<T>& elements) {
  std::string bytes = tl::detail::npy::header("", descr, shape);
  const std::size_t at = bytes.size();
  bytes.resize(at + elements.size() * sizeof(T));
  if (!elements.empty()) std::memcpy(bytes.data() + at, elements.data(), elements.size() * sizeof(T));
  return bytes;
}
using i4 = std::vector<std::int32_t>;
using i8 = std::vector<std::int64_t>;
std::string npy(const char* descr, const std::vector<std::int64_t>& shape, const std::string& elements) {
  return tl::detail::npy::header("", descr, shape) + elements;
}
std::string vector_of(const i4& x) { return npy("<i4", {static_cast<std::int64_t>(x.size())}, x); }
std::string vector_of(const i8& x) { return npy("<i8", {static_cast<std::int64_t>(x.size())}, x); }
std::string vector_of(const std::vector<double>& x) {
  return npy("<f8", {static_cast<std::int64_t>(x.size())}, x);
}
std::string text(const std::string& x) {
  return npy(("|S" + std::to_string(x.size())).c_str(), {}, std::vector<char>(x.begin(), x.end()));
}

// The matrix above, member by member; a test changes one of them.
struct members {
  std::string format = text("csr"), shape = vector_of(i8{3, 4}), indptr = vector_of(i4{0, 2, 2, 5}),
              indices = vector_of(i4{1, 3, 0, 2, 3}), values = vector_of(std::vector<double>{1, 2, 3, 4, 5});
  std::string leave_out;

  void write(const fs::path& path) const {
    std::vector<zip::stored_member> all;
    const auto add = [&](const char* name, const std::string& bytes) {
      if (name != leave_out) all.push_back({name, {bytes}});
    };
    add("format.npy", format);
    add("shape.npy", shape);
    add("indptr.npy", indptr);
    add("indices.npy", indices);
    add("data.npy", values);
    zip::write_stored(path, all);
  }
};

} // namespace

TEST_CASE("npz: what SciPy has saved as csr, csc and coo is read") {
  CHECK(complaint(data("scipy_csr.npz")) == "");
  CHECK(complaint(data("scipy_coo.npz")) == "");
  CHECK(complaint<tl::csr<double, 3, 4, 5>>(data("scipy_csr.npz")) == "");
#ifdef TAPELESS_WITH_ZLIB
  CHECK(complaint(data("scipy_csc_deflated.npz")) == "");
#else
  CHECK(complaint(data("scipy_csc_deflated.npz")) ==
        "is compressed: define TAPELESS_WITH_ZLIB and link zlib, or link tapeless::zlib");
#endif
}

TEST_CASE("npz: the members that are written are SciPy's, byte by byte") {
  const scratch dir;
  const fs::path path = dir / "x.npz";
  tl::save_npz(path, *tl::load_npz<table<double>>(data("scipy_csr.npz")));
  CHECK(complaint(path) == "");
  CHECK(dir.files() == 1);
  const std::string ours = get(path), theirs = get(data("scipy_csr.npz"));
  const zip::archive us(path, ours), them(path, theirs);
  tl::detail::memory_limit memory({}, ours.size());
  for (const char* name : {"indices.npy", "indptr.npy", "format.npy", "shape.npy", "data.npy"}) {
    CAPTURE(name);
    CHECK(us.read(name, memory) == them.read(name, memory));
  }
  // The first local header and the end: version 2.0, stored, 1980-01-01; NumPy has version 4.5 and zip64 sizes
  CHECK(ours.substr(0, 14) == std::string("PK\3\4\x14\0\0\0\0\0\0\0\x21\0", 14));
  CHECK(ours.substr(14, 4) == theirs.substr(14, 4)); // the CRC-32
  CHECK(ours.substr(18, 23) == std::string("\x94\0\0\0\x94\0\0\0\x0b\0\0\0indices.npy", 23));
  CHECK(ours.substr(ours.size() - 22, 12) == std::string("PK\5\6\0\0\0\0\5\0\5\0", 12));
}

TEST_CASE("npz: CRC-32 is the one of ISO 3309") {
  CHECK(zip::crc32("123456789") == 0xcbf43926u);
  CHECK(zip::crc32("6789", zip::crc32("12345")) == 0xcbf43926u);
  CHECK(zip::crc32("") == 0);
}

TEST_CASE_TEMPLATE("npz: what is saved is loaded, for every type and without entries", T, float, double,
                   std::int32_t, bool) {
  const scratch dir;
  const fs::path path = dir / "x.npz";
  const tl::triplet<T> entries[] = {{4, 6, T{1}}, {1, 0, T{0}}, {1, 6, T{1}}};
  const auto saved = tl::csr_from_triplets<table<T>>(6, 7, entries);
  tl::save_npz(path, *saved);
  const auto loaded = tl::load_npz<table<T>>(path);
  CHECK(loaded->nnz() == 3);
  CHECK(dense_of(*loaded) == dense_of(*saved));
  for (const auto& [rows, cols] : {std::pair<int, int>{0, 0}, {0, 5}, {5, 0}, {1, 1}}) {
    tl::save_npz(path, *tl::csr_from_triplets<table<T>>(rows, cols, {}));
    const auto none = tl::load_npz<table<T>>(path);
    CHECK(none->rows() == rows);
    CHECK(none->cols() == cols);
    CHECK(none->nnz() == 0);
  }
}

TEST_CASE("npz: indices of 64 bits, unsorted, twice, and room behind the last entry are read") {
  const scratch dir;
  const fs::path path = dir / "x.npz";
  members m;
  m.write(path);
  CHECK(complaint(path) == "");
  m.indptr = vector_of(i8{0, 2, 2, 6});
  m.indices = vector_of(i8{3, 1, 0, 2, 3, 2, 77});
  m.values = vector_of(std::vector<double>{2, 1, 3, 1, 5, 3, 77});
  m.shape = vector_of(i4{3, 4});
  m.format = npy("<U3", {}, std::vector<char32_t>{U'c', U's', U'r'});
  m.write(path);
  CHECK(complaint(path) == "");
}

TEST_CASE("npz: row ends of int64 are written as such, and read from files of either kind") {
  const scratch dir;
  const fs::path path = dir / "x.npz";
  using wide = table<double, std::int64_t>;
  CHECK(complaint<wide>(data("scipy_csr.npz")) == "");
  CHECK(complaint<wide>(data("scipy_coo.npz")) == "");
  members m;
  m.indptr = vector_of(i8{0, 2, 2, 5});
  m.write(path);
  CHECK(complaint<wide>(path) == "");
  m.indptr = vector_of(i8{0, std::int64_t{1} << 32, 2, 5});
  m.write(path);
  CHECK(complaint<table<double>>(path) == "indptr.npy: element 1 = 4294967296 exceeds an std::int32_t");
  CHECK(complaint<wide>(path) == "load_npz(path): row 0 ends at entry 4294967296, but nnz = 5");

  tl::save_npz(path, *tl::load_npz<wide>(data("scipy_csr.npz")));
  CHECK(complaint<wide>(path) == "");
  CHECK(complaint<table<double>>(path) == "");
  const std::string bytes = get(path);
  const zip::archive archive(path, bytes);
  tl::detail::memory_limit memory({}, bytes.size());
  CHECK(archive.read("indptr.npy", memory) == vector_of(i8{0, 2, 2, 5}));
  CHECK(archive.read("indices.npy", memory) == vector_of(i4{1, 3, 0, 2, 3}));
}

TEST_CASE("npz: what a member has wrong is named with it, and with the row") {
  const scratch dir;
  const fs::path path = dir / "x.npz";
  const auto says = [&](auto change, const tl::read_options& options = {}) {
    members m;
    change(m);
    m.write(path);
    return complaint(path, options);
  };
  const tl::read_options strict{.strict = true};
  CHECK(says([](members&) {}, strict) == "");
  for (const char* name : {"format.npy", "shape.npy", "indptr.npy", "indices.npy", "data.npy"})
    CHECK(says([&](members& m) {
            m.leave_out = name;
          }).starts_with(std::string("has no member ") + name + "; it has "));
  CHECK(says([](members& m) { m.format = text("lil"); }) ==
        "format.npy: format 'lil': csr, csc, coo, bsr and dia are read");
  for (const char* format : {"dia", "bsr"})
    CHECK(says([&](members& m) { m.format = text(format); }, strict) ==
          std::string("format.npy: format '") + format + "': csr, csc and coo are read");
  CHECK(says([](members& m) { m.format = vector_of(i4{1}); }) == "format.npy: is no text");
  CHECK(says([](members& m) { m.format = "csr"; }) == "format.npy: bad magic: no .npy file");
  CHECK(says([](members& m) { m.shape = vector_of(i8{3, 4, 1}); }) ==
        "shape.npy: a matrix has 2 axes, this one 3");
  CHECK(says([](members& m) { m.shape = vector_of(i8{-3, 4}); }) ==
        "load_npz(path): rows = -3: an extent is not negative");
  CHECK(says([](members& m) { m.shape = vector_of(i8{3, std::int64_t{1} << 33}); }) ==
        "load_npz(path): cols = 8589934592: at most 2147483647, positions are std::int32_t");
  CHECK(says([](members& m) { m.shape = vector_of(std::vector<double>{3, 4}); }) ==
        "shape.npy: wrong dtype: found '<f8', expected '<i4' or '<i8'");
  CHECK(says([](members& m) { m.shape = vector_of(i8{4, 4}); }) ==
        "load_npz(path): indptr has 4 elements, expected 5");
  CHECK(says([](members& m) { m.indptr = vector_of(i4{0, 3, 2, 5}); }) ==
        "load_npz(path): row 1 ends at entry 2, before it begins at 3");
  CHECK(says([](members& m) { m.indptr = vector_of(i4{0, 2, 2, 6}); }) ==
        "indices.npy: has 5 elements, expected 6");
  CHECK(says([](members& m) { m.indptr = npy("<i4", {2, 2}, i4{0, 2, 2, 5}); }) ==
        "indptr.npy: has the shape (2, 2), expected one axis");
  CHECK(says([](members& m) { m.indptr = npy("<i4", {5}, i4{0, 2, 2, 5}); }) ==
        "indptr.npy: 16 bytes of elements, 5 of 4 expected");
  CHECK(says([](members& m) { m.indptr = npy("<i4", {std::int64_t{1} << 62}, i4{}); }) ==
        "indptr.npy: 0 bytes of elements, 4611686018427387904 of 4 expected");
  CHECK(says([](members& m) { m.indices = vector_of(i4{1, 4, 0, 2, 3}); }) ==
        "load_npz(path): row 0: column 4 is outside [0, 4)");
  CHECK(says([](members& m) { m.indices = vector_of(i8{1, 3, 0, std::int64_t{1} << 32, 3}); }) ==
        "indices.npy: element 3 = 4294967296 exceeds an std::int32_t");
  CHECK(says([](members& m) { m.values = vector_of(std::vector<double>{1, 2, 3, 4}); }) ==
        "data.npy: has 4 elements, expected 5");
  CHECK(says([](members& m) { m.values = npy("<c16", {5}, std::vector<double>(10)); }, strict) ==
        "data.npy: wrong dtype: found '<c16', expected '<f8'");
  CHECK(says([](members& m) { m.values = npy("<c16", {5}, std::vector<double>(10)); }) ==
        "data.npy: unsupported dtype '<c16': bool, integers and real numbers of up to 64 bits are read");
  CHECK(complaint<table<float>>(data("scipy_csr.npz"), strict) ==
        "data.npy: wrong dtype: found '<f8', expected '<f4'");
  CHECK(complaint<tl::csr<double, 3, 4, 6>>(data("scipy_csr.npz")) ==
        "load_npz(path): nnz = 5, but the matrix type has 6");
  CHECK(complaint<tl::csr<double, tl::dyn<'n'>, tl::dyn<'n'>, 5>>(data("scipy_csr.npz")) ==
        "load_npz(path): cols says n = 4, but rows says n = 3");
}

TEST_CASE("npz: no archive, one of another kind, or a path that cannot be") {
  const scratch dir;
  const fs::path path = dir / "x.npz";
  const auto says = [&](const std::string& bytes) {
    put(path, bytes);
    return complaint(path);
  };
  const std::string whole = get(data("scipy_csr.npz"));
  const std::size_t end = whole.size() - 22;
  const auto with = [&](std::size_t at, const std::string& bytes) {
    return std::string(whole).replace(at, bytes.size(), bytes);
  };
  CHECK(says("") == "truncated: the archive has no end record");
  CHECK(says("\x93NUMPY no archive") == "bad magic: no zip archive");
  CHECK(says(std::string("PK\5\6", 4) + std::string(18, '\0')) == "has no member format.npy");
  CHECK(says(with(end + 16, "\xff\xff\xff\xff")) == "a zip64 archive: only those below 4 GB are read");
  CHECK(says(with(end + 16, "\xff\xff\xff\x7f")) == "truncated or corrupt: the directory is not in the file");
  CHECK(says(with(end + 12, "\xff\xff\xff\x7f")) == "truncated or corrupt: the directory is not in the file");
  CHECK(says(with(end + 4, "\1")) == "an archive of several parts is not read");
  CHECK(says(with(end + 8, std::string("\x06\0\x06\0", 4))) == "corrupt: the directory");

  const std::size_t first = whole.find("PK\1\2"); // the entry of indices.npy
  CHECK(says(with(first + 8, "\1")) == "indices.npy: encrypted members are not read");
  CHECK(says(with(first + 10, "\x0c")) == "indices.npy: compression method 12: stored and deflated are read");
  CHECK(says(with(first + 16, "x")) == "indices.npy: corrupt: its CRC-32 differs");
  CHECK(says(with(first + 20, "\1")) == "indices.npy: corrupt: stored with two sizes");
  CHECK(says(with(first + 20, "\xff\xff\xff\x7f")) ==
        "indices.npy: truncated or corrupt: its bytes are not in the file");
  CHECK(says(with(first + 24, "\xff\xff\xff\xff")) ==
        "indices.npy: a zip64 archive: only those below 4 GB are read");
  CHECK(says(with(first + 42, "\xff\xff\xff\x7f")) == "indices.npy: corrupt: no local header");
  CHECK(says(with(first + 42, "\1")) == "indices.npy: corrupt: no local header");
  CHECK(complaint(dir / "missing.npz").starts_with("cannot be read: "));
  CHECK(complaint(dir.directory).starts_with("cannot be read: "));

#ifdef TAPELESS_WITH_ZLIB
  const std::string deflated = get(data("scipy_csc_deflated.npz"));
  const std::size_t entry = deflated.find("PK\1\2");
  CHECK(says(std::string(deflated).replace(entry + 24, 4, "\xff\xff\xff\x7f")) ==
        "indices.npy: corrupt: longer than its compressed bytes can be");
#endif
}

TEST_CASE("npz: an archive cut anywhere is refused") {
  const scratch dir;
  const fs::path path = dir / "x.npz";
  for (const char* name : {"scipy_csr.npz", "scipy_csc_deflated.npz"}) {
    const std::string whole = get(data(name));
    REQUIRE(whole.size() > 900);
    for (std::size_t length = 0; length < whole.size(); ++length) {
      CAPTURE(length);
      put(path, whole.substr(0, length));
      CHECK(complaint(path).starts_with("truncated"));
    }
  }
}

TEST_CASE("npz: a changed byte anywhere is refused, or the matrix is the same") {
  const scratch dir;
  const fs::path path = dir / "x.npz";
  for (const char* name : {"scipy_csr.npz", "scipy_csc_deflated.npz"}) {
    const std::string whole = get(data(name));
    for (std::size_t i = 0; i < whole.size(); ++i)
      for (const char flip : {'\1', '\x80', '\xff'}) {
        CAPTURE(i);
        std::string bytes = whole;
        bytes[i] = static_cast<char>(bytes[i] ^ flip);
        put(path, bytes);
        CHECK(complaint(path) != "another matrix");
      }
  }
}

TEST_CASE("npz: elements become those of the matrix, indices may be integers of any kind") {
  const scratch dir;
  const fs::path path = dir / "x.npz";
  CHECK(complaint<table<float>>(data("scipy_csr.npz")) == "");
  CHECK(complaint<table<std::int32_t>>(data("scipy_csr.npz")) == "");
  const auto says = [&]<class A>(auto change, A*) {
    members m;
    change(m);
    m.write(path);
    return complaint<A>(path);
  };
  table<float>* const f4 = nullptr;
  table<std::int32_t>* const whole = nullptr;
  CHECK(says([](members& m) { m.values = vector_of(i8{1, 2, 3, 4, 5}); }, f4) == "");
  CHECK(says([](members& m) { m.values = npy("|i1", {5}, std::vector<signed char>{1, 2, 3, 4, 5}); }, f4) ==
        "");
  CHECK(says([](members& m) { m.values = vector_of(i8{1, 2, 3, 4, 5000000000}); }, whole) ==
        "data.npy: element 4 = 5000000000 exceeds an std::int32_t");
  CHECK(says([](members& m) { m.values = vector_of(std::vector<double>{1, 2.5, 3, 4, 5}); }, whole) ==
        "data.npy: element 1 = 2.5 is not whole");
  CHECK(says([](members& m) { m.indices = npy("<u2", {5}, std::vector<std::uint16_t>{1, 3, 0, 2, 3}); },
             f4) == "");
  CHECK(says([](members& m) { m.shape = npy(">i4", {2}, std::string("\0\0\0\3\0\0\0\4", 8)); }, f4) == "");
  CHECK(says([](members& m) { m.indices = vector_of(std::vector<double>{1, 3, 0, 2, 3}); }, f4) ==
        "indices.npy: wrong dtype: found '<f8', expected '<i4' or '<i8'");
}

TEST_CASE(
    "npz: what SciPy has saved as bsr and dia is read: all elements of blocks, of diagonals what is not zero") {
  const std::vector<double> four_rows{0, 1, 0, 2, 0, 0, 0, 0, 3, 0, 4, 5, 0, 0, 6, 0};
  const auto blocks = tl::load_npz<table<double>>(data("scipy_bsr.npz"));
  CHECK(dense_of(*blocks) == four_rows);
  CHECK(blocks->nnz() == 16);
  CHECK(dense_of(*tl::load_npz<table<float, std::int64_t>>(data("scipy_bsr.npz"))) == four_rows);
  const auto diagonals = tl::load_npz<table<double>>(data("scipy_dia.npz"));
  CHECK(dense_of(*diagonals) == four_rows);
  CHECK(diagonals->nnz() == 6);
  const auto wide = tl::load_npz<table<double>>(data("scipy_dia_wide.npz"));
  CHECK(dense_of(*wide) == std::vector<double>{1, 14, 0, 0, 0, 2, 15, 0, 7, 0, 3, 16});
  CHECK(wide->nnz() == 7);
}

namespace {
// An archive of these members.
void write_members(const fs::path& path, const std::vector<std::pair<std::string, std::string>>& all) {
  std::vector<zip::stored_member> stored;
  for (const auto& [name, bytes] : all) stored.push_back({name, {bytes}});
  zip::write_stored(path, stored);
}
void write_bsr(const fs::path& path, const i8& shape, const i4& indptr, const i4& indices, const i8& blocks,
               const std::vector<double>& values) {
  write_members(path, {{"format.npy", text("bsr")},
                       {"shape.npy", vector_of(shape)},
                       {"indptr.npy", vector_of(indptr)},
                       {"indices.npy", vector_of(indices)},
                       {"data.npy", npy("<f8", blocks, values)}});
}
void write_dia(const fs::path& path, const i8& shape, const i8& offsets, const i8& extents,
               const std::vector<double>& values) {
  write_members(path, {{"format.npy", text("dia")},
                       {"shape.npy", vector_of(shape)},
                       {"offsets.npy", vector_of(offsets)},
                       {"data.npy", npy("<f8", extents, values)}});
}
} // namespace

TEST_CASE("npz: blocks of any shape, twice, out of order, none; what is wrong with them is named") {
  const scratch dir;
  const fs::path path = dir / "x.npz";
  const auto loaded = [&] { return dense_of(*tl::load_npz<table<double>>(path)); };
  write_bsr(path, {2, 3}, {0, 3}, {2, 0, 2}, {3, 2, 1}, {1, 2, 3, 4, 5, 6});
  CHECK(loaded() == std::vector<double>{3, 0, 6, 4, 0, 8});
  write_bsr(path, {2, 6}, {0, 0, 1}, {1, 9}, {2, 1, 3}, {1, 2, 3, 4, 5, 6}); // room behind the last
  CHECK(loaded() == std::vector<double>{0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3});
  write_bsr(path, {2, 2}, {0, 0}, {}, {0, 2, 2}, {});
  CHECK(loaded() == std::vector<double>(4));
  const auto says = [&] { return complaint(path); };
  write_bsr(path, {3, 2}, {0, 1}, {0}, {1, 2, 2}, {1, 2, 3, 4});
  CHECK(says() == "data.npy: blocks of (2, 2) do not divide a matrix of (3, 2)");
  write_bsr(path, {2, 2}, {0, 0}, {}, {1, 0, 2}, {});
  CHECK(says() == "data.npy: blocks of (0, 2) do not divide a matrix of (2, 2)");
  write_bsr(path, {2, 2}, {0, 1}, {1}, {1, 2, 2}, {1, 2, 3, 4});
  CHECK(says() == "load_npz(path): entry 0 in row 0: column 2 is outside [0, 2)");
  write_bsr(path, {2, 2}, {0, 1}, {-1}, {1, 2, 2}, {1, 2, 3, 4});
  CHECK(says() == "load_npz(path): entry 0 in row 0: column -2 is outside [0, 2)");
  write_bsr(path, {2, 2}, {0, 2}, {0, 0}, {1, 2, 2}, {1, 2, 3, 4});
  CHECK(says() == "data.npy: has 1 blocks, expected 2");
  write_bsr(path, {2, 2}, {0, 1}, {}, {1, 2, 2}, {1, 2, 3, 4});
  CHECK(says() == "indices.npy: has 0 elements, expected 1");
  write_bsr(path, {4, 2}, {0, 3, 2}, {0, 0}, {2, 2, 2}, std::vector<double>(8));
  CHECK(says() == "load_npz(path): row of blocks 0 ends at entry 3, but nnz = 2");
  write_bsr(path, {2, 2}, {0, 1}, {0}, {1, 4}, {1, 2, 3, 4});
  CHECK(says() == "data.npy: has the shape (1, 4), expected 3 axes");
}

TEST_CASE("npz: diagonals within, across and beyond the matrix; what is wrong with them is named") {
  const scratch dir;
  const fs::path path = dir / "x.npz";
  const auto loaded = [&] { return dense_of(*tl::load_npz<table<double>>(path)); };
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  write_dia(path, {2, 3}, {2, -1, 3, -2, most, -most - 1}, {6, 4},
            {1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9});
  CHECK(loaded() == std::vector<double>{0, 0, 3, 5, 0, 0});
  write_dia(path, {3, 3}, {0, 1}, {2, 2}, {1, 2, 3, 4}); // fewer columns in data than in the matrix
  CHECK(loaded() == std::vector<double>{1, 4, 0, 0, 2, 0, 0, 0, 0});
  write_dia(path, {2, 2}, {}, {0, 2}, {});
  CHECK(loaded() == std::vector<double>(4));
  write_dia(path, {0, 0}, {0}, {1, 1}, {1});
  CHECK(loaded().empty());
  write_dia(path, {2, 2}, {0, 0}, {2, 2}, {1, 2, 3, 4});
  CHECK(complaint(path) == "offsets.npy: offset 0 stands twice");
  write_dia(path, {2, 2}, {0}, {2, 2}, {1, 2, 3, 4});
  CHECK(complaint(path) == "offsets.npy: has 1 elements, expected 2");
  write_dia(path, {2, 2}, {0}, {2}, {1, 2});
  CHECK(complaint(path) == "data.npy: has the shape (2,), expected 2 axes");
}

TEST_CASE(
    "npz: rows that a small file declares, and what it inflates to, are limited, and the limit can be raised") {
  const scratch dir;
  const fs::path path = dir / "x.npz";
  const auto says = [&](const tl::read_options& options = {}) {
    try {
      tl::load_npz<table<double>>(path, options);
      return std::string();
    } catch (const tl::io_error& error) {
      return std::string(error.what()).substr(("tapeless: " + path.string() + ": ").size());
    }
  };
  for (const char* format : {"coo", "dia"}) {
    CAPTURE(format);
    write_members(path, {{"format.npy", text(format)},
                         {"shape.npy", vector_of(i8{200000000, 3})},
                         {"row.npy", vector_of(i4{})},
                         {"col.npy", vector_of(i4{})},
                         {"offsets.npy", vector_of(i4{})},
                         {"data.npy", npy("<f8", std::string(format) == "dia" ? i8{0, 3} : i8{0}, i8{})}});
    const std::string said = says();
    CHECK(said.starts_with("shape.npy: 200000000 rows: 16000000"));
    CHECK(said.find("the limit of this file is ") != std::string::npos);
    CHECK(said.find("tl::read_options{.limit = 16000000") != std::string::npos);
    CHECK(says({.limit = 1000}) != "");
  }
  write_members(path, {{"format.npy", text("coo")},
                       {"shape.npy", vector_of(i8{10000000, 3})}, // 80 MB
                       {"row.npy", vector_of(i4{})},
                       {"col.npy", vector_of(i4{})},
                       {"data.npy", vector_of(std::vector<double>{})}});
  CHECK(says() != "");
  CHECK(says({.limit = 80000000}) != ""); // the arrays take some, too
  CHECK(says({.limit = 81000000}) == "");
  CHECK_NOTHROW(tl::load_npz<tl::csr<double, 10000000, 3, 0>>(path)); // the caller's own number
}

TEST_CASE("npz: a save that is refused leaves the old file") {
  const scratch dir;
  const fs::path path = dir / "x.npz";
  put(path, "old");
  const std::int32_t ptr[] = {0, 2}, columns[] = {1, 1};
  const float values[] = {1, 2};
  const auto bad = tl::csr_view<table<const float>>(tl::trusted, 1, 2, ptr, columns, values);
  CHECK_THROWS_WITH_AS(tl::save_npz(path, bad), "tapeless: save_npz(path, a): row 0: column 1 stands twice",
                       tl::argument_error);
  const std::int32_t both[] = {0, 1};
  const auto good = tl::csr_view<table<const float>>(1, 2, ptr, both, values);
  CHECK_THROWS_AS(tl::save_npz(dir / "no" / "such.npz", good), tl::io_error);
  CHECK(get(path) == "old");
  CHECK(dir.files() == 1);
}
