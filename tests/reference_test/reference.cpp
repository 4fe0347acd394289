// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The reference itself: cases small enough to compute by hand, linear transposes by inner products.

#include "reference/conv.hpp"
#include "reference/conv_nd.hpp"
#include "reference/counted.hpp"
#include "reference/elementwise.hpp"
#include "reference/index.hpp"
#include "reference/loss.hpp"
#include "reference/matmul.hpp"
#include "reference/norm.hpp"
#include "reference/pool.hpp"
#include "reference/reduce.hpp"
#include "reference/shape.hpp"
#include "support/compare.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

#include <cfloat>
#include <cmath>
#include <limits>
#include <ostream>
#include <vector>

namespace ref {
template <class T>
std::ostream& operator<<(std::ostream& out, const array<T>& a) {
  out << "(";
  for (std::int64_t extent : a.shape) out << extent << ",";
  out << ") {";
  for (T value : a.data) out << ' ' << static_cast<double>(value);
  return out << " }";
}
} // namespace ref

namespace {

using ref::counted;
using ref::dims;
using floats = ref::array<float>;
using doubles = ref::array<double>;
using ints = ref::array<std::int32_t>;
using bools = ref::array<ref::boolean>;

const double not_a_number = std::numeric_limits<double>::quiet_NaN();
const double infinity = std::numeric_limits<double>::infinity();

doubles random_array(const dims& shape, std::uint64_t seed) {
  return {shape, support::random_values(static_cast<std::size_t>(ref::element_count(shape)), seed)};
}

// 1, 2, 3, ...
template <class T>
ref::array<T> counting(const dims& shape) {
  ref::array<T> x(shape);
  for (std::size_t i = 0; i < x.data.size(); ++i) x.data[i] = static_cast<T>(i + 1);
  return x;
}

double inner(const doubles& a, const doubles& b) {
  REQUIRE(a.shape == b.shape);
  return ref::sum(a * b).data[0];
}

} // namespace

TEST_CASE("array: row-major, rank 0 holds one element, misuse throws") {
  const ints x = counting<std::int32_t>({2, 3});
  CHECK(x(0, 0) == 1);
  CHECK(x(1, 0) == 4);
  CHECK(x(1, 2) == 6);
  CHECK(ref::constant(5.0)() == 5.0);
  CHECK(ref::constant(5.0).size() == 1);
  CHECK(floats(dims{3, 0}).size() == 0);
  CHECK_THROWS_AS(x(2, 0), std::out_of_range);
  CHECK_THROWS_AS(x(0, -1), std::out_of_range);
  CHECK_THROWS_AS(x(0), std::out_of_range);
  CHECK_THROWS_AS(ints(dims{2}, std::vector<std::int32_t>{1}), std::invalid_argument);
  std::vector<dims> visited;
  ref::for_each_index({2, 2}, [&](const dims& i) { visited.push_back(i); });
  CHECK(visited == std::vector<dims>{{0, 0}, {0, 1}, {1, 0}, {1, 1}});
  visited.clear();
  ref::for_each_index({}, [&](const dims& i) { visited.push_back(i); });
  CHECK(visited == std::vector<dims>{{}});
  ref::for_each_index({2, 0}, [&](const dims&) { FAIL("no index in an empty shape"); });
}

TEST_CASE("elementwise: values by hand") {
  const doubles x = ref::vector({-2.0, 0.0, 4.0});
  const doubles y = ref::vector({1.0, 2.0, 8.0});
  CHECK(x + y == ref::vector({-1.0, 2.0, 12.0}));
  CHECK(x - y == ref::vector({-3.0, -2.0, -4.0}));
  CHECK(x * y == ref::vector({-2.0, 0.0, 32.0}));
  CHECK(x / y == ref::vector({-2.0, 0.0, 0.5}));
  CHECK(-x == ref::vector({2.0, 0.0, -4.0}));
  CHECK(ref::square(x) == ref::vector({4.0, 0.0, 16.0}));
  CHECK(ref::relu(x) == ref::vector({0.0, 0.0, 4.0}));
  CHECK(ref::sqrt(ref::vector({9.0, 0.25})) == ref::vector({3.0, 0.5}));
  CHECK(ref::pow(ref::vector({2.0, 9.0}), ref::vector({3.0, 0.5})) == ref::vector({8.0, 3.0}));
  CHECK(ref::exp(ref::constant(0.0)) == ref::constant(1.0));
  CHECK(ref::log(ref::constant(1.0)) == ref::constant(0.0));
  CHECK(ref::tanh(ref::constant(infinity)) == ref::constant(1.0));
  CHECK(ref::erf(ref::vector({0.0, infinity, -infinity})) == ref::vector({0.0, 1.0, -1.0}));
  CHECK(ref::sigmoid(ref::vector({0.0, infinity, -infinity})) == ref::vector({0.5, 1.0, 0.0}));
  CHECK(ref::max(x, ref::vector({-3.0, 0.5, 4.0})) == ref::vector({-2.0, 0.5, 4.0}));
  CHECK(ref::min(x, ref::vector({-3.0, 0.5, 4.0})) == ref::vector({-3.0, 0.0, 4.0}));
  CHECK(ref::vector<std::int32_t>({7, -7}) / ref::vector<std::int32_t>({2, 2}) ==
        ref::vector<std::int32_t>({3, -3}));
}

