// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The test helpers are tested here: each finds what it is for, and each finds a planted fault.

#include "support/allocations.hpp"
#include "support/compare.hpp"
#include "support/fd.hpp"
#include "support/projection.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

template <class T>
void keep(T* p) {
  asm volatile("" : : "g"(p) : "memory"); // the compiler may not remove what it points to
}

template <class T>
std::string text(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

double smallest_gap(std::vector<double> values) {
  values.push_back(0); // distance from the kink of relu
  std::sort(values.begin(), values.end());
  double gap = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < values.size(); ++i) gap = std::min(gap, values[i] - values[i - 1]);
  return gap;
}

// f(x) = sum_i sin(x_i) x_{i+1} + exp(x_0 / 2) and its gradient
double smooth(const std::vector<double>& x) {
  double sum = std::exp(x[0] / 2);
  for (std::size_t i = 0; i + 1 < x.size(); ++i) sum += std::sin(x[i]) * x[i + 1];
  return sum;
}
std::vector<double> smooth_gradient(const std::vector<double>& x) {
  std::vector<double> g(x.size(), 0);
  g[0] = std::exp(x[0] / 2) / 2;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    g[i] += std::cos(x[i]) * x[i + 1];
    g[i + 1] += std::sin(x[i]);
  }
  return g;
}

// y = A x in float, A: (rows, columns)
std::vector<float> product(const std::vector<float>& a, const std::vector<float>& x, bool transposed,
                           std::size_t rows, std::size_t columns) {
  std::vector<float> y(transposed ? columns : rows, 0.0f);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      y[transposed ? j : i] += a[i * columns + j] * x[transposed ? i : j];
  return y;
}

} // namespace

TEST_CASE("splitmix64: the first values from seed 0 are the published ones") {
  support::splitmix64 random(0);
  CHECK(random.next() == 0xe220a8397b1dcdafu);
  CHECK(random.next() == 0x6e789e6aa1b965f4u);
  CHECK(random.next() == 0x06c45d188009454fu);
}

TEST_CASE("random values: in [-1, 1), mean near 0, variance near 1/3, the same for the same seed only") {
  const std::vector<double> values = support::random_values(10000, 7);
  double mean = 0;
  double square = 0;
  for (double v : values) {
    REQUIRE(v >= -1);
    REQUIRE(v < 1);
    mean += v / 10000;
    square += v * v / 10000;
  }
  CHECK(std::abs(mean) < 0.03); // 5 standard deviations of 0.0058
  CHECK(std::abs(square - 1.0 / 3) < 0.015);
  CHECK(values == support::random_values(10000, 7));
  CHECK(values != support::random_values(10000, 8));
}

TEST_CASE("random integers cover their range and nothing else") {
  const std::vector<std::int32_t> values = support::random_integers(200, 3, -2, 3);
  CHECK(std::set<std::int32_t>(values.begin(), values.end()) == std::set<std::int32_t>{-2, -1, 0, 1, 2});
}

TEST_CASE("a random permutation holds every number once and is not the identity") {
  std::vector<std::size_t> order = support::random_permutation(50, 1);
  CHECK_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i) CHECK(order[i] == i);
}

TEST_CASE("well separated values differ pairwise and from 0 by at least 1/(4n)") {
  for (std::size_t n : {1, 2, 3, 10, 101, 1000}) {
    const std::vector<double> values = support::well_separated(n, 11 + n);
    CAPTURE(n);
    CHECK(smallest_gap(values) >= 0.25 / static_cast<double>(n));
    CHECK(*std::min_element(values.begin(), values.end()) >= -1);
    CHECK(*std::max_element(values.begin(), values.end()) <= 1);
  }
  // control: uniform values do come closer
  CHECK(smallest_gap(support::random_values(1000, 5)) < 0.25 / 1000);
}

TEST_CASE("finite differences agree with a known gradient and find a planted error of 1e-5") {
  const std::vector<double> x = support::random_values(6, 21);
  std::vector<double> gradient = smooth_gradient(x);
  CHECK(support::close(support::finite_difference_gradient(smooth, x), gradient, 1e-9));
  gradient[4] += 1e-5;
  CHECK_FALSE(support::close(support::finite_difference_gradient(smooth, x), gradient, 1e-9));
}

TEST_CASE("directional differences agree within their own error estimate and find a planted error of 1e-7") {
  const std::vector<double> x = support::random_values(6, 22);
  const std::vector<double> v = support::random_values(6, 23);
  std::vector<double> gradient = smooth_gradient(x);
  const support::estimate d = support::finite_difference_directional(smooth, x, v);
  CHECK(d.error < 1e-8);
  CHECK(std::abs(d.value - support::dot<double>(gradient, v)) <= d.error);
  gradient[2] += 1e-7;
  CHECK(std::abs(d.value - support::dot<double>(gradient, v)) > d.error);
}

TEST_CASE("directional differences of a cubic are exact: the term in h^2 is extrapolated away") {
  const auto cubic = [](const std::vector<double>& x) { return x[0] * x[0] * x[0]; };
  CHECK(std::abs(support::finite_difference_directional(cubic, {1.0}, {1.0}, 0.5).value - 3) < 1e-14);
}

