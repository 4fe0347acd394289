// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The bounds of the functions of cpu/base/math/ that programs use, over numbers of every exponent: bit patterns at an odd step,
// against the C library in the next larger type. The bounds hold for normal results; math_functions.cpp has the other functions.
#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace cpu = tapeless::cpu;

namespace {

template <class T> using wider = std::conditional_t<sizeof(T) == 4, double, long double>;
template <class T> using bits_of = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

// |y - exact| in units of the last place of T at the exact value; infinite where one is NaN or infinite and not the other
template <class T> double error_in_ulp(T y, wider<T> exact) {
  const T rounded = static_cast<T>(exact);
  if (std::isnan(exact) || std::isinf(rounded))
    return std::isnan(exact) == std::isnan(y) && (std::isnan(y) || y == rounded)
               ? 0
               : std::numeric_limits<double>::infinity();
  if (!std::isfinite(y)) return std::numeric_limits<double>::infinity();
  const wider<T> smallest = std::numeric_limits<T>::min();
  if (std::abs(exact) < smallest) return std::abs(static_cast<wider<T>>(y)) <= smallest ? 0 : 1e9;
  int exponent = 0;
  std::frexp(rounded, &exponent);
  const wider<T> place = std::ldexp(wider<T>(1), exponent - std::numeric_limits<T>::digits);
  return static_cast<double>(std::abs(static_cast<wider<T>>(y) - exact) / place);
}

// The largest error of f against exact over some 400,000 numbers, and infinities, zeros, NaN and the ends of exp.
template <class T, class F, class Exact> double largest_error(F f, Exact exact) {
  using V = cpu::simd<T>;
  using limits = std::numeric_limits<T>;
  double largest = 0;
  const auto look = [&](T x) {
    alignas(64) std::array<T, V::size> y;
    f(V(x)).store_aligned(y.data());
    largest = std::max(largest, error_in_ulp<T>(y[0], exact(static_cast<wider<T>>(x))));
  };
  for (int k = -80'000; k <= 80'000; ++k)
    look(static_cast<T>(k) * T(0x1p-13) + T(0x1p-30)); // where erf bends
  for (int k = -40'000; k <= 40'000; ++k)
    look(T(0.875) + static_cast<T>(k) * T(0x1p-17)); // where log changes k
  const bits_of<T> step = sizeof(T) == 4 ? bits_of<T>(9973) : static_cast<bits_of<T>>(46116860184277ULL);
  bits_of<T> b = 0;
  do look(std::bit_cast<T>(b));
  while ((b += step) >= step);
  for (const T x : {T(0),
                    -T(0),
                    limits::infinity(),
                    -limits::infinity(),
                    limits::quiet_NaN(),
                    limits::max(),
                    limits::lowest(),
                    limits::min(),
                    limits::denorm_min(),
                    limits::min() / 1024,
                    T(88.3762626647949),
                    T(88.376685),
                    T(88.5),
                    T(88.722839),
                    T(88.73),
                    T(709.7),
                    T(709.78),
                    T(709.79),
                    T(-87.3),
                    T(-708.3),
                    T(1)})
    look(x);
  return largest;
}

} // namespace

TEST_CASE_TEMPLATE("functions are as exact as their headers say", T, float, double) {
  using V = cpu::simd<T>;
  using W = wider<T>;
  CHECK(largest_error<T>([](V x) { return cpu::exp(x); }, [](W x) { return std::exp(x); }) <= 2);
  CHECK(largest_error<T>([](V x) { return cpu::log(x); }, [](W x) { return std::log(x); }) <= 2);
  CHECK(largest_error<T>([](V x) { return cpu::tanh(x); }, [](W x) { return std::tanh(x); }) <= 2);
  CHECK(largest_error<T>([](V x) { return cpu::erf(x); }, [](W x) { return std::erf(x); }) <= 2);
  CHECK(largest_error<T>([](V x) { return cpu::sigmoid(x); }, [](W x) { return 1 / (1 + std::exp(-x)); }) <=
        3);
}

TEST_CASE_TEMPLATE("tanh keeps the sign of zero", T, float, double) {
  using V = cpu::simd<T>;
  alignas(64) std::array<T, V::size> y;
  for (const T x : {T(0), -T(0)}) {
    cpu::tanh(V(x)).store_aligned(y.data());
    CHECK((y[0] == 0 && std::signbit(y[0]) == std::signbit(x)));
  }
}

TEST_CASE_TEMPLATE("a large argument leaves the other lanes alone", T, float, double) {
  using V = cpu::simd<T>;
  alignas(64) std::array<T, V::size> x, y, alone;
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = i % 2 == 0 ? T(sizeof(T) == 4 ? 88.5 : 709.5) : -T(i);
  cpu::exp(V::load_aligned(x.data())).store_aligned(y.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    cpu::exp(V(x[i])).store_aligned(alone.data());
    CHECK(y[i] == alone[0]);
  }
}

TEST_CASE_TEMPLATE("programs use these functions", T, float, double) {
  namespace tl = tapeless;
  using X = tl::tensor<T, 3>;
  T x[3] = {T(sizeof(T) == 4 ? 88.5 : 709.5), std::numeric_limits<T>::min() / 1024, T(-1)}, y[3];
  auto exp_of = tl::jit([](auto a) { return exp(a); }).template bind<X>();
  exp_of.into(X(y))(X(x));
  CHECK(error_in_ulp<T>(y[0], std::exp(static_cast<wider<T>>(x[0]))) <= 2);
  auto log_of = tl::jit([](auto a) { return log(a); }).template bind<X>();
  log_of.into(X(y))(X(x));
  CHECK(error_in_ulp<T>(y[1], std::log(static_cast<wider<T>>(x[1]))) <= 2);
  auto sigmoid_of = tl::jit([](auto a) { return sigmoid(a); }).template bind<X>();
  sigmoid_of.into(X(y))(X(x));
  CHECK(error_in_ulp<T>(y[2], 1 / (1 + std::exp(-static_cast<wider<T>>(x[2])))) <= 3);
}
