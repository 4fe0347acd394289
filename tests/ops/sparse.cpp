// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Programs with sparse matrices against loops over the entries: losses of rows, their gradients in x and in the matrix,
// products with the Hessian; that such a loss and its gradient read the entries once; runs of any size.
#include <tapeless/run/csr.hpp>
#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/allocations.hpp"
#include "support/compare.hpp"
#include "support/random.hpp"

namespace tl = tapeless;

namespace {

constexpr tl::extent_t r = tl::dyn<'r'>, c = tl::dyn<'c'>, e = tl::dyn<'e'>;
template <class T> using matrix = tl::csr<T, r, c, e>;
template <class T> using in_columns = tl::tensor<T, c>;
template <class T> using in_rows = tl::tensor<T, r>;

using flat = std::vector<double>;
std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// A random matrix and vectors beside it. Every seventh row is empty; others have up to `longest` entries.
template <class T> struct data {
  std::vector<T> a, a_dot, x, v, y, m;
  std::vector<std::int32_t> column, row_end;
  std::int64_t rows, cols;

  data(std::int64_t n_rows, std::int64_t n_cols, std::int64_t longest, std::uint64_t seed)
      : rows(n_rows), cols(n_cols) {
    support::splitmix64 random(seed);
    for (std::int64_t i = 0; i < rows; ++i) {
      const auto most = static_cast<std::uint64_t>(std::min(longest, cols));
      const std::uint64_t length = i % 7 == 3 || most == 0 ? 0 : 1 + random.below(most);
      std::vector<std::int32_t> row;
      while (row.size() < length) {
        const auto j = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(cols)));
        if (std::find(row.begin(), row.end(), j) == row.end()) row.push_back(j);
      }
      std::sort(row.begin(), row.end());
      column.insert(column.end(), row.begin(), row.end());
      row_end.push_back(static_cast<std::int32_t>(column.size()));
    }
    a = support::random_values<T>(column.size(), seed + 1);
    a_dot = support::random_values<T>(column.size(), seed + 2);
    x = support::random_values<T>(at(cols), seed + 3);
    v = support::random_values<T>(at(cols), seed + 4);
    y = support::random_values<T>(at(rows), seed + 5, 0, 1);
    m = support::random_values<T>(at(rows), seed + 6, 0, 2);
    for (std::int64_t i = 0; i < rows; i += 5) m[at(i)] = 0;
  }
  std::int64_t nnz() const { return static_cast<std::int64_t>(column.size()); }

  template <class M = matrix<T>> M view(std::vector<T>& values) {
    static bool nothing[1];
    return {tl::trusted, make<typename M::values_type>(values), make<typename M::columns_type>(column),
            make<typename M::row_end_type>(row_end), typename M::width_type(&nothing[0], cols)};
  }
  template <class M = matrix<T>> M view() { return view<M>(a); }
  template <class V, class E> static V make(std::vector<E>& of) {
    static E nothing[1];
    return V(of.empty() ? nothing : of.data(), of.size());
  }
  in_columns<T> X() { return make<in_columns<T>>(x); }
  in_columns<T> V() { return make<in_columns<T>>(v); }
  in_rows<T> Y() { return make<in_rows<T>>(y); }
  in_rows<T> M() { return make<in_rows<T>>(m); }

  template <class F> void each(F f) const { // f(e, i, j)
    std::size_t k = 0;
    for (std::int64_t i = 0; i < rows; ++i)
      for (; k < at(row_end[at(i)]); ++k) f(k, at(i), at(column[k]));
  }
  template <class B, class W> flat times(const W& values, const B& b) const {
    flat z(at(rows));
    each([&](std::size_t k, std::size_t i, std::size_t j) { z[i] += double(values[k]) * double(b[j]); });
    return z;
  }
  template <class B> flat times(const B& b) const { return times(a, b); }
  flat transposed_times(const flat& d) const {
    flat g(at(cols));
    each([&](std::size_t k, std::size_t i, std::size_t j) { g[j] += double(a[k]) * d[i]; });
    return g;
  }
  template <class B> flat sampled(const flat& d, const B& b) const {
    flat g(column.size());
    each([&](std::size_t k, std::size_t i, std::size_t j) { g[k] = d[i] * double(b[j]); });
    return g;
  }
};
template <class View> flat elements(const View& y) { return {y.begin(), y.end()}; }

// mean(m * f(A x, y)): f of handles, f of numbers, and its first two derivatives in z
struct squares {
  static constexpr auto of(auto z, auto y) { return tl::square(z - y); }
  static double value(double z, double y) { return (z - y) * (z - y); }
  static double first(double z, double y) { return 2 * (z - y); }
  static double second(double, double) { return 2; }
};
struct logistic {
  static constexpr auto of(auto z, auto y) { return tl::log(1 + tl::exp(z)) - y * z; }
  static double value(double z, double y) { return std::log(1 + std::exp(z)) - y * z; }
  static double first(double z, double y) { return 1 / (1 + std::exp(-z)) - y; }
  static double second(double z, double) { return 1 / (2 + std::exp(z) + std::exp(-z)); }
};
struct poisson {
  static constexpr auto of(auto z, auto y) { return tl::exp(z) - y * z; }
  static double value(double z, double y) { return std::exp(z) - y * z; }
  static double first(double z, double y) { return std::exp(z) - y; }
  static double second(double z, double) { return std::exp(z); }
};
struct huber {
  static constexpr auto of(auto z, auto y) {
    const auto d = z - y;
    const auto size = tl::max(d, -d);
    return tl::where(size < 0.5, 0.5 * tl::square(d), 0.5 * size - 0.125);
  }
  static double value(double z, double y) {
    const double d = std::abs(z - y);
    return d < 0.5 ? 0.5 * d * d : 0.5 * d - 0.125;
  }
  static double first(double z, double y) { return std::clamp(z - y, -0.5, 0.5); }
  static double second(double z, double y) { return std::abs(z - y) < 0.5 ? 1 : 0; }
};
template <class Row> struct mean_of_rows {
  constexpr auto operator()(auto x, auto a, auto y, auto m) const {
    return tl::mean(m * Row::of(tl::matmul(a, x), y));
  }
};

