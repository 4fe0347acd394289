// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Rows that the program is given: those of an index list, of whatever length, and of these where a condition holds.
#include "known_rows.hpp"

namespace tl = tapeless;
using namespace known;

namespace {

constexpr auto listed = [](const auto& p, auto x, auto t, auto rows) {
  return tl::sum(tl::gather(losses(p, x, t), rows));
};
template <class R> constexpr tl::cost cost_of_list =
    tl::jit(tl::value_and_grad<0>(listed)).template cost<parameters, data, targets, R>();
constexpr tl::cost cost_of_all =
    tl::jit(tl::value_and_grad<0, 3>(weighted)).cost<parameters, data, targets, numbers>();

using of_nine = tl::tensor<std::int32_t, 9>;
using of_ten = tl::tensor<std::int32_t, 10>;
using of_any = tl::tensor<std::int32_t, tl::dyn<'k'>>;
using of_two_axes = tl::tensor<std::int32_t, 2, 3>;
// at most three rows of four
static_assert(cost_of_list<of_nine>.densified == 0 && cost_of_list<of_ten>.densified == 1);
static_assert(cost_of_list<of_nine>.adjoint.flops <= 0.8 * cost_of_all.adjoint.flops);
static_assert(cost_of_list<of_two_axes>.densified == 1);

// Of as many as the run brings, which count as 1024: few of many rows, but not of few.
template <int Rows> constexpr tl::cost cost_of_any =
    tl::jit(tl::value_and_grad<0>(listed))
        .cost<parameters, tl::tensor<double, Rows, inputs>, tl::tensor<double, Rows, outputs>, of_any>();
static_assert(flops_of_all_rows(cost_of_any<4096>.adjoint.flops) < 10 && cost_of_any<4096>.densified == 0);
static_assert(flops_of_all_rows(cost_of_any<256>.adjoint.flops) > 256 * inputs * outputs);

// Of rows that are listed those where a condition holds.
constexpr auto listed_where = [](const auto& p, auto x, auto t, auto keep, auto rows) {
  return tl::sum(tl::gather(tl::where(keep, losses(p, x, t), 0.0), rows));
};
constexpr tl::cost cost_of_listed_where =
    tl::jit(tl::value_and_grad<0>(listed_where)).cost<parameters, data, targets, condition, of_nine>();
static_assert(cost_of_listed_where.densified == 0);
static_assert(cost_of_listed_where.flops().at(tl::dim<'#'>(9)) <=
              cost_of_list<of_nine>.flops() + 9 * outputs);

} // namespace

TEST_CASE("indexed rows: lists of any length, whose rows may repeat") {
  batch b;
  const auto check = [&](auto& run, const auto& rows) {
    std::vector<double> w(n, 0.0);
    for (const std::int32_t i : rows) w[static_cast<std::size_t>(i)] += 1;
    CHECK(agree(value_and_gradient(run, *b.p, *b.x, *b.t, rows), expected(b, w)));
  };
  // also where there are fewer rows than indices
  auto any = tl::jit(tl::value_and_grad<0>(listed)).bind<parameters, data, targets, of_any>(tl::dim<'k'>(20));
  for (const int k : {0, 1, 7, 12, 20}) {
    tl::owned<of_any> rows{tl::dim<'k'>(k)};
    for (int i = 0; i < k; ++i) (*rows)[i] = i * 5 % n;
    check(any, *rows);
  }
  auto most = tl::jit(tl::value_and_grad<0>(listed)).bind<parameters, data, targets, of_nine>();
  tl::owned<of_nine> nine;
  for (int i = 0; i < 9; ++i) (*nine)[i] = i * 7 % 10;
  check(most, *nine);
}

TEST_CASE("indexed rows: of a list, those where a condition holds") {
  batch b;
  tl::owned<condition> keep;
  tl::owned<of_nine> rows;
  std::vector<double> w(n, 0.0);
  for (int i = 0; i < n; ++i) (*keep)[i] = i % 3 != 1;
  for (int k = 0; k < 9; ++k) {
    const int i = k * 7 % 10;
    (*rows)[k] = i;
    if ((*keep)[i]) w[static_cast<std::size_t>(i)] += 1;
  }
  const std::vector<double> reference = expected(b, w);
  for (int i = 0; i < n; ++i)
    if (w[static_cast<std::size_t>(i)] == 0) b.poison(i);
  auto run =
      tl::jit(tl::value_and_grad<0>(listed_where)).bind<parameters, data, targets, condition, of_nine>();
  CHECK(agree(value_and_gradient(run, *b.p, *b.x, *b.t, *keep, *rows), reference));
}

