// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// What owned refuses, and copies between trees.
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/refusal.hpp"
#include <tapeless/tapeless.hpp>

namespace tl = tapeless;

namespace {

using rows = tl::tensor<float, tl::dyn<'n'>, 3>;
using grid = tl::tensor<float, tl::dyn<'n'>, tl::dyn<'m'>>;
constexpr tl::extent_t one = 1;

// The message of the argument_error that f throws; empty where it throws none.
using support::refusal;

struct tree {
  tl::tensor<float, 2, 3> a;
  std::array<tl::tensor<double, tl::dyn<'n'>>, 2> b;
  struct {
    tl::scalar<std::int32_t> c;
    tl::tensor<bool, tl::dyn<'n'>> d;
  } inner;
};

template <class Tree> void fill(const Tree& t) {
  int next = 1;
  tl::for_each_leaf(t, [&](const auto& leaf) {
    for (auto& x : leaf) x = static_cast<std::remove_cvref_t<decltype(x)>>(next++ % 5);
  });
}
template <class Tree> std::vector<double> flat(const Tree& t) {
  std::vector<double> values;
  tl::for_each_leaf(t, [&](const auto& leaf) {
    for (const auto x : leaf) values.push_back(static_cast<double>(x));
  });
  return values;
}

} // namespace

TEST_CASE("owned: every named extent has a value, and none is negative; names of other trees are ignored") {
  CHECK(refusal([] { tl::owned<rows>(); }) ==
        "tapeless: owned<tree>(dims...): give the extent n a value, as in owned<tree>(tl::dim<'n'>(64))");
  CHECK(refusal([] { tl::owned<grid>(tl::dim<'n'>(3)); }) ==
        "tapeless: owned<tree>(dims...): give the extent m a value, as in owned<tree>(tl::dim<'m'>(64))");
  CHECK(refusal([] { tl::owned<rows>(tl::dim<'n'>(-5)); }) ==
        "tapeless: owned<tree>(dims...): n = -5: an extent is not negative");
  tl::owned<rows> x(tl::dim<'m'>(7), tl::dim<'n'>(2)), none(tl::dim<'n'>(0));
  CHECK(x->extent(0) == 2);
  CHECK(x->size() == 6);
  CHECK(none->size() == 0);
}

TEST_CASE("owned: sizes that overflow are refused, of one leaf and of all") {
  const std::string message =
      "tapeless: owned<tree>(dims...): the extents are too large: a size exceeds 63 bits";
  using column = tl::tensor<float, tl::dyn<'n'>>;
  using pair = std::array<tl::tensor<bool, tl::dyn<'n'>>, 2>;
  CHECK(refusal([] { tl::owned<column>(tl::dim<'n'>(one << 61)); }) == message);
  CHECK(refusal([] { tl::owned<column>(tl::dim<'n'>(one << 62)); }) == message);       // wraps to nothing
  CHECK(refusal([] { tl::owned<column>(tl::dim<'n'>((one << 61) - 1)); }) == message); // with the padding
  CHECK(refusal([] { tl::owned<grid>(tl::dim<'n'>(one << 32), tl::dim<'m'>(one << 32)); }) == message);
  CHECK(refusal([] { tl::owned<pair>(tl::dim<'n'>(one << 62)); }) == message);
}

TEST_CASE("owned: a tree has as many named extents as it likes") {
  struct five {
    grid x;
    tl::tensor<float, tl::dyn<'c'>, tl::dyn<'d'>> y;
    tl::tensor<float, tl::dyn<'e'>> z;
  };
  tl::owned<five> own(tl::dim<'e'>(6), tl::dim<'d'>(5), tl::dim<'c'>(4), tl::dim<'m'>(3), tl::dim<'n'>(2));
  CHECK(own->x.extent(0) == 2);
  CHECK(own->x.extent(1) == 3);
  CHECK(own->y.extent(0) == 4);
  CHECK(own->y.extent(1) == 5);
  CHECK(own->z.extent(0) == 6);
  CHECK(flat(*own).size() == 6 + 20 + 6);
}

TEST_CASE("owned: zeros, aligned, small and where a block is large enough for large pages") {
  for (const tl::extent_t n :
       {tl::extent_t{5}, tl::extent_t{349525}, tl::extent_t{349526}, tl::extent_t{700001}}) {
    tl::owned<rows> own{tl::dim<'n'>(n)};
    CHECK(reinterpret_cast<std::uintptr_t>(own->data()) % 64 == 0);
    bool zeros = true;
    for (tl::extent_t i = 0; i < own->size(); ++i) zeros = zeros && own->data()[i] == 0;
    CHECK(zeros);
    own->data()[own->size() - 1] = 1;
    const tl::owned<rows> moved = std::move(own);
    CHECK(moved->data()[moved->size() - 1] == 1);
  }
}

TEST_CASE("owned: what was moved from has no pointers; what was moved has all elements where they were") {
  const auto pointers = [](const auto& own) {
    std::vector<const void*> p;
    tl::for_each_leaf(*own, [&](const auto& leaf) { p.push_back(leaf.data()); });
    return p;
  };
  const std::vector<const void*> none(5, nullptr);
  tl::owned<tree> a(tl::dim<'n'>(4)), b(tl::dim<'n'>(7));
  fill(*a);
  const std::vector<const void*> where = pointers(a);
  const std::vector<double> expected = flat(*a);
  tl::owned<tree> c = std::move(a);
  CHECK(pointers(a) == none);
  CHECK(a->b[0].size() == 0);
  CHECK(pointers(c) == where);
  CHECK(flat(*c) == expected);
  b = std::move(c);
  CHECK(pointers(c) == none);
  CHECK(pointers(b) == where);
  CHECK(b->b[1].size() == 4);
  tl::owned<tree>& same = b;
  b = std::move(same);
  CHECK(pointers(b) == where);
  CHECK(flat(*b) == expected);
  c = std::move(b); // one that was moved from takes another
  CHECK(flat(*c) == expected);
  CHECK(refusal([&] { tl::copy(a, c); }) ==
        "tapeless: copy(from, to): from has a leaf without data (leaf 0)");

  auto run = tl::jit([](auto x) { return x + 1.0f; }).bind<tl::tensor<float, 2, 3>>();
  tl::owned<tl::tensor<float, 2, 3>> x, y = std::move(x);
  CHECK(refusal([&] { run(*x); }) ==
        "tapeless: run: argument 0 has a leaf whose data is null (leaf 0 of it)");
  CHECK(run(*y)[5] == 1);
}