TEST_CASE("elementwise: a NaN wins max, min and relu") {
  const std::vector<std::pair<double, double>> cases{
      {not_a_number, 1}, {1, not_a_number}, {not_a_number, not_a_number}, {not_a_number, infinity}};
  for (const auto& [a, b] : cases) {
    CHECK(std::isnan(ref::larger(a, b)));
    CHECK(std::isnan(ref::smaller(a, b)));
  }
  CHECK(std::isnan(ref::relu(ref::constant(not_a_number)).data[0]));
}

TEST_CASE("elementwise: comparisons and where, which does not look at the branch not taken") {
  const doubles x = ref::vector({1.0, 2.0, not_a_number});
  const doubles y = ref::vector({2.0, 2.0, 2.0});
  using ref::boolean;
  CHECK(ref::less(x, y) == ref::vector<boolean>({1, 0, 0}));
  CHECK(ref::less_equal(x, y) == ref::vector<boolean>({1, 1, 0}));
  CHECK(ref::greater(x, y) == ref::vector<boolean>({0, 0, 0}));
  CHECK(ref::greater_equal(x, y) == ref::vector<boolean>({0, 1, 0}));
  CHECK(ref::equal(x, y) == ref::vector<boolean>({0, 1, 0}));
  CHECK(ref::not_equal(x, y) == ref::vector<boolean>({1, 0, 1}));
  CHECK(ref::where(ref::vector<boolean>({1, 1, 0}), x, y) == ref::vector({1.0, 2.0, 2.0}));
  CHECK(ref::where(bools(dims{2, 1}, std::vector<boolean>{1, 0}), ref::vector({1.0, 2.0}),
                   ref::constant(9.0)) == doubles({2, 2}, std::vector<double>{1, 2, 9, 9}));
}

TEST_CASE("broadcasting aligns the last axes and repeats extent 1") {
  CHECK(ref::broadcast_shape({2, 1, 3}, {4, 1}) == dims{2, 4, 3});
  CHECK(ref::broadcast_shape({}, {2, 3}) == dims{2, 3});
  CHECK(ref::broadcast_shape({1}, {0}) == dims{0});
  CHECK_THROWS_AS(ref::broadcast_shape({2, 3}, {2}), std::invalid_argument);
  CHECK_THROWS_AS(ref::broadcast_shape({3}, {0}), std::invalid_argument);
  const doubles column({2, 1}, std::vector<double>{10, 20});
  const doubles row = ref::vector({1.0, 2.0, 3.0});
  CHECK(column + row == doubles({2, 3}, std::vector<double>{11, 12, 13, 21, 22, 23}));
  CHECK(row + column == column + row);
}

TEST_CASE("reduce: sums, means and maxima over any set of axes") {
  const doubles x = counting<double>({2, 2, 3}); // 1 .. 12
  CHECK(ref::sum(x) == ref::constant(78.0));
  CHECK(ref::sum(x, {1}) == doubles({2, 3}, std::vector<double>{5, 7, 9, 17, 19, 21}));
  CHECK(ref::sum(x, {0, 2}) == ref::vector({30.0, 48.0}));
  CHECK(ref::sum(x, {2, 0}) == ref::vector({30.0, 48.0}));
  CHECK(ref::sum(x, {-1}, true) == doubles({2, 2, 1}, std::vector<double>{6, 15, 24, 33}));
  CHECK(ref::sum(x, dims{}) == x);
  CHECK(ref::mean(x, {0, 2}) == ref::vector({5.0, 8.0}));
  CHECK(ref::max(x, {0, 1}) == ref::vector({10.0, 11.0, 12.0}));
  CHECK(ref::max(-x) == ref::constant(-1.0));
  CHECK(ref::sum(ints(dims{2}, std::vector<std::int32_t>{3, 4})) == ref::constant<std::int32_t>(7));
  CHECK_THROWS_AS(ref::sum(x, {0, -3}), std::invalid_argument);
  CHECK_THROWS_AS(ref::sum(x, {3}), std::invalid_argument);
}

TEST_CASE("reduce: of nothing a sum is 0, a mean NaN, a maximum an exception") {
  const doubles none(dims{2, 0});
  CHECK(ref::sum(none, {1}) == ref::vector({0.0, 0.0}));
  CHECK(std::isnan(ref::mean(none, {1}).data[0]));
  CHECK_THROWS_AS(ref::max(none, {1}), std::invalid_argument);
  CHECK_THROWS_AS(ref::argmax(none, {1}), std::invalid_argument);
  CHECK(ref::max(none, {0}).size() == 0);
}

TEST_CASE("reduce: logsumexp is stable and keeps infinities") {
  CHECK(std::abs(ref::logsumexp(ref::vector({0.0, 0.0, 0.0})).data[0] - std::log(3.0)) < 1e-15);
  CHECK(std::abs(ref::logsumexp(ref::vector({1000.0, 1000.0})).data[0] - (1000 + std::log(2.0))) < 1e-12);
  CHECK(ref::logsumexp(ref::vector({-infinity, -infinity})).data[0] == -infinity);
  CHECK(ref::logsumexp(ref::vector({-infinity, 3.0})).data[0] == 3.0);
  CHECK(ref::logsumexp(ref::vector({infinity, 3.0})).data[0] == infinity);
  CHECK(std::isnan(ref::logsumexp(ref::vector({not_a_number, 3.0})).data[0]));
  CHECK(ref::finite_max(ref::vector({1.0, 3.0}), {0}) == ref::vector({3.0}));
  CHECK(ref::finite_max(ref::vector({infinity, 3.0}), {0}) == ref::vector({DBL_MAX}));
  CHECK(ref::finite_max(ref::vector({-infinity}), {0}) == ref::vector({-DBL_MAX}));
  CHECK(ref::logsumexp(counting<double>({2, 3}), {0}, true).shape == dims{1, 3});
}

