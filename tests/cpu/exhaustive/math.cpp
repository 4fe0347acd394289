// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// math [STEP [COUNT [NAME...]]]: the largest errors of the functions of cpu/base/math/, by hand. Floats: every STEP-th bit
// pattern (default 1, all of them: minutes a function); an odd STEP meets all last bits. Doubles: COUNT (default 10,000,000)
// random ones, of four kinds. atan2: COUNT random pairs. Prints for each function the largest error in ulp, and where; a function
// beyond its bound ends the program with 1.
//
//   g++ -std=c++20 -O2 -march=native -Iinclude -Itests tests/cpu/exhaustive/math.cpp -o /tmp/exhaustive && /tmp/exhaustive 17
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "cpu/math_functions.hpp"

namespace cpu = tapeless::cpu;

namespace {

template <class T> constexpr int W = cpu::width<T>;

// Calls look(x) with vectors of inputs
template <class Look> void inputs(float, std::uint64_t step, std::uint64_t, Look look) {
  alignas(64) std::array<float, W<float>> x;
  for (std::uint64_t b = 0; b < 1ULL << 32;) {
    for (float& y : x) {
      y = std::bit_cast<float>(static_cast<std::uint32_t>(b));
      b += step;
    }
    look(x);
  }
}
template <class Look> void inputs(double, std::uint64_t, std::uint64_t count, Look look) {
  alignas(64) std::array<double, W<double>> x;
  std::mt19937_64 random(1);
  const auto unit = [&] { return std::ldexp(static_cast<double>(random() >> 11), -53) * 2 - 1; };
  for (std::uint64_t i = 0; i < count; i += x.size()) {
    for (double& y : x) switch (random() % 4) {
        case 0: y = std::bit_cast<double>(random()); break;
        case 1: y = std::ldexp(unit(), static_cast<int>(random() % 60) - 40); break; // exponents near 0
        case 2: y = unit() * (random() % 2 != 0 ? 800 : 4); break;
        default: // next to multiples of pi / 2 and of ln 2, and to 1
          const double n = std::ldexp(std::round(unit() * 1024), static_cast<int>(random() % 30));
          const double points[] = {n * 1.5707963267948966, std::round(unit() * 1500) * 0.34657359027997264,
                                   1 + unit() * 1e-5, n};
          y = points[random() % 4];
          y = std::bit_cast<double>(std::bit_cast<std::uint64_t>(y) + random() % 5 - 2);
      }
    look(x);
  }
}

// atan2 of random pairs
template <class T> bool measure_atan2(std::uint64_t count) {
  std::mt19937_64 random(2);
  double largest = 0;
  T at[2] = {};
  for (std::uint64_t i = 0; i < count; i += cpu::simd<T>::size) {
    alignas(64) std::array<T, W<T>> y, x, angle;
    for (std::size_t k = 0; k < y.size(); ++k) {
      y[k] = std::bit_cast<T>(static_cast<reference::bits_of<T>>(random()));
      x[k] = random() % 4 == 0
                 ? std::bit_cast<T>(static_cast<reference::bits_of<T>>(random()))
                 : std::ldexp(y[k], static_cast<int>(random() % 7) - 3) * static_cast<T>(random() % 1000);
    }
    cpu::atan2(cpu::simd<T>::load_aligned(y.data()), cpu::simd<T>::load_aligned(x.data()))
        .store_aligned(angle.data());
    for (std::size_t k = 0; k < y.size(); ++k) {
      using Wide = reference::wider<T>;
      const double e =
          reference::error_in_ulp<T>(angle[k], std::atan2(static_cast<Wide>(y[k]), static_cast<Wide>(x[k])));
      if (e > largest) largest = e, at[0] = y[k], at[1] = x[k];
    }
  }
  std::printf("%-8s %s %8.3f at %a, %a\n", "atan2", sizeof(T) == 4 ? "f32" : "f64", largest,
              static_cast<double>(at[0]), static_cast<double>(at[1]));
  return largest <= 2;
}

template <class T> bool measure(std::uint64_t step, std::uint64_t count, char** names, char** end) {
  bool good = true;
  reference::each_function<cpu::simd<T>>([&](const char* name, auto f, auto exact, double bound) {
    if (names != end && std::none_of(names, end, [&](const char* n) { return std::strcmp(n, name) == 0; }))
      return;
    double largest = 0;
    T at = 0;
    inputs(T(), step, count, [&](const std::array<T, W<T>>& x) {
      alignas(64) std::array<T, W<T>> y;
      f(cpu::simd<T>::load_aligned(x.data())).store_aligned(y.data());
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double e = reference::error_in_ulp<T>(y[i], exact(static_cast<reference::wider<T>>(x[i])));
        if (e > largest) largest = e, at = x[i];
      }
    });
    std::printf("%-8s %s %8.3f at %a\n", name, sizeof(T) == 4 ? "f32" : "f64", largest,
                static_cast<double>(at));
    std::fflush(stdout);
    good &= largest <= bound;
  });
  if (names == end) good &= measure_atan2<T>(count);
  return good;
}

} // namespace

int main(int argc, char** argv) {
  const std::uint64_t step = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  const std::uint64_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 10'000'000;
  char** const names = argv + std::min(argc, 3);
  const bool floats = measure<float>(step, count, names, argv + argc);
  const bool doubles = measure<double>(step, count, names, argv + argc);
  return floats && doubles ? 0 : 1;
}
