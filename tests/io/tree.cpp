// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include <tapeless/io/tree.hpp>
#include <tapeless/run/memory.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <type_traits>
#include <vector>

#include "scratch.hpp"

namespace tl = tapeless;
namespace fs = std::filesystem;

namespace {

struct tree {
  tl::tensor<float, 2, 3> a;
  std::array<tl::tensor<double, 4>, 2> b;
  struct {
    tl::scalar<std::int32_t> c;
    tl::tensor<bool, tl::dyn<'n'>> d;
    tl::tensor<std::uint8_t, tl::dyn<'n'>, 2> image;
    tl::tensor<std::int64_t, tl::dyn<'n'>> label;
  } inner;
};

template <class Tree> void fill(const Tree& t, int start) {
  tl::detail::for_each_leaf(t, [&](const auto& leaf) {
    using T = typename std::remove_cvref_t<decltype(leaf)>::value_type;
    for (T& x : leaf) {
      if constexpr (std::is_same_v<T, bool>) x = start++ % 3 == 0;
      else x = static_cast<T>(start++);
    }
  });
}
template <class Tree> std::vector<double> flat(const Tree& t) {
  std::vector<double> values;
  tl::detail::for_each_leaf(t, [&](const auto& leaf) {
    for (const auto x : leaf) values.push_back(x);
  });
  return values;
}
using owner = tl::owned<tree>;
constexpr tl::dim<'n'> five(5);

} // namespace

TEST_CASE("a saved tree comes back as it was, one file a leaf") {
  scratch folder;
  owner saved(five), loaded(five);
  fill(*saved, 1);
  tl::save_npy(folder / "deep", *saved);
  CHECK(std::distance(fs::directory_iterator(folder / "deep"), {}) == 7);
  for (const char* name : {"00.npy", "01.npy", "02.npy", "03.npy", "04.npy", "05.npy", "06.npy"})
    CHECK(fs::exists(folder / "deep" / name));
  CHECK(tl::npy_read(folder / "deep" / "00.npy").shape == std::vector<std::int64_t>{2, 3});
  CHECK(tl::npy_read(folder / "deep" / "03.npy").shape.empty());
  tl::load_npy(folder / "deep", *loaded);
  CHECK(flat(*loaded) == flat(*saved));

  fill(*saved, 100); // a second save replaces the first
  tl::save_npy(folder / "deep", *saved);
  tl::load_npy(folder / "deep", *loaded);
  CHECK(flat(*loaded) == flat(*saved));
}

TEST_CASE("a tree is loaded as a whole or not at all") {
  scratch folder;
  owner saved(five), loaded(five);
  fill(*saved, 1);
  const std::vector<double> before = flat(*loaded);
  const auto refused = [&](const char* problem, const tl::read_options& options = {}) {
    try {
      tl::load_npy(folder.directory, *loaded, options);
      FAIL("not refused");
    } catch (const tl::io_error& e) {
      CHECK(std::string(e.what()).find(problem) != std::string::npos);
      CHECK(e.path().parent_path() == folder.directory);
    }
    CHECK(flat(*loaded) == before);
  };
  const std::int64_t four[] = {4}, five_long[] = {5};
  const double numbers[5] = {};

  refused("00.npy: cannot be read");
  tl::save_npy(folder.directory, *saved);
  SUBCASE("the last file is missing") {
    fs::remove(folder / "04.npy");
    refused("04.npy: cannot be read");
  }
  SUBCASE("a file is cut off") {
    fs::resize_file(folder / "02.npy", fs::file_size(folder / "02.npy") - 1);
    refused("02.npy: truncated");
  }
  SUBCASE("a leaf has another shape") {
    tl::npy_write(folder / "02.npy", numbers, five_long);
    refused("02.npy: wrong shape: found (5,), expected (4,)");
  }
  SUBCASE("a leaf has another element type, read strictly") {
    const float floats[4] = {};
    tl::npy_write(folder / "02.npy", floats, four);
    refused("02.npy: wrong dtype: found '<f4', expected '<f8'", {.strict = true});
  }
  SUBCASE("a number does not fit the leaf") {
    const double half = 0.5;
    tl::npy_write(folder / "03.npy", &half, {});
    refused("03.npy: element 0 = 0.5 is not whole");
  }
  SUBCASE("the folder holds a tree of more leaves") {
    tl::npy_write(folder / "07.npy", numbers, four);
    refused("07.npy: is in the folder, but the tree has 7 leaves");
  }
}