TEST_CASE("reduce: argmax is the first maximum, the first NaN wins") {
  const auto place = [](std::initializer_list<double> values) {
    return ref::argmax(ref::vector(values)).data[0];
  };
  CHECK(place({1, 3, 3, 2}) == 1);
  CHECK(place({1, not_a_number, 3, not_a_number}) == 1);
  CHECK(place({-infinity, -infinity}) == 0);
  CHECK(place({-infinity, -5}) == 1);
  const doubles x({2, 3}, std::vector<double>{1, 9, 2, 8, 0, 8});
  CHECK(ref::argmax(x, {1}) == ref::vector<std::int32_t>({1, 0}));
  CHECK(ref::argmax(x, {0}) == ref::vector<std::int32_t>({1, 0, 1}));
  CHECK(ref::argmax(x, {0}, true).shape == dims{1, 3});
  CHECK(ref::argmax(-x) == ref::constant<std::int32_t>(4));
  const std::int32_t smallest = std::numeric_limits<std::int32_t>::lowest();
  CHECK(ref::argmax(ref::vector<std::int32_t>({smallest, smallest + 1})).data[0] == 1);
}

TEST_CASE("shape: by hand") {
  const ints x = counting<std::int32_t>({2, 3});
  using list = std::vector<std::int32_t>;
  CHECK(ref::reshape(x, {3, 2}) == ints({3, 2}, x.data));
  CHECK_THROWS_AS(ref::reshape(x, {4}), std::invalid_argument);
  CHECK(ref::transpose(x, {1, 0}) == ints({3, 2}, list{1, 4, 2, 5, 3, 6}));
  CHECK_THROWS_AS(ref::transpose(x, {0, 0}), std::invalid_argument);
  CHECK(ref::slice(x, 1, 1, 3) == ints({2, 2}, list{2, 3, 5, 6}));
  CHECK(ref::slice(x, 0, 1, 1).shape == dims{0, 3});
  CHECK_THROWS_AS(ref::slice(x, 1, 1, 4), std::invalid_argument);
  CHECK(ref::pad(x, -1, 1, 2) == ints({2, 6}, list{0, 1, 2, 3, 0, 0, 0, 4, 5, 6, 0, 0}));
  CHECK(ref::pad(x, 0, 0, 1, 9) == ints({3, 3}, list{1, 2, 3, 4, 5, 6, 9, 9, 9}));
  CHECK(ref::concat<std::int32_t>({x, ref::slice(x, 1, 0, 1)}, 1) ==
        ints({2, 4}, list{1, 2, 3, 1, 4, 5, 6, 4}));
  CHECK(ref::concat<std::int32_t>({x, x}, 0).shape == dims{4, 3});
  CHECK_THROWS_AS(ref::concat<std::int32_t>({x, ref::slice(x, 1, 0, 1)}, 0), std::invalid_argument);
  CHECK(ref::broadcast_to(ref::vector<std::int32_t>({7, 8}), {2, 2}) == ints({2, 2}, list{7, 8, 7, 8}));
  CHECK_THROWS_AS(ref::broadcast_to(x, {3}), std::invalid_argument);
  CHECK(ref::sum_to(x, {2, 1}) == ints({2, 1}, list{6, 15}));
  CHECK(ref::sum_to(x, {}) == ref::constant<std::int32_t>(21));
}

TEST_CASE("shape: a transpose by three axes moves x[i,j,k] to y[k,i,j]") {
  const doubles x = random_array({2, 3, 4}, 1);
  const doubles y = ref::transpose(x, {2, 0, 1});
  CHECK(y.shape == dims{4, 2, 3});
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k) CHECK(y(k, i, j) == x(i, j, k));
}

TEST_CASE("shape: pad is the transpose of slice, sum_to that of broadcast_to") {
  const doubles x = random_array({3, 5}, 2);
  const doubles u = random_array({3, 2}, 3);
  CHECK(inner(u, ref::slice(x, 1, 2, 4)) == doctest::Approx(inner(ref::pad(u, 1, 2, 1), x)));
  const doubles b = random_array({3, 1}, 4);
  const doubles v = random_array({2, 3, 4}, 5);
  CHECK(inner(v, ref::broadcast_to(b, {2, 3, 4})) == doctest::Approx(inner(ref::sum_to(v, {3, 1}), b)));
}

TEST_CASE("index: take, scatter_add and iota by hand") {
  const ints x = counting<std::int32_t>({2, 3});
  using list = std::vector<std::int32_t>;
  const ints idx({2, 2}, list{2, 0, 0, 2});
  CHECK(ref::take(x, idx, 1) == ints({2, 2, 2}, list{3, 1, 1, 3, 6, 4, 4, 6}));
  CHECK(ref::take(x, ref::constant<std::int32_t>(1), 0) == ref::vector<std::int32_t>({4, 5, 6}));
  CHECK(ref::take(x, ref::vector<std::int32_t>({1, 1}), -2) == ints({2, 3}, list{4, 5, 6, 4, 5, 6}));
  CHECK_THROWS_AS(ref::take(x, ref::vector<std::int32_t>({3}), 1), std::out_of_range);
  CHECK_THROWS_AS(ref::take(x, ref::vector<std::int32_t>({-1}), 1), std::out_of_range);
  CHECK(ref::scatter_add(ref::vector<std::int32_t>({3, 1, 3}), ref::vector({1.0, 2.0, 4.0}), 0, 4) ==
        ref::vector({0.0, 2.0, 0.0, 5.0}));
  CHECK_THROWS_AS(ref::scatter_add(idx, ref::vector({1.0, 2.0}), 0, 4), std::invalid_argument);
  CHECK(ref::as_index(ref::clamped(ref::vector<std::int32_t>({-7, 1, 9}), 2.0)) ==
        ref::vector<std::int32_t>({0, 1, 2}));
  CHECK(ref::flops_of([&] { ref::clamped(idx, counted(1.0)); }) == 8);
  CHECK(ref::iota<std::int32_t>({2, 3}, 1) == ints({2, 3}, list{0, 1, 2, 0, 1, 2}));
  CHECK(ref::iota<float>({2}, 0) == ref::vector({0.0f, 1.0f}));
}

