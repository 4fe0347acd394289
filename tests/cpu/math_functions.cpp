// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The functions of cpu/base/math/ over numbers of every exponent and where they bend, of each width that the machine has: against
// the C library in the next larger type.
#include <tapeless/ops/all.hpp>

#include "cpu/math_functions.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace cpu = tapeless::cpu;
using reference::bits_of;
using reference::error_in_ulp;
using reference::wider;

namespace {

#if defined(__AVX512F__)
#define WIDTHS(T) cpu::simd<T>, xsimd::batch<T, xsimd::fma3<xsimd::avx2>>
#else
#define WIDTHS(T) cpu::simd<T>
#endif

template <class T> std::vector<T> special_values() {
  using limits = std::numeric_limits<T>;
  std::vector<T> x;
  for (const T y : {T(0),
                    T(1),
                    T(0.5),
                    T(1.5),
                    T(2.5),
                    T(2),
                    T(3),
                    T(10),
                    T(1000),
                    limits::infinity(),
                    limits::max(),
                    limits::min(),
                    limits::denorm_min(),
                    limits::min() / 1024,
                    limits::epsilon(),
                    T(1e22),
                    T(1e30),
                    std::nextafter(T(1), T(0)),
                    std::nextafter(T(1), T(2)),
                    std::nextafter(T(0.5), T(0)),
                    T(88.722839),
                    T(89.41598),
                    T(-103.97),
                    T(709.782712893384),
                    T(710.4758600739439),
                    T(744.44),
                    T(127.99999),
                    T(149),
                    T(150),
                    T(1023.9999999999999),
                    T(1074),
                    T(1075),
                    limits::quiet_NaN()})
    x.insert(x.end(), {y, -y});
  return x;
}

// Bit patterns at an odd step, numbers near 0 and 1, neighbours of multiples of pi / 2 and of ln 2 / 2
template <class T> std::vector<T> samples() {
  using bits = bits_of<T>;
  std::vector<T> x = special_values<T>();
  const bits step = sizeof(T) == 4 ? bits(39983) : static_cast<bits>(184467440737095553ULL);
  bits b = 0;
  do x.push_back(std::bit_cast<T>(b));
  while ((b += step) >= step);
  for (int k = -30'000; k <= 30'000; ++k) {
    x.push_back(static_cast<T>(k) * T(0x1.8p-12) + T(0x1p-30));
    x.push_back(T(1) + static_cast<T>(k) * T(0x1p-17));
    x.push_back(static_cast<T>(k) * T(0.0371));
  }
  for (int k = -2'000; k <= 2'000; ++k)
    for (const double c : {1.5707963267948966, 1.5707963267948966 * 64, 0.34657359027997264})
      for (int e = -1; e <= 1; ++e)
        x.push_back(std::bit_cast<T>(
            static_cast<bits>(std::bit_cast<bits>(static_cast<T>(k * c)) + static_cast<bits>(e))));
  while (x.size() % 64 != 0) x.push_back(T(1));
  return x;
}

template <class V, class F> auto lanes(F f, const typename V::value_type* x) {
  alignas(64) std::array<typename V::value_type, V::size> y;
  f(V::load_unaligned(x)).store_aligned(y.data());
  return y;
}
template <class V, class F> typename V::value_type of_one(F f, typename V::value_type x) {
  alignas(64) std::array<typename V::value_type, V::size> y;
  f(V(x)).store_aligned(y.data());
  return y[0];
}

} // namespace

TEST_CASE_TEMPLATE("functions are within their bounds over numbers of every exponent", V, WIDTHS(float),
                   WIDTHS(double)) {
  using T = typename V::value_type;
  const std::vector<T> x = samples<T>();
  reference::each_function<V>([&](const char* name, auto f, auto exact, double bound) {
    double largest = 0;
    T at = 0;
    for (std::size_t i = 0; i < x.size(); i += V::size) {
      const auto y = lanes<V>(f, &x[i]);
      for (std::size_t k = 0; k < y.size(); ++k) {
        const double e = error_in_ulp<T>(y[k], exact(static_cast<wider<T>>(x[i + k])));
        if (e > largest) largest = e, at = x[i + k];
      }
    }
    CAPTURE(std::string(name));
    CAPTURE(at);
    CHECK(largest <= bound);
  });
}