// the loops: value, f' and f'' times m / rows
template <class Row, class T> double value(const data<T>& d) {
  const flat z = d.times(d.x);
  double s = 0;
  for (std::size_t i = 0; i < z.size(); ++i) s += double(d.m[i]) * Row::value(z[i], double(d.y[i]));
  return s / static_cast<double>(d.rows);
}
template <class Row, class T> flat first(const data<T>& d) {
  flat z = d.times(d.x);
  for (std::size_t i = 0; i < z.size(); ++i)
    z[i] = double(d.m[i]) * Row::first(z[i], double(d.y[i])) / static_cast<double>(d.rows);
  return z;
}
template <class Row, class T> flat second(const data<T>& d) {
  flat z = d.times(d.x);
  for (std::size_t i = 0; i < z.size(); ++i)
    z[i] = double(d.m[i]) * Row::second(z[i], double(d.y[i])) / static_cast<double>(d.rows);
  return z;
}
flat product(flat p, const flat& q) {
  for (std::size_t i = 0; i < p.size(); ++i) p[i] *= q[i];
  return p;
}

template <class F, class... A, class... Option> auto bind(F f, std::tuple<A...>, Option... option) {
  return tl::jit(f).template bind<A...>(tl::dim<'r'>(30000), tl::dim<'c'>(300), tl::dim<'e'>(200000),
                                        option...);
}
template <class T> using arguments = std::tuple<in_columns<T>, matrix<T>, in_rows<T>, in_rows<T>>;
template <class T> using with_tangent =
    std::tuple<in_columns<T>, matrix<T>, in_rows<T>, in_rows<T>, in_columns<T>>;
template <class T> using with_matrix_tangent =
    std::tuple<in_columns<T>, matrix<T>, in_rows<T>, in_rows<T>, matrix<T>>;

template <class Row> void check_row_loss() {
  constexpr mean_of_rows<Row> f{};
  data<double> d(40, 30, 9, 1);
  auto step = bind(tl::value_and_grad<0>(f), arguments<double>{});
  const auto [l, g] = step(d.X(), d.view(), d.Y(), d.M());
  CHECK(l[0] == doctest::Approx(value<Row>(d)).epsilon(1e-13));
  CHECK(support::close(elements(g), d.transposed_times(first<Row>(d)), 1e-14, 1e-13));
  auto second_order = bind(tl::hvp<0>(f), with_tangent<double>{});
  const auto h = second_order(d.X(), d.view(), d.Y(), d.M(), d.V());
  CHECK(support::close(elements(h), d.transposed_times(product(second<Row>(d), d.times(d.v))), 1e-14, 1e-13));
}

constexpr double per_entry(const tl::polynomial& p) {
  const auto of = [&](tl::extent_t n) { return p.at(tl::dim<'r'>(1), tl::dim<'c'>(1), tl::dim<'e'>(n)); };
  return of(2) - of(1);
}
template <class T, class Row> constexpr tl::cost cost_of_gradient =
    tl::jit(tl::value_and_grad<0>(mean_of_rows<Row>{}))
        .template cost<in_columns<T>, matrix<T>, in_rows<T>, in_rows<T>>();
template <class T, class Row> constexpr tl::cost cost_of_hessian =
    tl::jit(tl::hvp<0>(mean_of_rows<Row>{}))
        .template cost<in_columns<T>, matrix<T>, in_rows<T>, in_rows<T>, in_columns<T>>();
// A x, the rows, A^T d and the quotient of the mean; an entry is its value and its column, and read once
template <class Row> constexpr bool reads_entries_once =
    cost_of_gradient<float, Row>.steps() == 4 && per_entry(cost_of_gradient<float, Row>.bytes()) == 8 &&
    per_entry(cost_of_gradient<double, Row>.bytes()) == 12 &&
    per_entry(cost_of_gradient<float, Row>.flops()) == 4 &&
    per_entry(cost_of_hessian<float, Row>.bytes()) == 8;
static_assert(reads_entries_once<squares>);
static_assert(reads_entries_once<logistic>);
static_assert(reads_entries_once<poisson>);
static_assert(reads_entries_once<huber>);
static_assert(cost_of_hessian<float, squares>.steps() ==
              3); // there is no A x: the second derivative is constant
static_assert(per_entry(cost_of_hessian<float, squares>.flops()) == 4);
static_assert(per_entry(cost_of_hessian<float, logistic>.flops()) == 6); // A x, A v, A^T d

