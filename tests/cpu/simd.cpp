// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/cpu/base/simd.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <limits>
#include <vector>

using namespace tapeless::cpu;

namespace {

// n values in an allocation of exactly n elements: a sanitizer sees every read or write beyond
template <class T> std::vector<T> values(index_t n, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> draw(-1000, 1000);
  std::vector<T> v(static_cast<std::size_t>(n));
  for (T& x : v) x = static_cast<T>(draw(random)) / static_cast<T>(std::is_floating_point_v<T> ? 8 : 1);
  v.shrink_to_fit();
  return v;
}

template <class V> std::vector<typename V::value_type> lanes_of(const V& v) {
  std::vector<typename V::value_type> out(V::size);
  v.store_unaligned(out.data());
  return out;
}

template <class M> std::vector<int> truth(const M& m) {
  std::vector<int> out(M::size);
  for (std::size_t i = 0; i < M::size; ++i) out[i] = m.get(i);
  return out;
}

constexpr std::uint8_t pattern[] = {1, 0, 0, 1, 1, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0};

} // namespace

TEST_CASE_TEMPLATE("simd: a partial load reads the first n lanes and zeroes the rest", T, float, double,
                   std::int32_t, std::int64_t) {
  using V = simd<T>;
  for (index_t n = 0; n <= width<T>; ++n) {
    const auto p = values<T>(n);
    const auto v = lanes_of(load_n<V>(p.data(), n));
    for (index_t i = 0; i < width<T>; ++i) CHECK(v[i] == (i < n ? p[i] : T(0)));
  }
  const auto p = values<T>(width<T>);
  CHECK(lanes_of(load<V>(p.data())) == p);
}

TEST_CASE_TEMPLATE("simd: a partial store writes the first n lanes and nothing else", T, float, double,
                   std::int32_t, std::int64_t) {
  const auto p = values<T>(width<T>);
  for (index_t n = 0; n <= width<T>; ++n) {
    std::vector<T> q(width<T>, T(77));
    store_n(q.data(), load<simd<T>>(p.data()), n);
    for (index_t i = 0; i < width<T>; ++i) CHECK(q[i] == (i < n ? p[i] : T(77)));
    std::vector<T> exact(static_cast<std::size_t>(n));
    store_n(exact.data(), load<simd<T>>(p.data()), n);
    CHECK(std::equal(exact.begin(), exact.end(), p.begin()));
  }
  std::vector<T> q(width<T>);
  store(q.data(), load<simd<T>>(p.data()));
  CHECK(q == p);
}

TEST_CASE_TEMPLATE("simd: first lanes are read and written, and nothing else", T, float, double) {
  using V = simd<T>;
  for (index_t n = 0; n <= width<T>; ++n) {
    const auto p = values<T>(n);
    const first_lanes<V> lanes(n);
    const auto v = lanes_of(lanes.load(p.data()));
    for (index_t i = 0; i < width<T>; ++i) CHECK(v[i] == (i < n ? p[i] : T(0)));
    std::vector<T> q(width<T>, T(77));
    lanes.store(q.data(), V(T(5)));
    for (index_t i = 0; i < width<T>; ++i) CHECK(q[i] == (i < n ? T(5) : T(77)));
  }
}

TEST_CASE_TEMPLATE("simd: strided loads take the named elements", T, float, double) {
  using V = simd<T>;
  for (index_t stride : {index_t(1), index_t(2), index_t(7)}) {
    for (index_t n = 0; n <= width<T>; ++n) {
      const auto p = values<T>(n == 0 ? 0 : (n - 1) * stride + 1);
      const auto v = lanes_of(load_strided_n<V>(p.data(), stride, n));
      for (index_t i = 0; i < width<T>; ++i) CHECK(v[i] == (i < n ? p[i * stride] : T(0)));
    }
    const auto p = values<T>((width<T> - 1) * stride + 1);
    const auto v = lanes_of(load_strided<V>(p.data(), stride));
    for (index_t i = 0; i < width<T>; ++i) CHECK(v[i] == p[i * stride]);
  }
}

