// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Gradients and tangents of matrices; programs of several matrices and columns, of matrices in trees, of vars.
#include "sparse.hpp"

using namespace sparse_programs;

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
