// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Ops of which several threads share a line: running ops, products, argmax.
#include <support/both_back_ends.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>

namespace tl = tapeless;

namespace {

using cuda_tests::both_back_ends, cuda_tests::fill;

constexpr tl::extent_t n = tl::dyn<'n'>;
constexpr std::int64_t sizes[] = {1, 31, 32, 63, 64, 65, 1009, 16384, 50021};

} // namespace

TEST_CASE("cuda: cumsum of long lines is that of the CPU, along any axis, and so is its gradient") {
  using line = tl::tensor<double, n>;
  using rows = tl::tensor<float, 3, n>;
  using columns = tl::tensor<double, n, 2>;
  using integers = tl::tensor<std::int32_t, n>;
  const auto f = [](auto x, auto y, auto z, auto i) {
    const auto slope = [](auto v) { return tl::sum(tl::cumsum<-1>(v) * v); };
    return std::tuple{tl::cumsum<0>(x), tl::cumsum<1>(y), tl::cumsum<0>(z), tl::cumsum<0>(i),
                      tl::grad(slope)(y)};
  };
  both_back_ends<decltype(f), line, rows, columns, integers> both(tl::dim<'n'>{sizes[8]});
  for (const std::int64_t size : sizes) {
    CAPTURE(size);
    tl::owned<line> x(tl::dim<'n'>{size});
    tl::owned<rows> y(tl::dim<'n'>{size});
    tl::owned<columns> z(tl::dim<'n'>{size});
    tl::owned<integers> i(tl::dim<'n'>{size});
    fill(*x, 1);
    fill(*y, 2);
    fill(*z, 3);
    for (std::int32_t& k : *i) k = 7;
    CHECK(both.difference(*x, *y, *z, *i) < 1e-6);
    // what stands before an infinite number is finite, what stands behind it is not NaN
    (*x)[static_cast<std::size_t>(size / 2)] = std::numeric_limits<double>::infinity();
    CHECK(both.difference(*x, *y, *z, *i) < 1e-6);
  }
}
TEST_CASE(
    "cuda: running products, maxima and recurrences of long lines are those of the CPU, and so are their gradients") {
  using line = tl::tensor<double, n>;
  using rows = tl::tensor<double, 3, n>;
  using columns = tl::tensor<double, n, 2>;
  const auto f = [](auto x, auto y, auto z) {
    const auto slopes = [](auto v) {
      const auto near_one = 1.0 + 1e-3 * v;
      return tl::sum(tl::cumprod<-1>(near_one)) + tl::sum(tl::linear_scan<-1>(v, v)) +
             tl::sum(tl::cummax<-1>(v)) + tl::sum(tl::logcumsumexp<-1>(v)) + tl::sum(tl::prod<-1>(near_one));
    };
    return std::tuple{tl::cumprod<0>(1.0 + 1e-3 * x),
                      tl::cummax<1>(y),
                      tl::cumargmax<0>(z),
                      tl::linear_scan<0>(x, x),
                      tl::linear_scan<1>(0.75, y),
                      tl::logcumsumexp<0>(z),
                      tl::prod(1.0 + 1e-3 * z),
                      tl::grad(slopes)(y)};
  };
  both_back_ends<decltype(f), line, rows, columns> both(tl::dim<'n'>{sizes[8]});
  for (const std::int64_t size : sizes) {
    CAPTURE(size);
    tl::owned<line> x(tl::dim<'n'>{size});
    tl::owned<rows> y(tl::dim<'n'>{size});
    tl::owned<columns> z(tl::dim<'n'>{size});
    fill(*x, 1);
    fill(*y, 2);
    fill(*z, 3);
    CHECK(both.difference(*x, *y, *z) < 1e-9);
    // a factor of 0 in one chunk, a NaN in another
    (*x)[static_cast<std::size_t>(size / 2)] = -1000;
    (*y)[static_cast<std::size_t>(size / 3)] = -1000;
    (*z)[static_cast<std::size_t>(size)] = std::numeric_limits<double>::quiet_NaN();
    CHECK(both.difference(*x, *y, *z) < 1e-9);
  }
}
TEST_CASE("cuda: argmax and argmin of long lines are the first one, and NaN is one") {
  using line = tl::tensor<double, n>;
  using rows = tl::tensor<float, 5, n, 2>;
  using integers = tl::tensor<std::int32_t, n, 3>;
  const auto f = [](auto x, auto y, auto i) {
    return std::tuple{tl::argmax(x),       tl::argmax<1>(y),        tl::argmax<0, 2>(y),    tl::argmax<0>(i),
                      tl::argmax(-i),      tl::argmax<1>(y > 0.5f), tl::argmin(x),          tl::argmin<1>(y),
                      tl::argmin<0, 2>(y), tl::argmin<0>(i),        tl::argmin<1>(y > 0.5f)};
  };
  both_back_ends<decltype(f), line, rows, integers> both(tl::dim<'n'>{sizes[8]});
  for (const std::int64_t size : sizes) {
    CAPTURE(size);
    tl::owned<line> x(tl::dim<'n'>{size});
    tl::owned<rows> y(tl::dim<'n'>{size});
    tl::owned<integers> i(tl::dim<'n'>{size});
    fill(*x, 1);
    fill(*y, 2); // many equal maxima
    for (std::int64_t k = 0; k < i->size(); ++k)
      (*i)[k] = k % 5 == 3 ? std::numeric_limits<std::int32_t>::min() : -7;
    CHECK(both.difference(*x, *y, *i) == 0);
    for (double& v : *x) v = -std::numeric_limits<double>::infinity();
    for (float& v : *y) v = 0;
    (*y)[y->size() / 2] = -0.0f;
    CHECK(both.difference(*x, *y, *i) == 0);
    const auto nan = std::numeric_limits<double>::quiet_NaN();
    (*x)[static_cast<std::size_t>(size / 3)] = nan;
    (*x)[static_cast<std::size_t>(size - 1)] = -nan;
    (*y)[y->size() / 3] = static_cast<float>(nan);
    CHECK(both.difference(*x, *y, *i) == 0);
  }
}