TEST_CASE("index: scatter_add is the transpose of take, on every axis") {
  const doubles x = random_array({4, 5, 6}, 6);
  const ints idx({2, 3}, support::random_integers(6, 7, 0, 4));
  for (std::int64_t axis : {0, 1, 2}) {
    const doubles y = ref::take(x, idx, axis);
    const doubles u = random_array(y.shape, 8);
    const doubles back = ref::scatter_add(idx, u, axis, x.shape[static_cast<std::size_t>(axis)]);
    CHECK(inner(u, y) == doctest::Approx(inner(back, x)));
  }
}

TEST_CASE("matmul: by hand, all four transposes, batches broadcast") {
  const doubles a = counting<double>({2, 3});
  const doubles b({3, 2}, std::vector<double>{1, 0, 0, 1, 2, -1});
  const doubles y({2, 2}, std::vector<double>{7, -1, 16, -1});
  const doubles a_t = ref::transpose(a, {1, 0});
  const doubles b_t = ref::transpose(b, {1, 0});
  CHECK(ref::matmul(a, b) == y);
  CHECK(ref::matmul(a_t, b, true) == y);
  CHECK(ref::matmul(a, b_t, false, true) == y);
  CHECK(ref::matmul(a_t, b_t, true, true) == y);
  CHECK_THROWS_AS(ref::matmul(a, b_t), std::invalid_argument);
  CHECK_THROWS_AS(ref::matmul(a, ref::vector({1.0, 2.0, 3.0})), std::invalid_argument);

  const doubles p = random_array({2, 1, 3, 4}, 9);
  const doubles q = random_array({5, 4, 2}, 10);
  const doubles r = ref::matmul(p, q);
  CHECK(r.shape == dims{2, 5, 3, 2});
  for (std::int64_t i = 0; i < 2; ++i)
    for (std::int64_t j = 0; j < 5; ++j) {
      const doubles one = ref::matmul(ref::reshape(ref::slice(p, 0, i, i + 1), {3, 4}),
                                      ref::reshape(ref::slice(q, 0, j, j + 1), {4, 2}));
      CHECK(ref::reshape(ref::slice(ref::slice(r, 0, i, i + 1), 1, j, j + 1), {3, 2}) == one);
    }
  CHECK(ref::matmul(doubles(dims{2, 0}), doubles(dims{0, 3})) == doubles(dims{2, 3}));
}

TEST_CASE("conv2d: by hand") {
  const doubles x = counting<double>({1, 1, 3, 3});
  const doubles w({1, 1, 2, 2}, std::vector<double>{1, 10, 100, 1000});
  // correlation, not convolution: y[0,0] = 1 + 10 * 2 + 100 * 4 + 1000 * 5
  CHECK(ref::conv2d(x, w) == doubles({1, 1, 2, 2}, std::vector<double>{5421, 6532, 8754, 9865}));
  CHECK(ref::conv2d(x, w, {.stride_y = 2, .bottom = 1}) ==
        doubles({1, 1, 2, 2}, std::vector<double>{5421, 6532, 87, 98}));
  CHECK(ref::conv2d(x, w, {.top = 1, .right = 1}) ==
        doubles({1, 1, 3, 3}, std::vector<double>{2100, 3200, 300, 5421, 6532, 603, 8754, 9865, 906}));
  CHECK(ref::conv2d(x, w, {.dilation_y = 2, .dilation_x = 2}) ==
        doubles({1, 1, 1, 1}, std::vector<double>{1 + 30 + 700 + 9000}));
  CHECK(ref::conv2d(x, w, {.stride_x = 2, .left = 1}) ==
        doubles({1, 1, 2, 2}, std::vector<double>{4010, 6532, 7040, 9865}));
  CHECK_THROWS_AS(ref::conv2d(x, w, {.dilation_y = 3}), std::invalid_argument);
  CHECK_THROWS_AS(ref::conv2d(x, w, {.groups = 2}), std::invalid_argument);
}

TEST_CASE("conv2d: channels add up, groups do not meet") {
  const doubles x({1, 2, 1, 1}, std::vector<double>{3, 5});
  const doubles full({2, 2, 1, 1}, std::vector<double>{1, 10, 100, 1000});
  CHECK(ref::conv2d(x, full) == doubles({1, 2, 1, 1}, std::vector<double>{53, 5300}));
  const doubles depthwise({4, 1, 1, 1}, std::vector<double>{1, 10, 100, 1000});
  CHECK(ref::conv2d(x, depthwise, {.groups = 2}) ==
        doubles({1, 4, 1, 1}, std::vector<double>{3, 30, 500, 5000}));
}

