// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The integer operators at all pairs of corners, in loops of lanes of 32 and of 64 bits, in tensors and in constants.
#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>
#include <reference/integer.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>

namespace tl = tapeless;

namespace {

constexpr std::int32_t least = std::numeric_limits<std::int32_t>::min(),
                       most = std::numeric_limits<std::int32_t>::max();
constexpr std::array<std::int32_t, 31> corners{
    least, least + 1, -1000000007, -65537, -65536, -33,   -32,        -31,      -8,  -7, -3,
    -2,    -1,        0,           1,      2,      3,     5,          7,        8,   30, 31,
    32,    33,        64,          64,     65536,  46341, 1000000007, most - 1, most};
constexpr int n = corners.size();
using column = tl::tensor<std::int32_t, n, 1>;
using row = tl::tensor<std::int32_t, n>;

ref::ints reference_column() {
  return {ref::dims{n, 1}, std::vector<std::int32_t>(corners.begin(), corners.end())};
}
ref::ints reference_row() {
  return {ref::dims{n}, std::vector<std::int32_t>(corners.begin(), corners.end())};
}
template <class Y> bool same(const Y& y, const ref::ints& expected) {
  bool r = true;
  for (int i = 0; i < n * n; ++i) r = r && y[i] == expected.data[static_cast<std::size_t>(i)];
  return r;
}

// z has the lanes of the loop
constexpr auto operators = [](auto x, auto y, auto z) {
  const auto zero = tl::cast<std::int32_t>(z);
  const auto a = x + zero;
  return std::tuple{
      a / y, a % y, a & y, a | y, a ^ y, a << y, a >> y, a == (a / y) * y + a % y, -a - 1 == (a ^ -1)};
};

} // namespace

TEST_CASE_TEMPLATE("integer: each operator is defined for all operands, and x == (x / y) y + x % y", T, float,
                   double) {
  tl::owned<std::tuple<column, row, tl::tensor<T>>> in;
  const auto& [x, y, z] = *in;
  for (int i = 0; i < n; ++i) x[i] = y[i] = corners[static_cast<std::size_t>(i)];
  auto run = tl::jit(operators).template bind<column, row, tl::tensor<T>>();
  const auto [quotient, modulo, both, either, one, left, right, whole, complement] = run(x, y, z);
  const ref::ints a = reference_column(), b = reference_row();
  CHECK(same(quotient, ref::quotient(a, b)));
  CHECK(same(modulo, ref::modulo(a, b)));
  CHECK(same(both, ref::bit_and(a, b)));
  CHECK(same(either, ref::bit_or(a, b)));
  CHECK(same(one, ref::bit_xor(a, b)));
  CHECK(same(left, ref::shift_left(a, b)));
  CHECK(same(right, ref::shift_right(a, b)));
  bool all = true;
  for (int i = 0; i < n * n; ++i) all = all && whole[i];
  for (int i = 0; i < n; ++i) all = all && complement[i];
  CHECK(all);
}

namespace {

// op(x, y) of constants, which are folded while the program is traced
template <class F> constexpr std::array<double, n * n> folded(F f) {
  namespace d = tl::detail;
  std::array<double, n * n> r{};
  for (int i = 0; i < n * n; ++i) {
    d::graph g;
    const auto at = [&](int k) {
      return tl::var{&g, g.constant(corners[static_cast<std::size_t>(k)], tl::dtype::i32)};
    };
    const tl::var y = f(at(i / n), at(i % n));
    r[static_cast<std::size_t>(i)] =
        g.is_constant(y.id()) && y.type() == tl::dtype::i32 ? g.value(y.id()) : 0.5;
  }
  return r;
}
bool same(const std::array<double, n * n>& y, const ref::ints& expected) {
  bool r = true;
  for (std::size_t i = 0; i < n * n; ++i) r = r && y[i] == expected.data[i];
  return r;
}

} // namespace

TEST_CASE("integer: constants are folded to what the kernels compute") {
  const ref::ints a = reference_column(), b = reference_row();
  CHECK(same(folded([](auto x, auto y) { return x / y; }), ref::quotient(a, b)));
  CHECK(same(folded([](auto x, auto y) { return x % y; }), ref::modulo(a, b)));
  CHECK(same(folded([](auto x, auto y) { return x & y; }), ref::bit_and(a, b)));
  CHECK(same(folded([](auto x, auto y) { return x | y; }), ref::bit_or(a, b)));
  CHECK(same(folded([](auto x, auto y) { return x ^ y; }), ref::bit_xor(a, b)));
  CHECK(same(folded([](auto x, auto y) { return x << y; }), ref::shift_left(a, b)));
  CHECK(same(folded([](auto x, auto y) { return x >> y; }), ref::shift_right(a, b)));
  const auto wraps = [](auto f) { return ref::zip_ints(reference_column(), reference_row(), f); };
  CHECK(same(folded([](auto x, auto y) { return x + y; }), wraps([](auto x, auto y) { return x + y; })));
  CHECK(same(folded([](auto x, auto y) { return x - y; }), wraps([](auto x, auto y) { return x - y; })));
  CHECK(same(folded([](auto x, auto y) { return x * y; }), wraps([](auto x, auto y) { return x * y; })));
  CHECK(same(folded([](auto x, auto) { return -x; }), wraps([](auto x, auto) { return -x; })));
  CHECK(same(folded([](auto x, auto) { return square(x); }), wraps([](auto x, auto) { return x * x; })));
}

TEST_CASE("integer: numbers are operands, and a op= b is a = a op b") {
  tl::owned<row> x;
  for (int i = 0; i < n; ++i) (*x)[i] = corners[static_cast<std::size_t>(i)];
  auto run = tl::jit([](auto a) {
               auto s = a; // xorshift
               s ^= s << 13;
               s ^= (s >> 17) & 0x7fff;
               s ^= s << 5;
               auto t = a;
               t /= 3;
               t %= 5;
               t |= 64;
               t &= 127;
               t <<= 2;
               t >>= 1;
               return std::tuple{s, t, 7 % a, 100 / a, 1 << a};
             }).bind<row>();
  const auto [s, t, rest, quotient, power] = run(*x);
  for (int i = 0; i < n; ++i) {
    const std::int32_t a = corners[static_cast<std::size_t>(i)];
    auto u = static_cast<std::uint32_t>(a);
    u ^= u << 13;
    u ^= u >> 17;
    u ^= u << 5;
    CHECK(s[i] == static_cast<std::int32_t>(u));
    CHECK(t[i] == ((((a / 3) % 5) | 64) & 127) * 2);
    CHECK(rest[i] == (a == 0 ? 7 : 7 % a));
    CHECK(quotient[i] == (a == 0 ? 0 : 100 / a));
    CHECK(power[i] == (a < 0 || a > 31 ? 0 : static_cast<std::int32_t>(1u << a)));
  }
}