namespace {
template <class T> struct layer {
  tl::tensor<T, 3, 2> w;
  tl::tensor<T, tl::dyn<'n'>> b;
};
struct const_by_itself {
  tl::tensor<const float, 3> w;
  tl::tensor<float, 2> b;
};
} // namespace

TEST_CASE("owned: a tree of const elements owns them, and they are written through the mutable tree") {
  tl::owned<tl::tensor<const float, tl::dyn<'n'>, 3>> x(tl::dim<'n'>(2));
  static_assert(std::is_same_v<decltype(x.mutable_view()), rows>);
  float next = 0;
  for (float& e : x.mutable_view()) e = ++next;
  CHECK(flat(*x) == std::vector<double>{1, 2, 3, 4, 5, 6});
  CHECK(x.mutable_view().extent(0) == 2);

  using deep =
      std::tuple<layer<const float>, std::array<std::pair<layer<const double>, tl::scalar<const bool>>, 2>>;
  tl::owned<deep> t(tl::dim<'n'>(2));
  static_assert(
      std::is_same_v<decltype(t.mutable_view()),
                     std::tuple<layer<float>, std::array<std::pair<layer<double>, tl::scalar<bool>>, 2>>>);
  fill(t.mutable_view());
  CHECK(flat(*t) == flat(t.mutable_view()));
  CHECK(flat(*t)[8] == 4);
  tl::owned<deep> second(tl::dim<'n'>(2));
  tl::copy(t, second); // const for others
  CHECK(flat(*second) == flat(*t));

  tl::owned<const_by_itself> c;
  c.for_each_mutable_leaf([](const auto& leaf) {
    for (float& e : leaf) e = 7;
  });
  CHECK(flat(*c) == std::vector<double>(5, 7));
  auto run = tl::jit([](auto p, auto v) {
               return tl::sum(p.w) + tl::sum(v);
             }).bind<const_by_itself, tl::tensor<const float, tl::dyn<'n'>, 3>>(tl::dim<'n'>(2));
  CHECK(run(*c, *x)[0] == 42);
}

TEST_CASE("copy: every element of every leaf, between trees and owned trees of the same leaves") {
  tl::owned<tree> from(tl::dim<'n'>(4)), to(tl::dim<'n'>(4)), third(tl::dim<'n'>(4));
  fill(*from);
  const std::vector<double> expected = flat(*from);
  REQUIRE(expected.size() == 6 + 8 + 1 + 4);
  tl::copy(from, to);
  CHECK(flat(*to) == expected);
  tl::copy(*to, *third);
  CHECK(flat(*third) == expected);
  CHECK(third->a.data() != to->a.data());
  tl::copy(to, *to); // onto itself
  CHECK(flat(*to) == expected);

  const std::vector<float> read_only{1, 2, 3, 4, 5, 6};
  tl::owned<rows> x(tl::dim<'n'>(2));
  tl::copy(tl::tensor<const float, tl::dyn<'n'>, 3>(read_only.data(), 2), x);
  CHECK(x->operator()(1, 2) == 6);
  tl::owned<rows> empty(tl::dim<'n'>(0));
  CHECK(refusal([&] { tl::copy(rows{}, empty); }) == "");
}

TEST_CASE("copy: any byte but 0 of a bool is true, and is copied as 1") {
  const unsigned char bytes[] = {0, 1, 2, 128, 255};
  const tl::tensor<const bool, 5> from(reinterpret_cast<const bool*>(bytes));
  tl::owned<tl::tensor<bool, 5>> to;
  tl::copy(from, to);
  const auto* const copied = reinterpret_cast<const unsigned char*>(to->data());
  CHECK(std::vector<int>(copied, copied + 5) == std::vector<int>{0, 1, 1, 1, 1});
}

TEST_CASE(
    "copy: other extents, also of as many elements, and null data are refused before anything is written") {
  tl::owned<tree> from(tl::dim<'n'>(4)), to(tl::dim<'n'>(5));
  fill(*from);
  CHECK(refusal([&] { tl::copy(from, to); }) ==
        "tapeless: copy(from, to): to has 5 elements in leaf 1, expected 4");
  for (const double x : flat(*to)) CHECK(x == 0);

  tl::owned<grid> wide(tl::dim<'n'>(2), tl::dim<'m'>(3)), high(tl::dim<'n'>(3), tl::dim<'m'>(2));
  CHECK(refusal([&] { tl::copy(wide, high); }) ==
        "tapeless: copy(from, to): to has the extents [3, 2] in leaf 0, expected [2, 3]");
  const grid null(static_cast<float*>(nullptr), 2, 3);
  CHECK(refusal([&] { tl::copy(null, wide); }) ==
        "tapeless: copy(from, to): from has a leaf without data (leaf 0)");
  CHECK(refusal([&] { tl::copy(wide, null); }) ==
        "tapeless: copy(from, to): to has a leaf without data (leaf 0)");
}