TEST_CASE("conv2d: <y_bar, fprop(x, w)> == <dgrad(y_bar, w), x> == <wgrad(x, y_bar), w>") {
  const std::vector<ref::conv2d_config> configs = {
      {},
      {.stride_y = 2, .stride_x = 3},
      {.top = 1, .bottom = 2, .right = 1},
      {.dilation_x = 2, .groups = 2},
      {.stride_y = 2, .stride_x = 2, .top = 1, .left = 2, .dilation_y = 2, .groups = 2}};
  std::uint64_t seed = 20;
  for (const ref::conv2d_config& c : configs) {
    const doubles x = random_array({2, 4, 7, 8}, ++seed);
    const doubles w = random_array({6, 4 / c.groups, 3, 2}, ++seed);
    const doubles y = ref::conv2d(x, w, c);
    const doubles y_bar = random_array(y.shape, ++seed);
    CHECK(inner(y_bar, y) == doctest::Approx(inner(ref::conv2d_dgrad(y_bar, w, x.shape, c), x)));
    CHECK(inner(y_bar, y) == doctest::Approx(inner(ref::conv2d_wgrad(x, y_bar, w.shape, c), w)));
  }
}

TEST_CASE("conv1d, conv3d: by hand") {
  const doubles w({1, 1, 2}, std::vector<double>{1, 10});
  CHECK(ref::conv1d(counting<double>({1, 1, 4}), w, {.stride = 2, .before = 1}, 1) ==
        doubles({1, 1, 2}, std::vector<double>{10, 2 + 30}));
  // planes 1 2 3 and two filter planes, then a plane of zeros behind
  const doubles planes({1, 1, 2, 1, 1}, std::vector<double>{1, 10});
  CHECK(ref::conv3d(counting<double>({1, 1, 3, 1, 1}), planes, {{.after = 1}, {}, {}}, 1) ==
        doubles({1, 1, 3, 1, 1}, std::vector<double>{21, 32, 3}));
}

TEST_CASE("conv_transpose1d, conv_transpose2d, conv_transpose3d: by hand") {
  const doubles x({1, 1, 2}, std::vector<double>{1, 2});
  const doubles w({1, 1, 3}, std::vector<double>{1, 10, 100});
  CHECK(ref::conv_transpose1d(x, w, {}, 0, 1) == doubles({1, 1, 4}, std::vector<double>{1, 12, 120, 200}));
  CHECK(ref::conv_transpose1d(x, w, {.stride = 2, .before = 1}, 1, 1) ==
        doubles({1, 1, 5}, std::vector<double>{10, 102, 20, 200, 0}));
  CHECK(ref::conv_transpose1d(x, w, {.after = 1, .dilation = 2}, 0, 1) ==
        doubles({1, 1, 5}, std::vector<double>{1, 2, 10, 20, 100}));
  CHECK(ref::conv_transpose2d(doubles({1, 1, 1, 2}, std::vector<double>{1, 2}),
                              doubles({1, 1, 2, 1}, std::vector<double>{1, 10}), {.stride_x = 2}, 0,
                              1) == doubles({1, 1, 2, 4}, std::vector<double>{1, 0, 2, 0, 10, 0, 20, 0}));
  // two planes of two columns; the third plane of the result is the first filter plane's on the second plane of x
  CHECK(ref::conv_transpose3d(doubles({1, 1, 2, 1, 2}, std::vector<double>{1, 2, 3, 4}),
                              doubles({1, 1, 2, 1, 1}, std::vector<double>{1, 10}), {{.stride = 2}, {}, {}},
                              {1, 0, 0}, 1) ==
        doubles({1, 1, 5, 1, 2}, std::vector<double>{1, 2, 10, 20, 3, 4, 30, 40, 0, 0}));
  // channel j of the result from filter j of each group
  const doubles two({1, 2, 1, 1, 1}, std::vector<double>{3, 5});
  const doubles filters({2, 2, 1, 1, 1}, std::vector<double>{1, 10, 100, 1000});
  CHECK(ref::conv_transpose3d(two, filters, {{}, {}, {}}, {0, 0, 0}, 2) ==
        doubles({1, 4, 1, 1, 1}, std::vector<double>{3, 30, 500, 5000}));
  CHECK(ref::conv_transpose3d(two, filters, {{}, {}, {}}, {0, 0, 0}, 1) ==
        doubles({1, 2, 1, 1, 1}, std::vector<double>{503, 5030}));
}

TEST_CASE("conv_transpose: <y, conv(x, w)> == <conv_transpose(y, w), x>, where padding is left out") {
  std::uint64_t seed = 60;
  for (const std::int64_t groups : {1, 2}) {
    const doubles w1 = random_array({6, 4 / groups, 3}, ++seed);
    for (const ref::axis_config& a :
         {ref::axis_config{}, {.stride = 2, .before = 1}, {.stride = 3, .after = 2, .dilation = 2}}) {
      for (const std::int64_t more : {0, 1}) {
        if (more >= a.stride) continue;
        const doubles y = random_array({2, 6, 4}, ++seed);
        const doubles x = random_array({2, 4, a.covered(4, 3) + more}, ++seed);
        CHECK(inner(y, ref::conv1d(x, w1, a, groups)) ==
              doctest::Approx(inner(ref::conv_transpose1d(y, w1, a, more, groups), x)));
      }
    }
    const doubles w3 = random_array({6, 4 / groups, 2, 3, 2}, ++seed);
    const ref::axis_config a[3] = {
        {.stride = 3, .before = 1, .dilation = 2}, {.stride = 2, .after = 1}, {.before = 1}};
    const doubles y = random_array({2, 6, 3, 2, 3}, ++seed);
    const doubles x =
        random_array({2, 4, a[0].covered(3, 2) + 2, a[1].covered(2, 3) + 1, a[2].covered(3, 2)}, ++seed);
    CHECK(inner(y, ref::conv3d(x, w3, a, groups)) ==
          doctest::Approx(inner(ref::conv_transpose3d(y, w3, a, {2, 1, 0}, groups), x)));
  }
}