TEST_CASE("indexed rows: selected from fewer values than there are rows, all of these too") {
  constexpr auto some = [](const auto& p, auto x, auto t, auto first) {
    return tl::sum(tl::gather(losses(p, x, t), tl::where<'k'>(first)));
  };
  batch b;
  using few = tl::tensor<bool, 5>;
  tl::owned<few> first;
  auto run = tl::jit(tl::value_and_grad<0>(some)).bind<parameters, data, targets, few>();
  for (int kept = 0; kept <= 5; ++kept) {
    std::vector<double> ones(n, 0.0);
    std::fill_n(ones.begin(), kept, 1.0);
    for (int i = 0; i < 5; ++i) (*first)[i] = i < kept;
    CHECK(agree(value_and_gradient(run, *b.p, *b.x, *b.t, *first), expected(b, ones)));
  }
}

TEST_CASE("indexed rows: read from what was stored, or computed again, as a tag says") {
  const auto check = [](const auto& f, const char* said) {
    using F = std::remove_cvref_t<decltype(f)>;
    constexpr auto step = tl::jit(tl::value_and_grad<0>(F{}));
    CHECK(step.template explain<parameters, data, targets, condition>().find(said) != std::string::npos);
    batch b;
    tl::owned<condition> keep;
    std::vector<double> ones(n, 0.0);
    for (int i = 0; i < n; ++i) {
      (*keep)[i] = i % 3 == 0;
      if (i % 3 == 0) ones[static_cast<std::size_t>(i)] = 1;
    }
    auto run = step.template bind<parameters, data, targets, condition>();
    CHECK(agree(value_and_gradient(run, *b.p, *b.x, *b.t, *keep), expected(b, ones)));
  };
  check(
      [](const auto& p, auto x, auto t, auto keep) {
        const auto l = losses(p, x, t);
        return tl::sum(tl::gather(l, tl::where<'k'>(keep && l > 0.0, tl::retain)));
      },
      "where, rows kept");
  check(
      [](const auto& p, auto x, auto t, auto keep) {
        const auto l = losses(p, x, t);
        return tl::sum(tl::gather(l, tl::where<'k'>(keep && l > 0.0, tl::recompute)));
      },
      "where, rows computed again");
}

// One list along both axes of a square: its rows and its columns are two cotangents.
TEST_CASE("indexed rows: of one list along two axes") {
  constexpr int extent = 256, few = 4;
  using square = tl::tensor<double, extent, extent>;
  using list = tl::tensor<std::int32_t, few>;
  constexpr auto f = [](auto a, auto b, auto x, auto rows) {
    const auto z = tl::tanh(tl::matmul(tl::tanh(tl::matmul(x, a)), b));
    return tl::sum(tl::square(tl::gather(z, rows))) + 3.0 * tl::sum(tl::square(tl::gather<1>(z, rows)));
  };
  tl::owned<square> a, b, x, d;
  tl::owned<list> rows;
  std::uint64_t seed = 1;
  for (const auto& leaf : {*a, *b, *x, *d}) seed = support::draw(leaf, seed, 1.0 / 16);
  for (int i = 0; i < few; ++i) (*rows)[i] = 60 * i + 7;
  auto gradient = tl::jit(tl::grad<0>(f)).bind<square, square, square, list>();
  auto value = tl::jit(f).bind<square, square, square, list>();
  const auto by_a = gradient(*a, *b, *x, *rows);
  double slope = 0;
  for (int i = 0; i < extent * extent; ++i) slope += by_a[i] * (*d)[i];
  const auto moved = [&](double h) {
    for (int i = 0; i < extent * extent; ++i) (*a)[i] += h * (*d)[i];
    const double r = value(*a, *b, *x, *rows)[0];
    for (int i = 0; i < extent * extent; ++i) (*a)[i] -= h * (*d)[i];
    return r;
  };
  CHECK(slope == doctest::Approx((moved(1e-5) - moved(-1e-5)) / 2e-5).epsilon(1e-6));
}