// However a mean is written: numbers, and sums that do not depend on the product, are there before the sweep.
// of(the weighted losses, their weights), and what it makes of a sum
struct half_mean {
  static constexpr auto of(auto l, auto) { return tl::mean(0.5 * l); }
  static double factor(const flat& m) { return 0.5 / static_cast<double>(m.size()); }
};
struct mean_of_kept {
  static constexpr auto of(auto l, auto m) { return tl::sum(l) / tl::sum(m); }
  static double factor(const flat& m) {
    double n = 0;
    for (const double w : m) n += w;
    return 1 / n;
  }
};
struct by_square_weights {
  static constexpr auto of(auto l, auto m) { return tl::sum(l / (2 * tl::sum(tl::square(m)))); }
  static double factor(const flat& m) {
    double n = 0;
    for (const double w : m) n += w * w;
    return 0.5 / n;
  }
};
template <class Scale, class Row> struct scaled_sum {
  constexpr auto operator()(auto x, auto a, auto y, auto m) const {
    return Scale::of(m * Row::of(tl::matmul(a, x), y), m);
  }
};
template <class Scale, class Row> constexpr bool is_one_pass =
    per_entry(tl::jit(tl::value_and_grad<0>(scaled_sum<Scale, Row>{}))
                  .template cost<in_columns<float>, matrix<float>, in_rows<float>, in_rows<float>>()
                  .bytes()) == 8;
static_assert(is_one_pass<half_mean, squares> && is_one_pass<half_mean, logistic> &&
              is_one_pass<half_mean, poisson> && is_one_pass<half_mean, huber>);
static_assert(is_one_pass<mean_of_kept, squares> && is_one_pass<mean_of_kept, huber> &&
              is_one_pass<by_square_weights, logistic>);
template <class Scale, class Row> void check_scaled_sum() {
  data<double> d(40, 30, 9, 1);
  const double factor = Scale::factor(d.m) * static_cast<double>(d.rows);
  flat expected = d.transposed_times(first<Row>(d));
  for (double& g : expected) g *= factor;
  const double loss = value<Row>(d) * factor;
  for (std::size_t i = 0; i < d.y.size(); ++i)
    if (d.m[i] == 0) d.y[i] = std::nan(""); // rows that are left out are not looked at
  auto step = bind(tl::value_and_grad<0>(scaled_sum<Scale, Row>{}), arguments<double>{});
  const auto [l, g] = step(d.X(), d.view(), d.Y(), d.M());
  CHECK(l[0] == doctest::Approx(loss).epsilon(1e-13));
  CHECK(support::close(elements(g), expected, 1e-14, 1e-13));
}
// What a second product needs of the columns stands ahead of both.
constexpr auto two_products = [](auto x, auto a, auto y, auto m) {
  const auto z = tl::matmul(a, x);
  const auto w = tl::matmul(a, tl::square(x));
  return tl::sum(m * tl::square(z + w - y));
};
static_assert(per_entry(tl::jit(tl::value_and_grad<0>(two_products))
                            .cost<in_columns<float>, matrix<float>, in_rows<float>, in_rows<float>>()
                            .bytes()) == 8);

// What comes of the sum is multiplied behind the pass.
constexpr auto root_of_mean = [](auto x, auto a, auto y, auto m) {
  return tl::sqrt(tl::mean(m * tl::square(tl::matmul(a, x) - y)));
};
constexpr auto log_of_sums = [](auto x, auto a, auto y, auto m) {
  const auto z = tl::matmul(a, x);
  return tl::log(tl::sum(tl::where(m != 0.0, tl::exp(-z), 0.0))) / tl::sum(tl::square(z - y));
};
template <class F> constexpr bool gradient_is_one_pass =
    per_entry(tl::jit(tl::value_and_grad<0>(F{}))
                  .template cost<in_columns<double>, matrix<double>, in_rows<double>, in_rows<double>>()
                  .bytes()) == 12;
static_assert(gradient_is_one_pass<decltype(root_of_mean)>);

// Every row needs something of all rows: A x is done before the first row goes on.
constexpr auto shares = [](auto x, auto a, auto y, auto m) {
  const auto d = tl::square(tl::matmul(a, x) - y);
  return tl::sum(m * tl::square(d / tl::sum(d)));
};
static_assert(per_entry(tl::jit(tl::value_and_grad<0>(shares))
                            .cost<in_columns<float>, matrix<float>, in_rows<float>, in_rows<float>>()
                            .bytes()) == 16);
// Several columns: rows of X leave the cache, each product is a step of its own.
constexpr auto squares_of_columns = [](auto x, auto a, auto y) {
  return tl::mean(tl::square(tl::matmul(a, x) - y));
};
static_assert(per_entry(tl::jit(tl::value_and_grad<0>(squares_of_columns))
                            .cost<tl::tensor<float, c, 8>, matrix<float>, tl::tensor<float, r, 8>>()
                            .bytes()) == 16);

constexpr auto masked_squares = mean_of_rows<squares>{};

constexpr auto scaled_products = [](auto x, auto a, auto y, auto s, auto v) {
  const auto b = tl::scale_rows(y, tl::scale_columns(a, x)) * s;
  return std::tuple{tl::sum(tl::matmul(tl::sampled_matmul(b, y, x) + b / s, v) * tl::matmul(a, x)),
                    tl::sum(tl::matmul(y, a) * v)};
};
constexpr auto of_vars = [](auto x, auto a, auto y, auto s, auto v) {
  const auto [first, second] = scaled_products(tl::var(x), a, tl::var(y), tl::var(s), tl::var(v));
  return std::tuple{first.template as<double>(), second.template as<double>()};
};

} // namespace

TEST_CASE(
    "sparse: losses of rows, their gradients and products with their Hessians equal loops over the entries") {
  check_row_loss<squares>();
  check_row_loss<logistic>();
  check_row_loss<poisson>();
  check_row_loss<huber>();
}