TEST_CASE("pool: maxima, their places, gather and scatter by hand") {
  const doubles x({1, 1, 3, 3}, std::vector<double>{1, 5, 2, 5, 4, 9, 0, 0, 3});
  const ref::pool2d_config two{.height = 2, .width = 2};
  const doubles y({1, 1, 2, 2}, std::vector<double>{5, 9, 5, 9});
  const ints idx({1, 1, 2, 2}, std::vector<std::int32_t>{1, 5, 3, 5}); // of two 5s the first
  CHECK(ref::max_pool2d(x, two) == y);
  CHECK(ref::window_argmax(x, two) == idx);
  CHECK(ref::window_gather(x, idx) == y);
  CHECK(ref::window_scatter(counting<double>({1, 1, 2, 2}), idx, 3, 3) ==
        doubles({1, 1, 3, 3}, std::vector<double>{0, 1, 0, 3, 0, 2 + 4, 0, 0, 0}));
  CHECK(ref::max_pool2d(x, {.height = 2, .width = 2, .stride_y = 2, .stride_x = 2}).shape ==
        dims{1, 1, 1, 1});
}

TEST_CASE("pool: padding never wins, a NaN does, windows of padding only are refused") {
  const ref::pool2d_config padded{.height = 2, .width = 2, .stride_y = 2, .stride_x = 2, .top = 1, .left = 1};
  const doubles x({1, 1, 2, 2}, std::vector<double>{-7, -infinity, -3, not_a_number});
  const doubles y = ref::max_pool2d(x, {.height = 2, .width = 2, .top = 1, .left = 1});
  CHECK(y(0, 0, 0, 0) == -7);
  CHECK(y(0, 0, 0, 1) == -7);
  CHECK(y(0, 0, 1, 0) == -3);
  CHECK(std::isnan(y(0, 0, 1, 1)));
  CHECK(ref::window_argmax(x, {.height = 2, .width = 2, .top = 1, .left = 1}) ==
        ints({1, 1, 2, 2}, std::vector<std::int32_t>{0, 0, 2, 3}));
  CHECK(ref::window_argmax(doubles(dims{1, 1, 1, 1}, -infinity), padded) == ints(dims{1, 1, 1, 1}, 0));
  const ref::pool2d_config outside{.height = 1, .width = 1, .top = 1};
  CHECK_THROWS_AS(ref::max_pool2d(x, outside), std::invalid_argument);
  CHECK_THROWS_AS(ref::window_argmax(x, outside), std::invalid_argument);
}

TEST_CASE("pool: sums and both kinds of average by hand") {
  const doubles x = counting<double>({1, 1, 2, 2});
  const ref::pool2d_config c{.height = 2, .width = 2, .stride_y = 1, .stride_x = 2, .top = 1, .right = 2};
  CHECK(ref::window_sum(x, c) == doubles({1, 1, 2, 2}, std::vector<double>{3, 0, 10, 0}));
  const ref::pool2d_config d{.height = 2, .width = 2, .top = 1};
  CHECK(ref::avg_pool2d(x, d) == doubles({1, 1, 2, 1}, std::vector<double>{1.5, 2.5}));
  CHECK(ref::window_sum(counting<double>({1, 1, 1, 5}), {.width = 3, .dilation_x = 2}) ==
        doubles({1, 1, 1, 1}, std::vector<double>{1 + 3 + 5}));
  CHECK(ref::avg_pool2d(x, d, true) == doubles({1, 1, 2, 1}, std::vector<double>{0.75, 2.5}));
}

TEST_CASE("pool: the transposes of gather and of the window sum") {
  const doubles x = random_array({2, 3, 5, 6}, 41);
  const ref::pool2d_config c{
      .height = 3, .width = 2, .stride_y = 2, .stride_x = 1, .top = 1, .bottom = 1, .right = 1};
  const ints idx = ref::window_argmax(x, c);
  const doubles y = ref::max_pool2d(x, c);
  CHECK(ref::window_gather(x, idx) == y);
  const doubles u = random_array(y.shape, 42);
  CHECK(inner(u, y) == doctest::Approx(inner(ref::window_scatter(u, idx, 5, 6), x)));
  CHECK(inner(u, ref::window_sum(x, c)) ==
        doctest::Approx(inner(ref::window_sum_transpose(u, x.shape, c), x)));
}

TEST_CASE("loss: by hand") {
  const doubles x({2, 2}, std::vector<double>{0, std::log(3.0), 5, 5});
  CHECK(support::close(ref::softmax(x).data, std::vector<double>{0.25, 0.75, 0.5, 0.5}, 1e-15));
  CHECK(support::close(ref::log_softmax(x).data,
                       std::vector<double>{std::log(0.25), std::log(0.75), std::log(0.5), std::log(0.5)},
                       1e-14));
  CHECK(support::close(ref::softmax(x, 0).data,
                       std::vector<double>{1 / (1 + std::exp(5.0)), 3 / (3 + std::exp(5.0)),
                                           1 / (1 + std::exp(-5.0)), 1 / (1 + 3 * std::exp(-5.0))},
                       1e-15));
  CHECK(support::close(ref::softmax_cross_entropy(x, ref::vector<std::int32_t>({0, 1})).data,
                       std::vector<double>{std::log(4.0), std::log(2.0)}, 1e-15));
  CHECK(support::close(ref::softmax(ref::vector({1000.0, 1000.0})).data, std::vector<double>{0.5, 0.5}, 0));
  CHECK_THROWS_AS(ref::softmax_cross_entropy(x, ref::vector<std::int32_t>({0, 2})), std::out_of_range);
  CHECK_THROWS_AS(ref::softmax_cross_entropy(x, ref::vector<std::int32_t>({0})), std::invalid_argument);
  CHECK(ref::mse(ref::vector({1.0, 2.0}), ref::vector({3.0, 1.0})) == ref::constant(2.5));
}