TEST_CASE("each function of one operand in the rule table has a bound") {
  std::vector<std::string> bounded;
  reference::each_function<cpu::simd<float>>(
      [&](const char* name, auto, auto, double) { bounded.emplace_back(name); });
  reference::each_function_of_gamma<cpu::simd<float>>(
      [&](const char* name, auto, auto, double, double) { bounded.emplace_back(name); });
  for (const auto& r : tapeless::detail::function_rules)
    if (!takes_two(r.o))
      CHECK_MESSAGE(std::count(bounded.begin(), bounded.end(), r.name) == 1, std::string(r.name));
}

// In one loop, for g++ contracts products and sums as it sees fit, place by place.
TEST_CASE_TEMPLATE("a lane does not depend on the others", V, WIDTHS(float), WIDTHS(double)) {
  using T = typename V::value_type;
  const std::vector<T> x = special_values<T>();
  reference::each_function<V>([&](const char* name, auto f, auto, double) {
    CAPTURE(std::string(name));
    for (std::size_t i = 0; i + V::size <= x.size(); ++i) {
      std::vector<T> y(&x[i], &x[i] + V::size); // then each of them in all lanes
      for (std::size_t k = 0; k < V::size; ++k) y.insert(y.end(), V::size, x[i + k]);
      for (std::size_t at = 0; at < y.size(); at += V::size)
        f(V::load_unaligned(&y[at])).store_unaligned(&y[at]);
      for (std::size_t k = 0; k < V::size; ++k) {
        const T alone = y[(1 + k) * V::size];
        CHECK((std::bit_cast<bits_of<T>>(y[k]) == std::bit_cast<bits_of<T>>(alone) ||
               (std::isnan(y[k]) && std::isnan(alone))));
      }
    }
  });
}

TEST_CASE_TEMPLATE("lgamma and digamma are within their bounds, relative where they are above 1", V,
                   WIDTHS(float), WIDTHS(double)) {
  using T = typename V::value_type;
  using W = wider<T>;
  std::vector<T> x{T(0), T(-0.0), T(-1), T(-2), T(-1e30)};
  for (int k = 1; k < 12'000; ++k) {
    x.push_back(static_cast<T>(k) * T(0.00137));
    x.push_back(-static_cast<T>(k) * T(0.00137));
    x.push_back(std::ldexp(T(1) + static_cast<T>(k) * T(0x1p-14), k % 120 - 90));
    x.push_back(-std::ldexp(T(1) + static_cast<T>(k) * T(0x1p-14), k % 96 - 90));
    x.push_back(T(1.5) + static_cast<T>(k) * T(0x1p-15));
    x.push_back(T(1) + static_cast<T>(k - 6000) * T(0x1p-18));
    x.push_back(T(5.5) + static_cast<T>(k) * T(0x1.fp-14));
  }
  while (x.size() % 64 != 0) x.push_back(T(1));
  reference::each_function_of_gamma<V>([&](const char* name, auto f, auto exact, double bound,
                                           double bound_below) {
    CAPTURE(std::string(name));
    double largest = 0, below = 0;
    T at = 0, at_below = 0;
    bool special = true;
    for (std::size_t i = 0; i < x.size(); i += V::size) {
      const auto y = lanes<V>(f, &x[i]);
      for (std::size_t k = 0; k < y.size(); ++k) {
        const W e = exact(static_cast<W>(x[i + k]));
        special = special && (std::isnan(e) ? std::isnan(y[k]) : !std::isinf(e) || y[k] == static_cast<T>(e));
        if (!std::isfinite(e)) continue;
        // of a reflected x: what lgamma(-x) is beside 1
        const W size =
            std::max(std::max(W(1), std::abs(e)),
                     bound_below == 0 && x[i + k] < 0 ? std::lgamma(-static_cast<W>(x[i + k])) : W(0));
        const double error = static_cast<double>(std::abs(static_cast<W>(y[k]) - e) / size /
                                                 std::numeric_limits<T>::epsilon());
        if (x[i + k] < 0 && error > below) below = error, at_below = x[i + k];
        if (!(x[i + k] < 0) && error > largest) largest = error, at = x[i + k];
      }
    }
    CAPTURE(at);
    CAPTURE(at_below);
    CHECK(special);
    CHECK(largest <= bound);
    CHECK(below <= (bound_below == 0 ? bound : bound_below));
    const T values[] = {T(0.3), T(-0.3), T(2.7),  T(-2.7),
                        T(1e9), T(-3),   T(-0.0), std::numeric_limits<T>::infinity()};
    for (const T one : values)
      for (const T other : values) { // a lane does not depend on the others
        std::vector<T> mixed(V::size, other);
        mixed[0] = one;
        const T y = lanes<V>(f, mixed.data())[0], alone = of_one<V>(f, one);
        CHECK((y == alone || (std::isnan(y) && std::isnan(alone))));
      }
  });
}

