// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <tapeless/core/tree.hpp>

#include <array>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "support/refusal.hpp"

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
TEST_CASE("tensor: a view of elements that know how many they are has as many, or is refused") {
  using rows = tensor<float, dyn<'n'>, 3>;
  std::vector<float> v(24);
  std::array<float, 6> a{};
  float c[9] = {};
  const std::vector<float> read_only(24);
  CHECK(rows(v, 8).data() == v.data());
  CHECK(rows(a, 2).data() == a.data());
  CHECK(rows(c, 3).data() == c);
  CHECK(rows(std::span<float>(c, 6), 2).data() == c);
  CHECK(tensor<float, 24>(v).data() == v.data());
  CHECK(tensor<float, 3, 3>(c).data() == c);
  CHECK(tensor<const float, dyn<'n'>, 3>(read_only, 8).data() == read_only.data());
  CHECK(tensor<const float, 24>(v).data() == v.data());
  CHECK(tensor<const float, 2>(std::span<const float>(v).first(2)).data() == v.data());
  std::vector<float> none;
  CHECK(rows(none, 0).size() == 0);
  constexpr extent_t most = std::numeric_limits<extent_t>::max();
  const auto refused = [&](auto make) {
    const std::string text = support::refusal(make);
    return text.starts_with("tapeless: tensor<T, extents...>(elements, n...): ") ? text.substr(49) : text;
  };
  CHECK(refused([&] { rows(v, 80000); }) == "24 elements, but the extents have 240000");
  CHECK(refused([&] { rows(v, 7); }) == "24 elements, but the extents have 21");
  CHECK(refused([&] { rows(a, 8); }) == "6 elements, but the extents have 24");
  CHECK(refused([&] { rows(c, 8); }) == "9 elements, but the extents have 24");
  CHECK(refused([&] { rows(std::span<float>(v).first(3), 8); }) == "3 elements, but the extents have 24");
  CHECK(refused([&] { tensor<float, 25>{v}; }) == "24 elements, but the extents have 25");
  CHECK(refused([&] { scalar<float>{v}; }) == "24 elements, but the extents have 1");
  const char* const odd = "24 elements for extents that overflow or are negative";
  CHECK(refused([&] { rows(v, -8); }) == odd);
  CHECK(refused([&] { rows(v, most); }) == odd);
  CHECK(refused([&] { tensor<float, dyn<'n'>, dyn<'m'>>(v, -4, -6); }) == odd);
  CHECK(refused([&] { tensor<float, dyn<'n'>, dyn<'m'>>(v, most, most); }) == odd);
  CHECK(refused([&] { rows(none, 1); }) == "0 elements, but the extents have 3");
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
