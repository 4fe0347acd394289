// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Runs of any size, down to empty matrices, on any number of threads; chains of products.
#include "sparse.hpp"

using namespace sparse_programs;

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