// digamma right of 0 beside its root: Taylor's series there
long double digamma_beside_root(long double x) {
  constexpr long double root = 0x1.762d86356be3fp+0L, root_low = 0x1.b86a722197829p-54L;
  const long double distance = (x - root) - root_low;
  long double sum = 0, term = 1;
  for (int k = 1; k <= 14; ++k) {
    term *= distance / k;
    sum += ref::polygamma(k, root + root_low) * term;
  }
  return sum;
}
TEST_CASE_TEMPLATE("beside the roots right of 0 lgamma and digamma are within 5 units in the last place", V,
                   WIDTHS(float), WIDTHS(double)) {
  using T = typename V::value_type;
  using W = wider<T>;
  double largest[2] = {};
  for (int k = 0; k < 2000; ++k) {
    const T d =
        std::ldexp(T(1) + static_cast<T>(k) * T(0x1.0p-11), -6 - k % 42) * (k % 2 == 0 ? T(1) : T(-1));
    const auto lgamma = [](V v) { return cpu::lgamma(v); };
    const auto digamma = [](V v) { return cpu::digamma(v); };
    for (const T x : {T(1) + d, T(2) + d})
      largest[0] =
          std::max(largest[0], error_in_ulp<T>(of_one<V>(lgamma, x), std::lgamma(static_cast<W>(x))));
    const T x = static_cast<T>(1.4616321449683622) + d;
    largest[1] =
        std::max(largest[1], error_in_ulp<T>(of_one<V>(digamma, x), static_cast<W>(digamma_beside_root(x))));
  }
  CHECK(largest[0] <= 5);
  CHECK(largest[1] <= 5);
}