TEST_CASE("sparse: a mean is one pass however it is written, and does not look at rows of weight zero") {
  check_scaled_sum<half_mean, squares>();
  check_scaled_sum<half_mean, logistic>();
  check_scaled_sum<mean_of_kept, squares>();
  check_scaled_sum<mean_of_kept, huber>();
  check_scaled_sum<by_square_weights, poisson>();

  data<double> d(40, 30, 9, 15);
  auto step = bind(tl::value_and_grad<0>(two_products), arguments<double>{});
  const auto [l, g] = step(d.X(), d.view(), d.Y(), d.M());
  const flat z = d.times(d.x), w = d.times(product(d.x, d.x));
  double loss = 0;
  flat z_bar(z.size());
  for (std::size_t i = 0; i < z.size(); ++i) {
    const double u = z[i] + w[i] - d.y[i];
    loss += d.m[i] * u * u;
    z_bar[i] = 2 * d.m[i] * u;
  }
  flat expected = d.transposed_times(z_bar);
  for (std::size_t j = 0; j < expected.size(); ++j) expected[j] *= 1 + 2 * d.x[j];
  CHECK(l[0] == doctest::Approx(loss).epsilon(1e-13));
  CHECK(support::close(elements(g), expected, 1e-14, 1e-13));
}

TEST_CASE("sparse: gradients of a root and of a quotient of sums over rows, and the Hessian of the root") {
  data<double> d(40, 30, 9, 16);
  const auto n = static_cast<double>(d.rows);
  flat residual = d.times(d.x), a_v = d.times(d.v);
  double mean = 0;
  for (std::size_t i = 0; i < residual.size(); ++i) {
    residual[i] = residual[i] - d.y[i];
    mean += d.m[i] * residual[i] * residual[i] / n;
    residual[i] *= d.m[i];
    a_v[i] *= d.m[i];
  }
  const double root = std::sqrt(mean);
  flat g = d.transposed_times(residual), h = d.transposed_times(a_v);
  double along = 0; // the derivative along v
  for (std::size_t j = 0; j < g.size(); ++j) along += (g[j] /= n * root) * d.v[j];
  for (std::size_t j = 0; j < g.size(); ++j) h[j] = h[j] / (n * root) - g[j] * along / root;
  auto step = bind(tl::value_and_grad<0>(root_of_mean), arguments<double>{});
  const auto [l, got] = step(d.X(), d.view(), d.Y(), d.M());
  CHECK(l[0] == doctest::Approx(root).epsilon(1e-13));
  CHECK(support::close(elements(got), g, 1e-14, 1e-13));
  auto second_order = bind(tl::hvp<0>(root_of_mean), with_tangent<double>{});
  CHECK(support::close(elements(second_order(d.X(), d.view(), d.Y(), d.M(), d.V())), h, 1e-13, 1e-12));

  const flat some = d.m;
  std::fill(d.m.begin(), d.m.end(), 0.0);
  const auto [nothing, flat_there] = step(d.X(), d.view(), d.Y(), d.M()); // no row counts
  CHECK(nothing[0] == 0);
  CHECK(elements(flat_there) == flat(d.x.size()));
  d.m = some;

  auto other = bind(tl::value_and_grad<0>(log_of_sums), arguments<double>{});
  const auto [value_there, slope] = other(d.X(), d.view(), d.Y(), d.M());
  const flat at_x = elements(slope), x = d.x;
  double expected = 0;
  for (std::size_t j = 0; j < x.size(); ++j) expected += at_x[j] * d.v[j];
  const auto value_at = [&](double t) {
    for (std::size_t j = 0; j < x.size(); ++j) d.x[j] = x[j] + t * d.v[j];
    return static_cast<double>(std::get<0>(other(d.X(), d.view(), d.Y(), d.M()))[0]);
  };
  CHECK(expected == doctest::Approx((value_at(1e-5) - value_at(-1e-5)) / 2e-5).epsilon(1e-7));
}

TEST_CASE("sparse: the gradient of a matrix has the pattern of the argument and its arrays") {
  data<double> d(40, 30, 9, 20);
  const flat expected = d.sampled(first<logistic>(d), d.x);
  auto alone = bind(tl::grad<1>(mean_of_rows<logistic>{}), arguments<double>{});
  const auto g = alone(d.X(), d.view(), d.Y(), d.M());
  CHECK(g.rows() == d.rows);
  CHECK(g.cols() == d.cols);
  CHECK(g.nnz() == d.nnz());
  CHECK(g.columns().data() == d.column.data());
  CHECK(g.row_end().data() == d.row_end.data());
  CHECK(support::close(elements(g.values()), expected, 1e-14, 1e-13));
  auto both = bind(tl::value_and_grad<0, 1>(mean_of_rows<logistic>{}), arguments<double>{});
  const auto [l, g_x, g_a] = both(d.X(), d.view(), d.Y(), d.M());
  CHECK(l[0] == doctest::Approx(value<logistic>(d)).epsilon(1e-13));
  CHECK(support::close(elements(g_x), d.transposed_times(first<logistic>(d)), 1e-14, 1e-13));
  CHECK(support::close(elements(g_a.values()), expected, 1e-14, 1e-13));
  CHECK(g_a.columns().data() == d.column.data());
}