TEST_CASE("the elements of files become those of the leaves' types") {
  scratch folder;
  owner saved(five), loaded(five);
  fill(*saved, 1);
  tl::save_npy(folder.directory, *saved);
  const std::int64_t four[] = {4}, two_by_three[] = {2, 3};
  const float floats[] = {1.5f, -2, 3, 4};
  const double doubles[] = {1, 2, 3, 4, 5, 0.1}, whole = 7;
  tl::npy_write(folder / "00.npy", doubles, two_by_three);
  tl::npy_write(folder / "01.npy", floats, four);
  tl::npy_write(folder / "03.npy", &whole, {});
  tl::load_npy(folder.directory, *loaded);
  CHECK(loaded->a.data()[5] == 0.1f);
  CHECK(loaded->b[0].data()[0] == 1.5);
  CHECK(loaded->b[0].data()[3] == 4);
  CHECK(loaded->inner.c.data()[0] == 7);
}

TEST_CASE("a folder that holds a tree of more leaves is not saved to") {
  scratch folder;
  owner saved(five);
  tl::save_npy(folder.directory, *saved);
  tl::owned<std::array<tl::tensor<float, 2>, 2>> fewer;
  CHECK_THROWS_AS(tl::save_npy(folder.directory, *fewer), tl::io_error);
  CHECK(tl::npy_read(folder / "00.npy").shape == std::vector<std::int64_t>{2, 3});
}

TEST_CASE("a folder that cannot be made is an io_error") {
  scratch folder;
  std::ofstream(folder / "file") << "text";
  owner saved(five);
  CHECK_THROWS_AS(tl::save_npy(folder / "file", *saved), tl::io_error);
}

TEST_CASE("beyond a hundred leaves the names have three digits") {
  scratch folder;
  tl::owned<std::array<tl::scalar<float>, 101>> saved, loaded;
  fill(*saved, 1);
  tl::save_npy(folder.directory, *saved);
  CHECK(fs::exists(folder / "000.npy"));
  CHECK(fs::exists(folder / "100.npy"));
  tl::load_npy(folder.directory, *loaded);
  CHECK(flat(*loaded) == flat(*saved));
}

TEST_CASE("a tree with a leaf whose data is null is neither saved nor loaded, and no file is touched") {
  scratch folder;
  owner own(five);
  tree missing = *own;
  missing.b[1] = {};
  CHECK_THROWS_WITH_AS(tl::save_npy(folder / "new", missing),
                       "tapeless: save_npy(folder, tree): the data of leaf 2 is null", tl::argument_error);
  CHECK_FALSE(fs::exists(folder / "new"));
  tl::save_npy(folder / "old", *own);
  CHECK_THROWS_WITH_AS(tl::load_npy(folder / "old", missing),
                       "tapeless: load_npy(folder, tree): the data of leaf 2 is null", tl::argument_error);
  tree empty = *own; // without elements no data is needed
  empty.inner.d = {};
  tl::save_npy(folder / "empty", empty);
  tl::load_npy(folder / "empty", empty);
  CHECK(tl::npy_read(folder / "empty" / "04.npy").shape == std::vector<std::int64_t>{0});
}

TEST_CASE("a folder that is a link to itself is an io_error") {
  scratch folder;
  owner own(five);
  fs::create_symlink("loop", folder / "loop");
  CHECK_THROWS_AS(tl::load_npy(folder / "loop", *own), tl::io_error);
  CHECK_THROWS_AS(tl::save_npy(folder / "loop", *own), tl::io_error);
}