// The reflection subtracts n! zeta of both sides of a pole, which cancel where an even order has a root.
TEST_CASE_TEMPLATE(
    "polygamma is within 8 eps of max(1, |y|), of x < 0 of the larger term, of order 20 within 16", V,
    WIDTHS(float), WIDTHS(double)) {
  using T = typename V::value_type;
  const auto of = [](int n, T x) {
    return of_one<V>([&](V v) { return cpu::polygamma(V(static_cast<T>(n)), v); }, x);
  };
  const T inf = std::numeric_limits<T>::infinity();
  for (const int n : {1, 2, 3, 4, 5, 20}) {
    double largest = 0;
    std::vector<T> samples;
    for (int k = 1; k < 400; ++k)
      for (const T x : {static_cast<T>(k) * T(0.0137), -static_cast<T>(k) * T(0.0137),
                        std::ldexp(T(1.1), k % 40 - 12), T(-2.6) + static_cast<T>(k) * T(0x1p-11)})
        samples.push_back(x);
    for (int k = 0; k < 6; ++k) { // where the sign changes between two poles: an even order has a root there
      T low = static_cast<T>(-k) - T(0.9), high = static_cast<T>(-k) - T(0.1);
      for (int halving = 0; halving < 60; ++halving) {
        const T middle = (low + high) / 2;
        ((ref::polygamma(n, middle) < 0) == (ref::polygamma(n, low) < 0) ? low : high) = middle;
      }
      samples.insert(samples.end(), {std::nextafter(low, -inf), low, high, std::nextafter(high, inf)});
    }
    for (const T x : samples) {
      const long double e = ref::polygamma(n, x), f = -static_cast<long double>(x) - std::floor(-x);
      if (std::abs(e) > static_cast<long double>(std::numeric_limits<T>::max())) continue;
      long double size = std::max(1.0L, std::abs(e));
      if (x < 0) size = std::max(size, std::abs(ref::polygamma(n, std::min(f, 1 - f))));
      const double error = static_cast<double>(std::abs(static_cast<long double>(of(n, x)) - e) / size /
                                               std::numeric_limits<T>::epsilon());
      largest = std::max(largest, error);
    }
    CAPTURE(n);
    CHECK(largest <= (n > 5 ? 16 : 8));
  }
  for (int n = 1; n <= 4; ++n) {
    CHECK(of(n, inf) == 0);
    CHECK(of(n, T(0)) == (n % 2 == 1 ? inf : -inf));
    CHECK(of(n, T(-0.0)) == inf);
    CHECK((n % 2 == 1 ? of(n, T(-3)) == inf : std::isnan(of(n, T(-3)))));
    CHECK(std::isnan(of(n, -inf)));
    CHECK(std::isnan(of(n, std::numeric_limits<T>::quiet_NaN())));
  }
}

TEST_CASE_TEMPLATE("polygamma beyond the range is infinite, with the sign of the nearer pole", V,
                   WIDTHS(float), WIDTHS(double)) {
  using T = typename V::value_type;
  const auto of = [](int n, T x) {
    return of_one<V>([&](V v) { return cpu::polygamma(V(static_cast<T>(n)), v); }, x);
  };
  const T inf = std::numeric_limits<T>::infinity();
  for (const T x : {T(0.3), T(0.7), T(15.3), T(15.7), T(0.5)}) {
    const bool nearer_right = x - std::floor(x) < T(0.5);
    CAPTURE(x);
    CHECK(of(200, -x) == (nearer_right ? inf : -inf));
    CHECK(of(201, -x) == inf);
  }
  // of two poles that are as near nothing is left
  if constexpr (sizeof(T) == 8) CHECK(std::abs(of(200, T(-1.5)) / T(-8.14605e+294) - 1) < T(1e-5));
}