TEST_CASE("sparse: a matrix has a tangent, and a product with the Hessian in its entries") {
  data<double> d(40, 30, 9, 30);
  const auto a_dot = d.view(d.a_dot);
  const flat z_dot = d.times(d.a_dot, d.x);
  auto forward = bind(tl::jvp<1>(mean_of_rows<poisson>{}), with_matrix_tangent<double>{});
  const auto l_dot = forward(d.X(), d.view(), d.Y(), d.M(), a_dot);
  double expected = 0;
  const flat d1 = first<poisson>(d);
  for (std::size_t i = 0; i < d1.size(); ++i) expected += d1[i] * z_dot[i];
  CHECK(l_dot[0] == doctest::Approx(expected).epsilon(1e-13));
  auto second_order = bind(tl::hvp<1>(mean_of_rows<poisson>{}), with_matrix_tangent<double>{});
  const auto h = second_order(d.X(), d.view(), d.Y(), d.M(), a_dot);
  CHECK(
      support::close(elements(h.values()), d.sampled(product(second<poisson>(d), z_dot), d.x), 1e-14, 1e-13));
  CHECK(h.columns().data() == d.column.data());
}

TEST_CASE("sparse: a program may return a matrix: its values are new, its pattern is the argument's") {
  data<double> d(12, 9, 5, 40);
  auto run = bind([](auto a) { return a.with(tl::exp(a.values())); }, std::tuple<matrix<double>>{});
  const auto y = run(d.view());
  CHECK(y.columns().data() == d.column.data());
  CHECK(y.cols() == 9);
  for (std::size_t k = 0; k < d.a.size(); ++k)
    CHECK(y.values()[static_cast<std::int64_t>(k)] == doctest::Approx(std::exp(d.a[k])).epsilon(1e-15));
}

TEST_CASE("sparse: a loss whose rows need something of all rows takes two passes and is right") {
  data<double> d(40, 30, 9, 50);
  auto step = bind(tl::value_and_grad<0>(shares), arguments<double>{});
  const auto [l, g] = step(d.X(), d.view(), d.Y(), d.M());
  const flat z = d.times(d.x);
  double s = 0, value = 0, weighted = 0;
  for (std::size_t i = 0; i < z.size(); ++i) s += squares::value(z[i], d.y[i]);
  for (std::size_t i = 0; i < z.size(); ++i) {
    const double q = squares::value(z[i], d.y[i]);
    value += d.m[i] * q * q / (s * s);
    weighted += 2 * d.m[i] * q * q / (s * s * s);
  }
  flat z_bar(z.size());
  for (std::size_t i = 0; i < z.size(); ++i)
    z_bar[i] =
        (2 * d.m[i] * squares::value(z[i], d.y[i]) / (s * s) - weighted) * squares::first(z[i], d.y[i]);
  CHECK(l[0] == doctest::Approx(value).epsilon(1e-13));
  CHECK(support::close(elements(g), d.transposed_times(z_bar), 1e-14, 1e-12));
}

TEST_CASE("sparse: a product with several columns equals the products with each") {
  data<double> d(40, 30, 9, 60);
  flat x = support::random_values(30 * 8, 61), y = support::random_values(40 * 8, 62);
  using X = tl::tensor<double, c, 8>;
  using Y = tl::tensor<double, r, 8>;
  auto step = bind(tl::value_and_grad<0>(squares_of_columns), std::tuple<X, matrix<double>, Y>{});
  const auto [l, g] = step(X(x.data(), 30), d.view(), Y(y.data(), 40));
  double value = 0;
  flat expected(x.size());
  for (std::size_t k = 0; k < 8; ++k) {
    flat column(30);
    for (std::size_t j = 0; j < 30; ++j) column[j] = x[j * 8 + k];
    flat z = d.times(column);
    for (std::size_t i = 0; i < 40; ++i) {
      z[i] -= y[i * 8 + k];
      value += z[i] * z[i] / 320;
      z[i] *= 2.0 / 320;
    }
    const flat g_k = d.transposed_times(z);
    for (std::size_t j = 0; j < 30; ++j) expected[j * 8 + k] = g_k[j];
  }
  CHECK(l[0] == doctest::Approx(value).epsilon(1e-13));
  CHECK(support::close(elements(g), expected, 1e-14, 1e-13));
}

TEST_CASE("sparse: two matrices in one program, of one shape and other patterns") {
  data<double> d(40, 30, 9, 70), b(40, 30, 4, 80);
  using B = tl::csr<double, r, c, tl::dyn<'f'>>;
  constexpr auto f = [](auto x, auto a, auto other, auto y) {
    return tl::sum(tl::square(tl::matmul(a, x) + tl::matmul(other, x) - y)) +
           tl::sum(tl::matmul(tl::transpose(other), tl::matmul(a, x)));
  };
  auto step = tl::jit(tl::value_and_grad<0>(f))
                  .bind<in_columns<double>, matrix<double>, B, in_rows<double>>(
                      tl::dim<'r'>(50), tl::dim<'c'>(50), tl::dim<'e'>(500), tl::dim<'f'>(400));
  const auto [l, g] = step(d.X(), d.view(), b.view<B>(), d.Y());
  const flat z = d.times(d.x), w = b.times(d.x), ones(30, 1.0);
  const flat b_ones = b.times(ones);
  double value = 0;
  flat of_a(40), of_b(40);
  for (std::size_t i = 0; i < 40; ++i) {
    const double q = z[i] + w[i] - d.y[i];
    value += q * q + b_ones[i] * z[i];
    of_b[i] = 2 * q;
    of_a[i] = 2 * q + b_ones[i];
  }
  flat expected = d.transposed_times(of_a);
  const flat more = b.transposed_times(of_b);
  for (std::size_t j = 0; j < 30; ++j) expected[j] += more[j];
  CHECK(l[0] == doctest::Approx(value).epsilon(1e-13));
  CHECK(support::close(elements(g), expected, 1e-13, 1e-13));
}

