// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Losses of rows: values, gradients, products with the Hessian; how often they read the entries.
#include "sparse.hpp"

using namespace sparse_programs;

static_assert(reads_entries_once<squares>);
static_assert(reads_entries_once<logistic>);
static_assert(reads_entries_once<poisson>);
static_assert(reads_entries_once<huber>);
static_assert(cost_of_hessian<float, squares>.steps() ==
              3); // there is no A x: the second derivative is constant
static_assert(per_entry(cost_of_hessian<float, squares>.flops()) == 4);
static_assert(per_entry(cost_of_hessian<float, logistic>.flops()) == 6); // A x, A v, A^T d
static_assert(is_one_pass<half_mean, squares> && is_one_pass<half_mean, logistic> &&
              is_one_pass<half_mean, poisson> && is_one_pass<half_mean, huber>);
static_assert(is_one_pass<mean_of_kept, squares> && is_one_pass<mean_of_kept, huber> &&
              is_one_pass<by_square_weights, logistic>);
static_assert(per_entry(tl::jit(tl::value_and_grad<0>(two_products))
                            .cost<in_columns<float>, matrix<float>, in_rows<float>, in_rows<float>>()
                            .bytes()) == 8);
static_assert(gradient_is_one_pass<decltype(root_of_mean)>);
static_assert(per_entry(tl::jit(tl::value_and_grad<0>(shares))
                            .cost<in_columns<float>, matrix<float>, in_rows<float>, in_rows<float>>()
                            .bytes()) == 16);
static_assert(per_entry(tl::jit(tl::value_and_grad<0>(squares_of_columns))
                            .cost<tl::tensor<float, c, 8>, matrix<float>, tl::tensor<float, r, 8>>()
                            .bytes()) == 16);

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