TEST_CASE_TEMPLATE("erfinv is within its bound where its pieces meet and near 1", V, WIDTHS(float),
                   WIDTHS(double)) {
  using T = typename V::value_type;
  double largest = 0;
  const auto check = [&](T x) {
    const T y = of_one<V>([](V v) { return cpu::erfinv(v); }, x);
    largest = std::max(largest, error_in_ulp<T>(y, static_cast<wider<T>>(ref::erfinv(x))));
  };
  check(T(0.24907664678772556));
  check(T(0.99999988169981446));
  for (int k = 0; k < 3000; ++k) {
    const T draw = static_cast<T>((k * 40'503u) % 65'536u) * T(0x1p-16);
    check(T(0.2) + draw * T(0.1));
    check(T(-0.8) - draw * T(0.199));
    check(T(1) - std::ldexp(T(1) + draw, -2 - k % (std::numeric_limits<T>::digits - 2)));
  }
  CHECK(largest <= 4);
}

TEST_CASE_TEMPLATE("fmod is C's, remainder has the sign of the divisor", V, WIDTHS(float), WIDTHS(double)) {
  using T = typename V::value_type;
  using limits = std::numeric_limits<T>;
  const auto same = [](T a, T b) {
    return std::isnan(b) ? std::isnan(a) : a == b && std::signbit(a) == std::signbit(b);
  };
  const auto check = [&](const T(&x)[V::size], const T(&y)[V::size]) {
    alignas(64) T r[V::size], z[V::size];
    cpu::fmod(V::load_unaligned(x), V::load_unaligned(y)).store_aligned(r);
    cpu::remainder(V::load_unaligned(x), V::load_unaligned(y)).store_aligned(z);
    for (std::size_t k = 0; k < V::size; ++k) {
      CAPTURE(x[k]);
      CAPTURE(y[k]);
      const T exact = std::fmod(x[k], y[k]);
      CHECK(same(r[k], exact));
      CHECK(same(z[k], exact == 0                  ? std::copysign(exact, y[k])
                       : (exact < 0) == (y[k] < 0) ? exact
                                                   : exact + y[k]));
    }
  };
  const T values[] = {T(0),
                      T(1),
                      T(3),
                      T(0.1),
                      T(0.3),
                      T(7.5),
                      limits::max(),
                      limits::min(),
                      limits::denorm_min(),
                      limits::infinity(),
                      T(0x1p23),
                      limits::quiet_NaN()};
  T x[V::size], y[V::size];
  const T ulp = limits::max() - std::nextafter(limits::max(), T(0));
  for (const T u : values)
    for (const T v : values)
      for (const int signs : {0, 1, 2, 3}) {
        for (std::size_t k = 0; k < V::size; ++k) x[k] = signs & 1 ? -u : u, y[k] = signs & 2 ? -v : v;
        check(x, y);
      }
  for (int i = 0; i < 4000; ++i) { // quotients that are near to integers, and of up to 60 bits
    for (std::size_t k = 0; k < V::size; ++k) {
      const int n = i * 16 + static_cast<int>(k);
      y[k] = std::ldexp(T(1) + static_cast<T>(n % 977) * T(0x1p-10), n % 7 - 3) * (n % 2 == 0 ? T(1) : T(-1));
      x[k] = y[k] * static_cast<T>(n % 1013 + 1) * (n % 3 == 0 ? T(1) : T(-1));
      if (i % 5 == 0) x[k] = std::nextafter(x[k], T(0));
      if (i % 7 == 0) x[k] *= std::ldexp(T(1), n % 60);
    }
    check(x, y);
  }
  auto any = [draw = std::uint64_t{46}]() mutable {
    draw = draw * 6364136223846793005u + 1442695040888963407u;
    return static_cast<bits_of<T>>(draw >> (64 - 8 * sizeof(T)));
  };
  for (int i = 0; i < 8000; ++i) { // of all exponents, half of them the largest; quotients beside integers
    for (std::size_t k = 0; k < V::size; ++k) {
      x[k] = std::bit_cast<T>(any());
      if (i % 2 == 0) x[k] = limits::max() - static_cast<T>(any() % 4) * ulp;
      const T n = static_cast<T>(any() % (bits_of<T>(2) << (i / 4 % 21)) + 1);
      y[k] = i % 8 == 7 ? std::bit_cast<T>(any()) : std::nextafter(x[k] / n, i % 4 < 2 ? T(0) : x[k]);
    }
    check(x, y);
  }
}

TEST_CASE_TEMPLATE("hypot is within its bound, and neither overflows nor underflows on the way", V,
                   WIDTHS(float), WIDTHS(double)) {
  using T = typename V::value_type;
  using limits = std::numeric_limits<T>;
  const auto error = [](T x, T y) {
    alignas(64) std::array<T, V::size> a;
    cpu::hypot(V(x), V(y)).store_aligned(a.data());
    return error_in_ulp<T>(a[0], std::hypot(static_cast<wider<T>>(x), static_cast<wider<T>>(y)));
  };
  double largest = 0;
  for (int e = limits::min_exponent - limits::digits; e < limits::max_exponent; ++e)
    for (int k = 0; k < 40; ++k)
      largest = std::max(largest, error(std::ldexp(T(0.5) + static_cast<T>(k) * T(0.0119), e),
                                        std::ldexp(T(-0.97) + static_cast<T>(k) * T(0.0113), e - k % 30)));
  CHECK(largest <= 2);
  const T values[] = {T(0),
                      T(3),
                      limits::infinity(),
                      limits::max(),
                      limits::min(),
                      limits::denorm_min(),
                      limits::quiet_NaN()};
  for (const T x : values)
    for (const T y : values) CHECK(error(x, -y) <= 2);
}

TEST_CASE_TEMPLATE("atan2 has C's special values and is within its bound", V, WIDTHS(float), WIDTHS(double)) {
  using T = typename V::value_type;
  using limits = std::numeric_limits<T>;
  const auto check = [](T y, T x) {
    alignas(64) std::array<T, V::size> a;
    cpu::atan2(V(y), V(x)).store_aligned(a.data());
    CAPTURE(y);
    CAPTURE(x);
    CHECK(error_in_ulp<T>(a[0], std::atan2(static_cast<wider<T>>(y), static_cast<wider<T>>(x))) <= 2);
  };
  const T values[] = {T(0),
                      T(1),
                      T(2),
                      T(0.3),
                      limits::infinity(),
                      limits::max(),
                      limits::min(),
                      limits::denorm_min(),
                      limits::quiet_NaN()};
  for (const T y : values)
    for (const T x : values)
      for (const T s : {T(1), T(-1)})
        for (const T t : {T(1), T(-1)}) check(s * y, t * x);
  for (int k = 0; k < 2000; ++k) {
    const T angle = static_cast<T>(k) * T(0.00314), size = std::ldexp(T(1), k % 40 - 20);
    check(size * std::sin(angle), size * std::cos(angle));
    check(std::ldexp(std::sin(angle), k % 97 - 48), std::cos(angle));
  }
}

TEST_CASE_TEMPLATE("special values, as in C's Annex F", V, WIDTHS(float), WIDTHS(double)) {
  using T = typename V::value_type;
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const auto is = [](T y, T expected) {
    return std::isnan(expected) ? std::isnan(y) : y == expected && std::signbit(y) == std::signbit(expected);
  };
#define IS(f, x, y) CHECK(is(of_one<V>([](V v) { return cpu::f(v); }, T(x)), T(y)))
  IS(sin, -0.0, -0.0);
  IS(sin, inf, nan);
  IS(cos, -inf, nan);
  IS(cos, 0, 1);
  IS(tan, -0.0, -0.0);
  IS(tan, inf, nan);
  IS(asin, -0.0, -0.0);
  IS(asin, 1.001, nan);
  IS(acos, 1, 0);
  IS(acos, -1.001, nan);
  IS(atan, -0.0, -0.0);
  IS(atan, nan, nan);
  IS(sinh, -0.0, -0.0);
  IS(sinh, -inf, -inf);
  IS(cosh, -inf, inf);
  IS(cosh, -0.0, 1);
  IS(asinh, -0.0, -0.0);
  IS(asinh, -inf, -inf);
  IS(erfc, -0.0, 1);
  IS(erfc, inf, 0);
  IS(erfc, -inf, 2);
  IS(erfc, nan, nan);
  IS(erfinv, -0.0, -0.0);
  IS(erfinv, 1, inf);
  IS(erfinv, -1, -inf);
  IS(erfinv, 1.001, nan);
  IS(erfinv, -inf, nan);
  IS(erfinv, nan, nan);
  IS(lgamma, 0, inf);
  IS(lgamma, -0.0, inf);
  IS(lgamma, -5, inf);
  IS(lgamma, 1, 0);
  IS(lgamma, 2, 0);
  IS(lgamma, inf, inf);
  IS(lgamma, -inf, inf);
  IS(lgamma, nan, nan);
  IS(digamma, 0, -inf);
  IS(digamma, -0.0, inf);
  IS(digamma, -5, nan);
  IS(digamma, inf, inf);
  IS(digamma, -inf, nan);
  IS(digamma, nan, nan);
  IS(acosh, 1, 0);
  IS(acosh, 0.999, nan);
  IS(acosh, -inf, nan);
  IS(acosh, inf, inf);
  IS(atanh, -0.0, -0.0);
  IS(atanh, 1, inf);
  IS(atanh, -1, -inf);
  IS(atanh, 1.001, nan);
  IS(atanh, inf, nan);
  IS(exp2, -inf, 0);
  IS(exp2, inf, inf);
  IS(exp2, -0.0, 1);
  IS(exp2, 3, 8);
  IS(exp2, nan, nan);
  IS(expm1, -0.0, -0.0);
  IS(expm1, -inf, -1);
  IS(expm1, inf, inf);
  IS(expm1, nan, nan);
  IS(log1p, -0.0, -0.0);
  IS(log1p, -1, -inf);
  IS(log1p, -1.001, nan);
  IS(log1p, inf, inf);
  IS(log1p, -inf, nan);
  IS(log2, 0, -inf);
  IS(log2, -0.0, -inf);
  IS(log2, -1, nan);
  IS(log2, inf, inf);
  IS(log2, 1, 0);
  IS(log2, 8, 3);
  IS(log10, -0.0, -inf);
  IS(log10, -inf, nan);
  IS(log10, inf, inf);
  IS(log10, 1, 0);
  IS(log10, nan, nan);
  IS(rsqrt, 0, inf);
  IS(rsqrt, -0.0, -inf);
  IS(rsqrt, -1, nan);
  IS(rsqrt, inf, 0);
  IS(rsqrt, 4, 0.5);
  IS(cbrt, -0.0, -0.0);
  IS(cbrt, -inf, -inf);
  IS(cbrt, -8, -2);
  IS(cbrt, nan, nan);
  IS(softplus, -inf, 0);
  IS(softplus, inf, inf);
  IS(softplus, nan, nan);
  IS(softplus, 1000, 1000);
  IS(abs, -0.0, 0);
  IS(abs, -inf, inf);
  IS(abs, nan, nan);
  IS(sign, 0, 0);
  IS(sign, -0.0, -0.0);
  IS(sign, nan, nan);
  IS(sign, -inf, -1);
  IS(sign, std::numeric_limits<T>::denorm_min(), 1);
  IS(floor, -0.0, -0.0);
  IS(floor, -0.5, -1);
  IS(floor, inf, inf);
  IS(ceil, -0.5, -0.0);
  IS(ceil, 0.5, 1);
  IS(ceil, nan, nan);
  // half to even
  IS(round, 0.5, 0);
  IS(round, -0.5, -0.0);
  IS(round, 1.5, 2);
  IS(round, 2.5, 2);
  IS(round, -3.5, -4);
  IS(round, inf, inf);
#undef IS
}

TEST_CASE("sin, cos and tan are as exact for huge arguments") {
  using F = cpu::simd<float>;
  using D = cpu::simd<double>;
  const auto sin = [](auto x) { return cpu::sin(x); };
  const auto cos = [](auto x) { return cpu::cos(x); };
  const auto tan = [](auto x) { return cpu::tan(x); };
  CHECK(error_in_ulp<double>(of_one<D>(sin, 1e22), -0.852200849767188802L) <= 2);
  CHECK(error_in_ulp<double>(of_one<D>(cos, 1e22), 0.523214785395138945L) <= 2);
  CHECK(error_in_ulp<double>(of_one<D>(tan, 1e22), -1.62877822560689888L) <= 2);
  CHECK(error_in_ulp<double>(of_one<D>(sin, std::numeric_limits<double>::max()), 0.00496195478918406179L) <=
        2);
  CHECK(error_in_ulp<float>(of_one<F>(sin, std::numeric_limits<float>::max()), -0.521876523334) <= 2);
  // the double that is nearest to a multiple of pi / 2
  CHECK(error_in_ulp<double>(of_one<D>(cos, 0x1.6ac5b262ca1ffp+849), -4.68716592425462761e-19L) <= 2);
}