TEST_CASE("sparse: rows and columns may have one name") {
  data<double> d(30, 30, 9, 90);
  using A = tl::csr<double, r, r, e>;
  using X = tl::tensor<double, r>;
  constexpr auto f = [](auto x, auto a) {
    const auto z = tl::matmul(a, x);
    return tl::sum(tl::square(tl::matmul(a, z))) + tl::sum(tl::sampled_matmul(a, z, z));
  };
  auto step = tl::jit(tl::value_and_grad<0>(f)).bind<X, A>(tl::dim<'r'>(64), tl::dim<'e'>(500));
  const auto [l, g] = step(X(d.x.data(), 30), d.view<A>());
  const flat z = d.times(d.x);
  flat w = d.times(z);
  double value = 0;
  for (double& q : w) {
    value += q * q;
    q *= 2;
  }
  flat z_bar = d.transposed_times(w);
  d.each([&](std::size_t, std::size_t i, std::size_t j) {
    value += z[i] * z[j];
    z_bar[i] += z[j];
    z_bar[j] += z[i];
  });
  CHECK(l[0] == doctest::Approx(value).epsilon(1e-13));
  CHECK(support::close(elements(g), d.transposed_times(z_bar), 1e-13, 1e-13));
}

TEST_CASE("sparse: matrices may be empty at run time") {
  constexpr auto f = [](auto x, auto a, auto y, auto m) {
    return tl::sum(m * tl::square(tl::matmul(a, x) - y)) + tl::sum(tl::exp(x));
  };
  auto step = bind(tl::value_and_grad<0, 1>(f), arguments<double>{});
  struct size {
    std::int64_t rows, cols, longest;
  };
  for (const size s :
       {size{0, 5, 3}, size{6, 5, 0}, size{6, 0, 3}, size{0, 0, 0}, size{1, 1, 1}, size{40, 30, 9}}) {
    data<double> d(s.rows, s.cols, s.longest, 100);
    CAPTURE(s.rows);
    CAPTURE(s.cols);
    flat z = d.times(d.x);
    double expected = 0;
    for (std::size_t i = 0; i < z.size(); ++i) {
      expected += d.m[i] * squares::value(z[i], d.y[i]);
      z[i] = d.m[i] * squares::first(z[i], d.y[i]);
    }
    flat g = d.transposed_times(z);
    for (std::size_t j = 0; j < g.size(); ++j) {
      expected += std::exp(d.x[j]);
      g[j] += std::exp(d.x[j]);
    }
    const auto [l, g_x, g_a] = step(d.X(), d.view(), d.Y(), d.M());
    CHECK(l[0] == doctest::Approx(expected).epsilon(1e-13));
    CHECK(support::close(elements(g_x), g, 1e-13, 1e-13));
    CHECK(support::close(elements(g_a.values()), d.sampled(z, d.x), 1e-13, 1e-13));
  }
}

TEST_CASE("sparse: results do not depend on the number of threads, bit for bit, and are those of the loops") {
  data<float> d(20011, 53, 12, 110);
  REQUIRE(d.nnz() > 100000); // several chunks of rows
  const auto results = [&](int threads) {
    std::vector<float> all;
    const auto add = [&](const auto& t) { all.insert(all.end(), t.begin(), t.end()); };
    auto step =
        bind(tl::value_and_grad<0, 1>(mean_of_rows<logistic>{}), arguments<float>{}, tl::threads(threads));
    const auto [l, g_x, g_a] = step(d.X(), d.view(), d.Y(), d.M());
    add(l);
    add(g_x);
    add(g_a.values());
    auto second_order =
        bind(tl::hvp<0>(mean_of_rows<logistic>{}), with_tangent<float>{}, tl::threads(threads));
    add(second_order(d.X(), d.view(), d.Y(), d.M(), d.V()));
    return all;
  };
  const std::vector<float> one = results(1);
  CHECK(one == results(2));
  CHECK(one == results(3));
  CHECK(one[0] == doctest::Approx(value<logistic>(d)).epsilon(1e-5));
  CHECK(support::close(std::vector<float>(one.begin() + 1, one.begin() + 54),
                       d.transposed_times(first<logistic>(d)), 1e-6, 1e-4));
}