TEST_CASE_TEMPLATE("simd: the horizontal sum agrees with a loop", T, float, double, std::int32_t) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const auto p = values<T>(width<T>, seed);
    const simd<T> v = load<simd<T>>(p.data());
    T sum = 0; // multiples of 1/8 below 2^14: exact in any order
    for (T x : p) sum += x;
    CHECK(hsum(v) == sum);
  }
}

TEST_CASE_TEMPLATE("simd: hsum_each puts the sum of vector i into lane i", T, float, double) {
  const auto p = values<T>(width<T> * width<T>);
  simd<T> v[width<T>];
  for (int i = 0; i < width<T>; ++i) v[i] = load<simd<T>>(p.data() + i * width<T>);
  const auto sums = lanes_of(hsum_each(v));
  for (int i = 0; i < width<T>; ++i)
    CHECK(sums[i] == std::accumulate(&p[i * width<T>], &p[i * width<T>] + width<T>, T(0)));
}

TEST_CASE_TEMPLATE("simd: iota counts lanes and lane_mask marks the first n", T, float, double, std::int32_t,
                   std::int64_t) {
  const auto v = lanes_of(iota<simd<T>>());
  for (int i = 0; i < width<T>; ++i) CHECK(v[i] == T(i));
  for (index_t n = 0; n <= width<T>; ++n) {
    const auto m = truth(lane_mask<simd<T>>(n));
    for (index_t i = 0; i < width<T>; ++i) CHECK(m[i] == (i < n));
  }
}

TEST_CASE_TEMPLATE("simd: fma, select and opaque work lane by lane", T, float, double) {
  using V = simd<T>;
  const auto p = values<T>(width<T>, 2), q = values<T>(width<T>, 3), r = values<T>(width<T>, 4);
  V a = load<V>(p.data()), b = load<V>(q.data()), c = load<V>(r.data());
  opaque(a);
  const auto f = lanes_of(fma(a, b, c)), s = lanes_of(select(a < b, b, c));
  for (int i = 0; i < width<T>; ++i) {
    CHECK(f[i] == p[i] * q[i] + r[i]); // multiples of 1/64 below 2^14: exact with one rounding or two
    CHECK(s[i] == (p[i] < q[i] ? q[i] : r[i]));
  }
  CHECK(lanes_of(a) == p);
}

TEST_CASE_TEMPLATE("simd: fma of lanes is rounded as that of scalars", T, float, double) {
  volatile T one = 1; // unknown to the compiler, which may fuse what it computes itself
  const T a = one + std::numeric_limits<T>::epsilon(), c = -(1 + 2 * std::numeric_limits<T>::epsilon());
  const auto y = lanes_of(fma(simd<T>(a), simd<T>(a), simd<T>(c)));
  for (const T lane : y) CHECK(lane == fma_scalar(a, a, c));
}

TEST_CASE_TEMPLATE("simd: of a NaN and a number, max and min give the second one or the NaN", T, float,
                   double) {
  const T nan = std::numeric_limits<T>::quiet_NaN();
  for (const T x : lanes_of(max_or_second(simd<T>(T(1)), simd<T>(nan)))) CHECK(x != x);
  for (const T x : lanes_of(min_or_second(simd<T>(T(1)), simd<T>(nan)))) CHECK(x != x);
  for (const T x : lanes_of(max_or_second(simd<T>(nan), simd<T>(T(1))))) CHECK((x == 1 || x != x));
  for (const T x : lanes_of(min_or_second(simd<T>(nan), simd<T>(T(1))))) CHECK((x == 1 || x != x));
  for (const T x : lanes_of(max_or_second(simd<T>(T(2)), simd<T>(T(1))))) CHECK(x == 2);
  for (const T x : lanes_of(min_or_second(simd<T>(T(2)), simd<T>(T(1))))) CHECK(x == 1);
}