TEST_CASE("norm: by hand") {
  // channels 1 1 5 5 | 0 2 0 2, of two images
  const doubles x({2, 2, 2}, std::vector<double>{1, 1, 0, 2, 5, 5, 0, 2});
  const doubles g = ref::vector({2.0, 3.0}), b = ref::vector({10.0, 20.0});
  CHECK(ref::batch_mean(x) == ref::vector({3.0, 1.0}));
  CHECK(ref::batch_variance(x) == ref::vector({4.0, 1.0}));
  CHECK(ref::batch_norm(x, 0.0).data == std::vector<double>{-1, -1, -1, 1, 1, 1, -1, 1});
  CHECK(ref::batch_norm(x, g, b, 0.0).data == std::vector<double>{8, 8, 17, 23, 12, 12, 17, 23});
  CHECK(ref::batch_norm(x, g, b, ref::vector({1.0, 0.0}), ref::vector({1.0, 9.0}), 0.0).data ==
        std::vector<double>{10, 10, 20, 22, 18, 18, 20, 22});
  const double r = std::sqrt(0.5);
  CHECK(
      support::close(ref::instance_norm(x, 1.0).data, std::vector<double>{0, 0, -r, r, 0, 0, -r, r}, 1e-15));
  CHECK(ref::instance_norm(x, g, b, 0.25).data[0] == 10);
  const doubles first({1, 2, 2}, std::vector<double>{1, 1, 0, 2}); // mean 1, variance 1 / 2
  CHECK(
      support::close(ref::group_norm(first, 1, g, b, 0.5).data, std::vector<double>{10, 10, 17, 23}, 1e-14));
  CHECK(ref::group_norm(x, 2, 0.5) == ref::instance_norm(x, 0.5));
  CHECK(ref::layer_norm(x, 1, 0.5) == ref::instance_norm(x, 0.5));
  CHECK(support::close(ref::layer_norm(first, 2, 0.5).data, std::vector<double>{0, 0, -1, 1}, 1e-15));
  CHECK(support::close(ref::layer_norm(ref::vector({1.0, 7.0}), 1, g, b, 0.0).data,
                       std::vector<double>{8, 23}, 1e-14));
  CHECK(support::close(ref::rms_norm(ref::vector({1.0, 7.0}), 1, g, 0.0).data, std::vector<double>{0.4, 4.2},
                       1e-15));
}

TEST_CASE("counted: every operation counts 1, copies and conversions 0") {
  counted a = 2.0;
  counted b = 3.0;
  CHECK(ref::flops_of([&] {
          counted c = a;
          c = b;
          static_cast<void>(static_cast<double>(c));
        }) == 0);
  CHECK(ref::flops_of([&] {
          a + b;
          a - b;
          a* b;
          a / b;
          -a;
        }) == 5);
  CHECK(ref::flops_of([&] { static_cast<void>(a < b || a > b); }) == 1);
  CHECK(ref::flops_of([&] { static_cast<void>((a <= b) + (a >= b) + (a == b) + (a != b)); }) == 4);
  CHECK(ref::flops_of([&] {
          sqrt(a);
          exp(a);
          log(a);
          tanh(a);
          pow(a, b);
          ref::once(a, [](double x) { return std::sin(x); });
        }) == 6);
  CHECK(ref::flops_of([&] {
          a += b;
          a -= b;
          a *= b;
          a /= b;
        }) == 4);
  CHECK(a.value() == 2.0);
}