TEST_CASE("sparse: many products with one matrix, of several chunks of rows, equal loops") {
  data<double> d(20011, 53, 12, 130);
  constexpr auto f = [](auto x, auto a, auto y, auto m, auto v) {
    const auto z = tl::matmul(a, x), w = tl::matmul(a, v);
    const auto p = z * w + y, q = tl::square(w) * m;
    const auto s = tl::sampled_matmul(a, q, x); // q_i x_j
    const auto t = tl::scale_rows(p, a) + s;    // p_i a_ij + q_i x_j
    const auto columns = tl::matmul(tl::transpose(a), p), weighted = tl::matmul(tl::transpose(t), q);
    return std::tuple{z,
                      columns,
                      weighted,
                      tl::sum<1>(t),
                      tl::sum<0>(t),
                      tl::matmul(t, columns),
                      tl::sum(q),
                      tl::matmul(tl::transpose(a), q * p),
                      t.values()};
  };
  auto run = bind(f, with_tangent<double>{}, tl::threads(2));
  const auto [z, columns, weighted, row_sums, column_sums, of_columns, total, last, t] =
      run(d.X(), d.view(), d.Y(), d.M(), d.V());
  const flat z_ = d.times(d.x), w_ = d.times(d.v);
  flat p(z_.size()), q(z_.size()), qp(z_.size()), t_(d.a.size());
  double total_ = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    p[i] = z_[i] * w_[i] + d.y[i];
    q[i] = w_[i] * w_[i] * d.m[i];
    qp[i] = q[i] * p[i];
    total_ += q[i];
  }
  flat weighted_(d.x.size()), rows_(p.size()), columns_(d.x.size());
  d.each([&](std::size_t k, std::size_t i, std::size_t j) {
    t_[k] = p[i] * d.a[k] + q[i] * d.x[j];
    weighted_[j] += t_[k] * q[i];
    rows_[i] += t_[k];
    columns_[j] += t_[k];
  });
  const auto near = [](const auto& got, const flat& expected) {
    return support::close(elements(got), expected, 1e-9, 1e-11);
  };
  CHECK(near(z, z_));
  CHECK(near(columns, d.transposed_times(p)));
  CHECK(near(weighted, weighted_));
  CHECK(near(row_sums, rows_));
  CHECK(near(column_sums, columns_));
  CHECK(near(of_columns, d.times(t_, d.transposed_times(p))));
  CHECK(total[0] == doctest::Approx(total_).epsilon(1e-12));
  CHECK(near(last, d.transposed_times(qp)));
  CHECK(near(t, t_));
}

TEST_CASE("sparse: a matrix is a leaf of a parameter tree, and a cotangent of a result is a matrix") {
  struct params {
    matrix<double> a;
    in_rows<double> bias;
  };
  data<double> d(12, 9, 5, 140);
  using A = matrix<double>;
  constexpr auto f = [](const auto& p, auto x) { return tl::sum(tl::square(tl::matmul(p.a, x) + p.bias)); };
  auto step = bind(tl::grad<0>(f), std::tuple<params, in_columns<double>>{});
  const params p{d.view(), d.Y()};
  const auto g = step(p, d.X());
  flat z = d.times(d.x);
  for (std::size_t i = 0; i < z.size(); ++i) z[i] = 2 * (z[i] + d.y[i]);
  CHECK(support::close(elements(g.a.values()), d.sampled(z, d.x), 1e-14, 1e-13));
  CHECK(support::close(elements(g.bias), z, 1e-14, 1e-13));
  CHECK(g.a.columns().data() == d.column.data());

  constexpr auto squared = [](auto a) { return a * a; };
  auto pull = bind(tl::vjp<0>(squared), std::tuple<A, A>{});
  const auto a_bar = pull(d.view(), d.view(d.a_dot));
  for (std::size_t k = 0; k < d.a.size(); ++k)
    CHECK(a_bar.values()[static_cast<std::int64_t>(k)] ==
          doctest::Approx(2 * d.a[k] * d.a_dot[k]).epsilon(1e-14));
}

TEST_CASE("sparse: a var is an operand as its typed handle is") {
  data<double> d(40, 30, 9, 150);
  using S = tl::tensor<double>;
  using all = std::tuple<in_columns<double>, matrix<double>, in_rows<double>, S, in_columns<double>>;
  double s = 1.5;
  auto typed = bind(tl::value_and_grad<0, 1, 2, 3>(scaled_products), all{});
  auto untyped = bind(tl::value_and_grad<0, 1, 2, 3>(of_vars), all{});
  const auto numbers = [&](auto& run) {
    flat every;
    const auto y = run(d.X(), d.view(), d.Y(), S(&s), d.V());
    tl::for_each_leaf(y, [&](const auto& leaf) { every.insert(every.end(), leaf.begin(), leaf.end()); });
    return every;
  };
  const flat expected = numbers(typed);
  CHECK(expected.size() > d.a.size());
  CHECK(numbers(untyped) == expected);
}

TEST_CASE("sparse: a run allocates nothing, of whatever size it is") {
  data<float> large(20011, 53, 12, 120), small(40, 30, 9, 121);
  auto step = bind(tl::value_and_grad<0, 1>(masked_squares), arguments<float>{}, tl::threads(2));
  for (data<float>* d : {&large, &small, &large}) {
    const auto X = d->X();
    const auto Y = d->Y(), M = d->M();
    const auto A = d->view();
    CHECK(support::allocations_of([&] { static_cast<void>(step(X, A, Y, M)); }) == 0);
  }
}

TEST_CASE("sparse: an op on a view, out of a trace, says that ops are traced") {
  data<float> d(4, 3, 2, 90);
  const auto a = d.view();
  const std::string says =
      "tapeless: ops are traced: call them in a function that is given to tl::jit, and that on its arguments: auto run = "
      "tl::jit(f).bind<X...>(); run(x...)";
  const auto complaint = [](auto f) -> std::string {
    try {
      static_cast<void>(f());
    } catch (const std::logic_error& e) { return e.what(); }
    return "";
  };
  CHECK(complaint([&] { return -a; }) == says);
  CHECK(complaint([&] { return tl::sum(a); }) == says);
  CHECK(complaint([&] { return tl::sum<1>(a); }) == says);
  CHECK(complaint([&] { return a * 2; }) == says);
  CHECK(complaint([&] { return a + a; }) == says);
}