TEST_CASE_TEMPLATE("simd: 32-bit integers of memory travel through lanes unchanged", T, float, double) {
  using V = simd<T>;
  using I = typename int_of<V>::value_type;
  static_assert(int_of<V>::size == V::size);
  for (index_t n = 0; n <= width<T>; ++n) {
    auto p = values<std::int32_t>(n);
    if (n > 0) p[0] = INT32_MIN;
    if (n > 1) p[1] = INT32_MAX;
    const int_of<V> v = load_int_n<V>(p.data(), n);
    for (index_t i = 0; i < width<T>; ++i) CHECK(lanes_of(v)[i] == I(i < n ? p[i] : 0));
    std::vector<std::int32_t> exact(static_cast<std::size_t>(n));
    store_int_n(exact.data(), v, n);
    CHECK(exact == p);
    if (n == width<T>) {
      CHECK(lanes_of(load_int<V>(p.data())) == lanes_of(v));
      store_int(exact.data(), load_int<V>(p.data()));
      CHECK(exact == p);
    }
  }
}

TEST_CASE_TEMPLATE("simd: conversion between integers and floats truncates toward zero", T, float, double) {
  using V = simd<T>;
  const auto p = values<std::int32_t>(width<T>);
  const auto f = lanes_of(int_to_float<V>(load_int<V>(p.data())));
  for (int i = 0; i < width<T>; ++i) CHECK(f[i] == T(p[i]));
  auto q = values<T>(width<T>, 5);
  q[0] = T(-2.75);
  q[1] = T(2.75);
  const auto g = lanes_of(float_to_int(load<V>(q.data())));
  for (int i = 0; i < width<T>; ++i) CHECK(g[i] == static_cast<std::int32_t>(q[i]));
}

TEST_CASE_TEMPLATE("simd: masks round-trip through bools and through integer lanes", T, float, double) {
  using V = simd<T>;
  using I = typename int_of<V>::value_type;
  for (index_t n = 0; n <= width<T>; ++n) {
    std::vector<std::uint8_t> p(pattern, pattern + n);
    p.shrink_to_fit();
    const std::uint8_t* const flags = p.data();
    const mask_of<V> m = load_bool_n<V>(flags, n);
    for (index_t i = 0; i < width<T>; ++i) CHECK(truth(m)[i] == (i < n ? p[i] : 0));
    std::vector<std::uint8_t> others = p; // any byte but 0 is true
    for (index_t i = 0; i < n; ++i)
      others[static_cast<std::size_t>(i)] =
          static_cast<std::uint8_t>(p[static_cast<std::size_t>(i)] * (255 - 9 * i));
    CHECK(truth(load_bool_n<V>(others.data(), n)) == truth(m));
    if (n == width<T>) CHECK(truth(load_bool<V>(others.data())) == truth(m));
    std::vector<std::uint8_t> q(static_cast<std::size_t>(n), 9);
    store_bool_n(reinterpret_cast<bool*>(q.data()), m, n);
    CHECK(q == p);
    CHECK(truth(mask_cast<T>(mask_cast<I>(m))) == truth(m));
    CHECK(truth(mask_cast<I>(m)) == truth(m));
    if (n == width<T>) {
      CHECK(truth(load_bool<V>(flags)) == truth(m));
      std::fill(q.begin(), q.end(), std::uint8_t(9));
      store_bool(reinterpret_cast<bool*>(q.data()), m);
      CHECK(q == p);
      store_bool(reinterpret_cast<bool*>(q.data()), mask_cast<I>(m));
      CHECK(q == p);
    }
  }
}

TEST_CASE_TEMPLATE("simd: select takes whole integers, lane by lane", T, float, double) {
  using V = simd<T>;
  using I = int_of<V>;
  using number = typename I::value_type;
  for (index_t n = 0; n <= width<T>; ++n) {
    const mask_of<V> m = load_bool_n<V>(pattern, n);
    // bits of a NaN, of -0 and of a subnormal number of as many bytes
    const I a(std::numeric_limits<number>::max()), b = iota<I>() + I(std::numeric_limits<number>::min());
    alignas(64) number chosen[width<T>];
    select(mask_cast<number>(m), a, b).store_aligned(chosen);
    for (index_t i = 0; i < width<T>; ++i)
      CHECK(chosen[i] == (i < n && pattern[i] != 0
                              ? std::numeric_limits<number>::max()
                              : std::numeric_limits<number>::min() + static_cast<number>(i)));
  }
}

TEST_CASE("simd: unroll visits 0 .. N - 1 in order") {
  int next = 0;
  unroll<5>([&](auto i) { CHECK(i == next++); });
  CHECK(next == 5);
}
