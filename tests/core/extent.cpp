// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <tapeless/core/shape.hpp>

#include <type_traits>

using namespace tapeless;
using namespace tapeless::detail;

namespace {

constexpr extent_t n = dyn<'n'>, m = dyn<'m'>;

constexpr name_values values() {
  name_values v;
  v.add('n');
  v.add('m');
  v.value[0] = 5;
  v.value[1] = 7;
  return v;
}

constexpr bool products_evaluate_to_products() {
  const name_values v = values();
  for (const extent_t x : {extent_t{0}, extent_t{1}, extent_t{6}, n, m, times(4, n)})
    for (const extent_t y : {extent_t{0}, extent_t{1}, extent_t{3}, n, m, times(2, m)})
      if (multipliable(x, y) && eval(times(x, y), v) != eval(x, v) * eval(y, v)) return false;
  return true;
}

template <class F>
concept is_constant = requires { typename std::integral_constant<extent_t, F{}()>; };

} // namespace

TEST_CASE("extent: a static extent is the plain number") {
  static_assert(is_static(64) && coefficient(64) == 64 && degree(64) == 0);
  static_assert(!is_static(n) && names_of(shape_of<n>).name[0] == 'n' && degree(n) == 1);
  CHECK(eval(64, name_values{}) == 64);
}
TEST_CASE("extent: eval(times(x, y)) == eval(x) * eval(y), and the order of the factors does not matter") {
  static_assert(products_evaluate_to_products());
  static_assert(times(n, m) == times(m, n));
  CHECK(products_evaluate_to_products());
}
TEST_CASE("extent: a product holds up to four names, in order, each as often as it occurs") {
  constexpr extent_t k = dyn<'k'>, A = dyn<'A'>;
  constexpr extent_t e = times(times(n, times(3, n)), times(A, k));
  static_assert(coefficient(e) == 3 && degree(e) == 4 && !multipliable(e, n));
  static_assert(names_of(shape_of<e>).count == 3 && names_of(shape_of<e>).name[0] == 'A' &&
                names_of(shape_of<e>).name[1] == 'k' && names_of(shape_of<e>).name[2] == 'n');
  name_values v = values();
  v.add('k');
  v.add('A');
  v.value[2] = 11;
  v.value[3] = 13;
  CHECK(eval(e, v) == 3 * 5 * 5 * 11 * 13);
}
TEST_CASE("extent: a name without a value is a compile error, not 1") {
  const auto known = [] { return eval(times(n, m), values()); };
  const auto unknown = [] { return eval(times(n, dyn<'k'>), values()); };
  const auto unwritten = [] { return values().of(name_of(names(unwritten_extent(0)))); };
  static_assert(is_constant<decltype(known)>);
  static_assert(!is_constant<decltype(unknown)> && !is_constant<decltype(unwritten)>);
  CHECK(known() == 35);
}
TEST_CASE("extent: extent_product has the extents of its factors") {
  static_assert(extent_product<> == 1 && extent_product<7> == 7 && extent_product<n> == n);
  static_assert(extent_product<3, 8> == 24 && extent_product<0, n> == 0);
  static_assert(eval(extent_product<24, n, m, n>, values()) == extent_t{24} * 5 * 7 * 5);
  static_assert(!have_a_product<n, n, n, n, n> && !have_a_product<(extent_t{1} << 39)> &&
                !have_a_product<-1>);
  static_assert(!have_a_product<(extent_t{1} << 38), 2> && have_a_product<(extent_t{1} << 38)>);
  static_assert(!have_a_product<24 * n> && !have_a_product<24 * dyn<'b'>> && have_a_product<times(n, m), 3>);
}
TEST_CASE("names: a product without a coefficient holds more than four") {
  constexpr extent_t four = names(times(times(n, n), times(m, m))),
                     five = names_product(four, names(dyn<'k'>));
  static_assert(degree_of(five) == 5);
  CHECK(degree_of(names_product(five, five)) == max_degree);
}
TEST_CASE("extent: every letter is a name of its own") {
  for (char c = 'A'; c <= 'z'; ++c)
    if (c <= 'Z' || c >= 'a') CHECK(name_of(name_code(c)) == c);
}
TEST_CASE("shape: more than 2^39 elements or four names are not representable") {
  static_assert(numel_representable(shape_of<(1 << 19), (1 << 19)>));
  static_assert(!numel_representable(shape_of<(1 << 20), (1 << 19)>));
  static_assert(numel_representable(shape_of<n, n, m, m>) &&
                !numel_representable(shape_of<n, n, m, times(m, m)>));
  CHECK(numel_representable(shape_of<0, n>));
}
TEST_CASE("names: at most twelve in a program, and the next is refused") {
  name_values v;
  for (const char c : {'a', 'b', 'c', 'd', 'e', '#', '$', 'h', 'j', 'k', 'l', 'm'}) CHECK(v.add(c) >= 0);
  CHECK(v.add('a') == 0);
  CHECK(v.find('#') == 5);
  CHECK(v.add('i') == -1);
}
TEST_CASE("names: those that users do not write are others than theirs") {
  for (int i = 0; i < 11; ++i) {
    const char name = name_of(names(unwritten_extent(i)));
    CHECK(coefficient(unwritten_extent(i)) == 1);
    for (int k = 0; k < i; ++k) CHECK(name != name_of(names(unwritten_extent(k))));
    for (char c = 'A'; c <= 'Z'; ++c) CHECK(name != c);
    for (char c = 'a'; c <= 'z'; ++c) CHECK(name != c);
  }
}
TEST_CASE("shape: broadcast is NumPy's, aligned at the last axis") {
  static_assert(broadcast(shape_of<3, 1>, shape_of<4>) == shape_of<3, 4>);
  static_assert(broadcast(shape_of<>, shape_of<2, 5>) == shape_of<2, 5>);
  static_assert(broadcast(shape_of<n, 1>, shape_of<1, 7>) == shape_of<n, 7>);
  static_assert(!broadcastable(shape_of<3, 4>, shape_of<3>));
  static_assert(!broadcastable(shape_of<n>, shape_of<m>));
  CHECK(broadcast(shape_of<8, 1, 6, 1>, shape_of<7, 1, 5>) == shape_of<8, 7, 6, 5>);
}
TEST_CASE("shape: numel is the product, keepdims sets axes to 1, dropped removes them") {
  static_assert(numel(shape_of<2, 3, 4>) == 24 && numel(shape_of<>) == 1 && numel(shape_of<0, 3>) == 0);
  static_assert(numel(shape_of<n, 8>) == times(8, n));
  static_assert(keepdims(shape_of<2, 3, 4>, 0b101) == shape_of<1, 3, 1>);
  static_assert(dropped(shape_of<2, 3, 4>, 0b101) == shape_of<3>);
  CHECK(dropped(shape_of<2, 3>, 0b11) == shape_of<>);
}