TEST_CASE("sparse: scaled entries on another pattern, and of rows without entries") {
  using A = tl::csr<float, 3, 3, 4>;
  using X = tl::tensor<float, 3>;
  const std::int32_t ptr[] = {0, 2, 2, 4}, columns[] = {0, 1, 0, 2}, other_ptr[] = {0, 0, 3, 4},
                     other_columns[] = {0, 1, 2, 2};
  float values[] = {1, 2, 3, 4}, s[] = {10, 100, 1000}, x[] = {1, 1, 1};
  const A a = tl::csr_view<A>(3, 3, ptr, columns, values),
          b = tl::csr_view<A>(3, 3, other_ptr, other_columns, values);
  const auto list = [](const X& y) { return std::vector<float>(y.begin(), y.end()); };
  constexpr auto moved = [](auto to, auto of, auto by, auto v) {
    return tl::matmul(to.with(tl::scale_rows(by, of).values()), v);
  };
  auto run_moved = tl::jit(moved).bind<A, A, X, X>();
  CHECK(list(run_moved(b, a, X(s), X(x))) == std::vector<float>{0, 3030, 4000});
  // a row without entries is 0, also where 1 / 0 scales it
  constexpr auto normalised = [](auto m, auto v) {
    return tl::matmul(tl::scale_rows(1.0f / tl::sum<1>(m), m), v);
  };
  auto run_normalised = tl::jit(normalised).bind<A, X>();
  CHECK(list(run_normalised(a, X(x))) == std::vector<float>{1, 0, 1});
  constexpr auto by_zeros = [](auto m, auto v) {
    return tl::matmul(0.0f * m, v) + tl::matmul(m.with(0.0f * m.values()), v);
  };
  auto run_by_zeros = tl::jit(by_zeros).bind<A, X>();
  CHECK(list(run_by_zeros(a, X(x))) == std::vector<float>{0, 0, 0});
}

namespace {
template <bool Masked> constexpr auto chain = [](auto a, auto x, auto m) {
  auto y = x;
  for (int k = 0; k < 16; ++k) {
    if constexpr (Masked) y = m * tl::tanh(tl::matmul(a, y));
    else y = tl::matmul(tl::transpose(a), tl::matmul(a, y));
  }
  return tl::sum(m * y);
};
} // namespace

TEST_CASE("sparse: chains of many products have room in a plan") {
  using A = tl::csr<double, 3, 3, 3>;
  using X = tl::tensor<double, 3>;
  const std::int32_t ptr[] = {0, 1, 2, 3}, columns[] = {1, 2, 0};
  double values[] = {1, -1, 1}, x[] = {1, 2, 3}, m[] = {1, 0, 1};
  const A a = tl::csr_view<A>(3, 3, ptr, columns, values);
  // A permutes and negates: A^T A = I
  auto plain = tl::jit(tl::value_and_grad<1>(chain<false>)).bind<A, X, X>();
  const auto [value, gradient] = plain(a, X(x), X(m));
  CHECK(value[0] == 4);
  CHECK(std::vector<double>(gradient.begin(), gradient.end()) == std::vector<double>{1, 0, 1});
  // Row 1, which m leaves out, passes nothing on; rows 0 and 2 have a number of their own.
  constexpr auto program = tl::jit(tl::value_and_grad<1>(chain<true>));
  const std::string steps = program.explain<A, X, X>();
  const auto count = [&](const std::string& text) {
    int n = 0;
    for (std::size_t at = steps.find(text); at != std::string::npos; at = steps.find(text, at + 1)) ++n;
    return n;
  };
  CHECK(count("a pass over") == 31); // the last product and the first transposed one share one
  CHECK(count("rows where") == 16);  // the others store tanh of all rows
  const std::int32_t diagonal[] = {0, 1, 2};
  double of_diagonal[] = {1.5, std::numeric_limits<double>::quiet_NaN(), -0.5};
  auto with_masks = program.bind<A, X, X>();
  const auto [masked, of_masked] = with_masks(tl::csr_view<A>(3, 3, ptr, diagonal, of_diagonal), X(x), X(m));
  double sum = 0;
  for (const int i : {0, 2}) {
    double y = x[i], slope = 1;
    for (int k = 0; k < 16; ++k) {
      y = std::tanh(of_diagonal[i] * y);
      slope *= (1 - y * y) * of_diagonal[i];
    }
    sum += y;
    CHECK(of_masked[i] == doctest::Approx(slope).epsilon(1e-12));
  }
  CHECK(masked[0] == doctest::Approx(sum).epsilon(1e-12));
  CHECK(of_masked[1] == 0);
}

TEST_CASE("sparse: a dense matrix beside one without rows, without columns, without entries") {
  using A = tl::csr<double, tl::dyn<'m'>, tl::dyn<'n'>, tl::dyn<'e'>>;
  using D = tl::tensor<double, tl::dyn<'m'>, tl::dyn<'n'>>;
  constexpr auto f = [](auto a, auto d) { return tl::sum(a * d); };
  auto run =
      tl::jit(tl::value_and_grad<0, 1>(f)).bind<A, D>(tl::dim<'m'>(2), tl::dim<'n'>(2), tl::dim<'e'>(2));
  std::vector<std::int32_t> columns;
  std::vector<double> values;
  double d[] = {1, 2, 3, 4};
  for (const auto& [height, width] : {std::pair{0, 2}, std::pair{2, 0}, std::pair{2, 2}, std::pair{0, 0}}) {
    const std::vector<std::int32_t> row_ptr(static_cast<std::size_t>(height) + 1, 0);
    const auto [value, by_a, by_d] =
        run(tl::csr_view<A>(height, width, row_ptr, columns, values), D(&d[0], height, width));
    CHECK(value[0] == 0);
    CHECK(by_a.nnz() == 0);
    CHECK(by_d.size() == height * width);
    for (const double q : by_d) CHECK(q == 0);
  }
}
