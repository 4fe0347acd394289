// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <tapeless/core/tree.hpp>
#include <vector>

using namespace tapeless;
using namespace tapeless::detail;

namespace {

using leaf = tensor<float, 3>;
struct pair_of_leaves {
  leaf a;
  tensor<double> b;
};
struct nested {
  leaf first;
  std::array<pair_of_leaves, 2> middle;
  std::tuple<leaf, pair_of_leaves> tuple;
  struct {
    leaf inside;
  } last;
};
struct of_32 {
  leaf a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1, c2, c3, c4, c5,
      c6, c7, c8, c9, d0, d1;
};

constexpr int chosen(double) { return 1; }
template <class X>
  requires is_tensor_v<X>
constexpr int chosen(const X&) {
  return 2;
}

} // namespace

TEST_CASE("tree: an aggregate's members are counted, also where they are aggregates and arrays") {
  static_assert(member_count<pair_of_leaves> == 2);
  static_assert(member_count<nested> == 4);
  static_assert(member_count<of_32> == 32);
  CHECK(count_leaves<nested>() == 1 + 4 + 3 + 1);
  CHECK(count_leaves<of_32>() == 32);
}
TEST_CASE("tree: leaves are visited in declaration order") {
  std::vector<float> data(64);
  nested x;
  x.first = leaf(data.data());
  x.middle[1].a = leaf(data.data() + 3);
  std::get<1>(x.tuple).a = leaf(data.data() + 6);
  x.last.inside = leaf(data.data() + 9);
  std::vector<const void*> seen;
  for_each_leaf(x, [&](const auto& l) { seen.push_back(l.data()); });
  const std::vector<const void*> expected{&data[0], nullptr,  nullptr, &data[3], nullptr,
                                          nullptr,  &data[6], nullptr, &data[9]};
  CHECK(seen == expected);
}
TEST_CASE("tree: a leaf that is changed is changed in the tree") {
  std::vector<float> data(3);
  pair_of_leaves x;
  for_each_leaf(x, [&](auto& l) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(l)>, leaf>) l = leaf(data.data());
  });
  CHECK(x.a.data() == data.data());
  CHECK(x.b.data() == nullptr);
}
TEST_CASE("tensor: a view indexes row-major and knows its named extents") {
  std::vector<double> data{0, 1, 2, 3, 4, 5};
  const tensor<double, dyn<'n'>, 3> x(data.data(), 2);
  CHECK(x.size() == 6);
  CHECK(x.extent(0) == 2);
  CHECK(x(1, 2) == 5);
  CHECK(x[3] == 3);
  const tensor<const double, dyn<'n'>, 3> y = x;
  CHECK(y(0, 1) == 1);
  CHECK(y.extent(0) == 2);
}
TEST_CASE(
    "tensor: the conversions that only refuse neither win over an overload for tensors nor take space") {
  static_assert(requires(leaf x) { chosen(x); });
  CHECK((chosen(leaf{}) == 2 && chosen(1.0) == 1));
  static_assert(std::is_convertible_v<leaf, double>); // asking is no error, doing is: tests/fail
  static_assert(!std::is_convertible_v<leaf, bool*> && !std::is_convertible_v<double, leaf>);
  static_assert(std::is_trivially_copyable_v<leaf> && std::is_standard_layout_v<leaf>);
  static_assert(sizeof(pair_of_leaves) == sizeof(leaf) + sizeof(tensor<double>));
}