TEST_CASE("counted: the operations of each family are those its header states") {
  const auto x = [](const dims& shape) { return ref::cast<counted>(random_array(shape, 51)); };
  const ref::array<counted> a = x({4, 6});
  const ref::array<counted> row = x({6});
  const auto flops = [](auto&& f) { return ref::flops_of(f); };
  CHECK(flops([&] { a + row; }) == 24);
  CHECK(flops([&] { -a; }) == 24);
  CHECK(flops([&] { ref::square(a); }) == 24);
  CHECK(flops([&] { ref::relu(a); }) == 24);
  CHECK(flops([&] { ref::max(a, row); }) == 24);
  CHECK(flops([&] { ref::min(a, row); }) == 24);
  CHECK(flops([&] { ref::sigmoid(a); }) == 96);
  CHECK(flops([&] { ref::less(a, row); }) == 24);
  CHECK(flops([&] { ref::where(bools(dims{4, 6}), a, row); }) == 0);

  CHECK(flops([&] { ref::sum(a, {1}); }) == 24);
  CHECK(flops([&] { ref::mean(a, {1}); }) == 24 + 4);
  CHECK(flops([&] { ref::max(a, {1}); }) == 24);
  CHECK(flops([&] { ref::argmax(a, {1}); }) == 24);
  CHECK(flops([&] { ref::logsumexp(a, {1}); }) == 4 * 24 + 5 * 4);

  CHECK(flops([&] { ref::pad(ref::slice(ref::transpose(a, {1, 0}), 0, 1, 3), 0, 1, 1); }) == 0);
  CHECK(flops([&] { ref::sum_to(a, {6}); }) == 24);
  CHECK(flops([&] { ref::take(a, ref::vector<std::int32_t>({0, 1}), 0); }) == 0);
  CHECK(flops([&] { ref::scatter_add(ref::vector<std::int32_t>({0, 1, 0, 1}), a, 0, 2); }) == 24);

  CHECK(flops([&] { ref::matmul(a, x({6, 5})); }) == 2 * 4 * 5 * 6);
  CHECK(flops([&] { ref::matmul(x({3, 4, 6}), x({6, 5})); }) == 3 * 2 * 4 * 5 * 6);

  const dims image{2, 4, 5, 6};
  const dims filters{6, 2, 3, 3};
  const std::int64_t all = 2 * 6 * 3 * 4 * 2 * 3 * 3; // N K P Q (C/G) R S
  const ref::conv2d_config plain{.groups = 2};
  CHECK(flops([&] { ref::conv2d(x(image), x(filters), plain); }) == 2 * all);
  // rows: p = 0, 1, 2 of stride 2 see 2, 3, 2 of 3 taps; columns: q = 0 .. 4 see 2, 3, 3, 3, 3
  const ref::conv2d_config c{.stride_y = 2, .top = 1, .bottom = 1, .left = 1, .groups = 2};
  const dims out{2, 6, 3, 5};
  const std::int64_t products = 2 * 6 * 2 * (2 + 3 + 2) * (2 + 3 + 3 + 3 + 3);
  CHECK(flops([&] { ref::conv2d(x(image), x(filters), c); }) == 2 * products);
  CHECK(flops([&] { ref::conv2d_dgrad(x(out), x(filters), image, c); }) == 2 * products);
  CHECK(flops([&] { ref::conv2d_wgrad(x(image), x(out), filters, c); }) == 2 * products);

  // rows: p = 0, 1 of stride 2 see 2, 3 of 3 taps; columns: q = 0 .. 4 see 2
  const ref::pool2d_config p{.height = 3, .width = 2, .stride_y = 2, .top = 1};
  const dims pooled{2, 4, 2, 5};
  const std::int64_t taps = 2 * 4 * (2 + 3) * (5 * 2);
  CHECK(flops([&] { ref::max_pool2d(x(image), p); }) == taps);
  CHECK(flops([&] { ref::window_argmax(x(image), p); }) == taps);
  CHECK(flops([&] { ref::window_sum(x(image), p); }) == taps);
  CHECK(flops([&] { ref::window_sum_transpose(x(pooled), image, p); }) == taps);
  CHECK(flops([&] { ref::avg_pool2d(x(image), {.height = 5, .width = 6}); }) == 2 * 4 * (5 * 6 + 1));
  CHECK(flops([&] { ref::avg_pool2d(x(image), p, true); }) == taps + ref::element_count(pooled));
  CHECK(flops([&] { ref::avg_pool2d(x(image), p); }) == taps + taps / (2 * 4) + ref::element_count(pooled));
  const ints places(pooled, 0);
  CHECK(flops([&] { ref::window_gather(x(image), places); }) == 0);
  CHECK(flops([&] { ref::window_scatter(x(pooled), places, 5, 6); }) == ref::element_count(pooled));

  CHECK(flops([&] { ref::softmax(a); }) == 5 * 24 + 3 * 4);
  CHECK(flops([&] { ref::log_softmax(a); }) == 5 * 24 + 3 * 4);
  CHECK(flops([&] { ref::softmax_cross_entropy(a, ints(dims{4})); }) == 6 * 24 + 4 * 4);
  CHECK(flops([&] { ref::mse(a, row); }) == 3 * 24 + 1);

  const ref::array<counted> images = x(image), c4 = x({4}), v4 = ref::square(c4); // 240 elements
  CHECK(flops([&] { ref::batch_norm(images, c4, c4); }) == 12 * 240 + (13 + 2) * 4 + 1);
  CHECK(flops([&] { ref::batch_norm(images); }) == 11 * 240 + 15 * 4 + 1);
  CHECK(flops([&] { ref::batch_norm(images, c4, c4, c4, v4); }) == 3 * 240 + 3 * 4);
  CHECK(flops([&] { ref::instance_norm(images, c4, c4); }) == 12 * 240 + (13 + 2) * 8);
  CHECK(flops([&] { ref::group_norm(images, 2, c4, c4); }) == 12 * 240 + 2 * 4 + 17 * 8);
  CHECK(flops([&] { ref::layer_norm(a, 1, row, row); }) == 13 * 24 + 15 * 4);
  CHECK(flops([&] { ref::layer_norm(a, 2); }) == 11 * 24 + 15);
  CHECK(flops([&] { ref::rms_norm(a, 1, row); }) == 8 * 24 + 7 * 4);
}

TEST_CASE("the reference gives the same numbers in float, double and counted") {
  const doubles x = random_array({2, 2, 6, 6}, 61);
  const doubles w = random_array({3, 2, 3, 3}, 62);
  const ref::conv2d_config c{.stride_y = 2, .top = 1, .bottom = 1};
  const auto net = [&](const auto& image, const auto& filters) {
    return ref::softmax(ref::reshape(ref::tanh(ref::conv2d(image, filters, c)), {2, 36}));
  };
  const doubles truth = net(x, w);
  CHECK(ref::cast<double>(net(ref::cast<counted>(x), ref::cast<counted>(w))) == truth);
  CHECK(support::close(net(ref::cast<float>(x), ref::cast<float>(w)).data, truth.data, 1e-6));
}