TEST_CASE("the error estimate of a directional difference grows across a kink") {
  const auto relu = [](const std::vector<double>& x) { return std::max(x[0], 0.0); };
  CHECK(support::finite_difference_directional(relu, {0.5}, {1.0}).error < 1e-9);
  CHECK(support::finite_difference_directional(relu, {3e-5}, {1.0}).error > 1e-2);
}

TEST_CASE("<u, J v> == <J^T u, v> holds in float for a matrix and its transpose, not for one wrong entry") {
  const std::size_t rows = 40;
  const std::size_t columns = 30;
  std::vector<float> a = support::random_values<float>(rows * columns, 31);
  const std::vector<float> u = support::random_values<float>(rows, 32);
  const std::vector<float> v = support::random_values<float>(columns, 33);
  const std::vector<float> jv = product(a, v, false, rows, columns);
  CHECK(support::project<float>(u, jv, product(a, u, true, rows, columns), v));
  a[17 * columns + 4] *= 1.1f;
  CHECK_FALSE(support::project<float>(u, jv, product(a, u, true, rows, columns), v));
}

TEST_CASE("a projection of zeros or of NaN is not a proof") {
  const std::vector<double> zero{0.0};
  const std::vector<double> one{1.0};
  const std::vector<double> nan{std::numeric_limits<double>::quiet_NaN()};
  CHECK_FALSE(support::project<double>(one, zero, zero, one));
  CHECK_FALSE(support::project<double>(one, nan, one, one));
  CHECK(support::project<double>(one, one, one, one));
  CHECK(text(support::project<double>(one, one, one, one)).find("<u, J v> = 1") != std::string::npos);
}

TEST_CASE("close: tolerances, NaN, infinity and length") {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  using values = std::vector<double>;
  CHECK(support::close(values{1, 100}, values{1.05, 101}, 0.05 + 1e-12, 0.01));
  CHECK_FALSE(support::close(values{1, 100}, values{1.2, 100}, 0.1, 0.01));
  CHECK(support::close(values{nan, inf, -inf}, values{nan, inf, -inf}, 0));
  CHECK_FALSE(support::close(values{nan}, values{1}, 1e9));
  CHECK_FALSE(support::close(values{1}, values{nan}, 1e9));
  CHECK_FALSE(support::close(values{inf}, values{-inf}, 1e9, 1));
  CHECK_FALSE(support::close(values{5}, values{inf}, 0, 1));
  CHECK_FALSE(support::close(values{1, 2}, values{1}, 1));
  CHECK(text(support::close(values{1, 2}, values{1, 4}, 0)) ==
        "1 of 2 elements differ, max absolute error 2, max relative error 0.5; first at [1]: 2, expected 4");
  CHECK(text(support::close(values{1, 2}, values{1}, 1)) == "2 elements, expected 1");
}

TEST_CASE("a planted allocation is counted, whichever function makes it, and no allocation is not") {
  using support::allocations_of;
  const std::int64_t one = support::counts_allocations ? 1 : 0;
  const std::int64_t one_c = support::counts_malloc ? 1 : 0;
  struct alignas(128) wide {
    int value;
  };
  CHECK(allocations_of([] {
          int on_stack[100] = {};
          keep(on_stack);
        }) == 0);
  CHECK(allocations_of([] { keep(std::make_unique<int>().get()); }) == one);
  CHECK(allocations_of([] { keep(std::make_unique<int[]>(9).get()); }) == one);
  CHECK(allocations_of([] { keep(std::make_unique<wide>().get()); }) == one);
  CHECK(allocations_of([] { keep(std::make_unique<wide[]>(3).get()); }) == one);
  CHECK(allocations_of([] { keep(std::unique_ptr<int>(new (std::nothrow) int).get()); }) == one);
  CHECK(allocations_of([] { keep(std::vector<double>(1000).data()); }) == one);
  CHECK(allocations_of([] {
          void* p = std::malloc(10);
          keep(p);
          std::free(p);
        }) == one_c);
  CHECK(allocations_of([] {
          void* p = std::calloc(10, 10);
          keep(p);
          p = std::realloc(p, 10000);
          keep(p);
          std::free(p);
        }) == 2 * one_c);
  CHECK(allocations_of([] {
          void* p = std::aligned_alloc(64, 128);
          keep(p);
          std::free(p);
        }) == one_c);
  CHECK(allocations_of([] {
          void* p = nullptr;
          const int failed = posix_memalign(&p, 64, 128);
          keep(&failed);
          std::free(p);
        }) == one_c);
}

TEST_CASE("a replaced allocation function gives aligned memory that realloc keeps") {
  void* aligned = ::operator new(1, std::align_val_t{256});
  CHECK(reinterpret_cast<std::uintptr_t>(aligned) % 256 == 0);
  ::operator delete(aligned, std::align_val_t{256});

  char* p = static_cast<char*>(std::malloc(3));
  REQUIRE(p != nullptr);
  p[0] = 'a';
  p[2] = 'c';
  p = static_cast<char*>(std::realloc(p, 100000));
  REQUIRE(p != nullptr);
  CHECK(p[0] == 'a');
  CHECK(p[2] == 'c');
  std::free(p);
}
