// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Norms of equal, huge and tiny numbers, of one element, of vars.
#include "norm.hpp"

using namespace norm_programs;

TEST_CASE("layer_norm, rms_norm: neither a large mean, nor huge or tiny numbers cost a digit") {
  check_magnitudes<2>({1, 1e30}, {0, 1e5});
  check_magnitudes<13>({1e-37, 1e-30, 1e-18, 1e-5, 1, 1e5, 1e15, 1e18, 1e19, 1e20, 1e25, 1e30, 1e36}, {0});
  check_magnitudes<1000>({1e-30, 1, 1e17, 1e19, 1e30}, {0, 100, -1e5});
  const auto near_the_end =
      errors_of<std::remove_const_t<decltype(plain_layer)>, 13>(numbers<13>(0, 1.7e38), true, 1e-5);
  CHECK(near_the_end.y < 2e-6);
  CHECK(near_the_end.x_bar < 1e-5);
}

TEST_CASE("the norms of equal numbers are exactly beta, whatever the number is, and the gradient is finite") {
  using X = tl::tensor<float, 10, 4, 10, 10>;
  using C = tl::tensor<float, 4>;
  const auto f = [](auto x, auto c, auto u) {
    return std::tuple{tl::batch_norm(x, c, c),    tl::instance_norm(x, c, c),
                      tl::group_norm<2>(x, c, c), tl::layer_norm<3>(x) + tl::channel(c),
                      tl::batch_norm_stats(x),    tl::vjp<0>(batch)(x, c, c, u)};
  };
  auto run = tl::jit(f).bind<X, C, X>();
  float c[] = {0.5f, 1, -2, 3};
  tl::owned<X> u;
  fill(*u, 0.371);
  for (const float v : {0.f, 33.3f, -4.4e9f, 1.7e15f, 1e-30f, 1e19f, -1.3e25f, 3e30f, 1e38f}) {
    CAPTURE(v);
    std::vector<float> x(4000, v);
    const auto [y, z, g, l, stats, x_bar] = run(X(x.data()), C(c), *u);
    bool exact = true;
    for (int i = 0; i < 4000; ++i)
      for (const float e : {y[i], z[i], g[i], l[i]}) exact = exact && e == c[i / 100 % 4];
    CHECK(exact);
    for (const float m : std::get<0>(stats)) CHECK(m == v);
    for (const float q : std::get<1>(stats)) CHECK(q >= 0);
    CHECK(largest(x_bar) < 1e4);
  }
}

TEST_CASE("norms of very many equal numbers: at most 1e-3 at any magnitude, and 0 of 100000") {
  using X = tl::tensor<float, n, 2>;
  using one_row = tl::tensor<float, 1, 5000011>;
  auto of_columns = tl::jit([](auto x) { return tl::batch_norm(x); }).bind<X>(tl::dim<'n'>(100000));
  auto of_row = tl::jit([](auto x) { return tl::layer_norm(x); }).bind<one_row>();
  for (const float v : {100.1f, -4.4e9f, 1e30f}) {
    CAPTURE(v);
    std::vector<float> x(5000011, v);
    CHECK(largest(of_columns(tl::tensor<const float, n, 2>(x.data(), 1000))) == 0);
    CHECK(largest(of_columns(tl::tensor<const float, n, 2>(x.data(), 100000))) == 0);
    CHECK(largest(of_row(one_row(x.data()))) <= 1e-3);
  }
}

TEST_CASE("norms in double: squares that overflow and vanish") {
  using X = tl::tensor<double, 1, 4>;
  auto run =
      tl::jit([](auto x) {
        return std::tuple{tl::layer_norm(x), tl::layer_norm(x, 0.0), tl::rms_norm(x), tl::rms_norm(x, 0.0)};
      }).bind<X>();
  for (const double scale : {1e300, 1e200, 1e-200, 1e-300}) {
    double x[] = {scale, -scale, 2 * scale, 0};
    const auto [a, b, p, q] = run(X(x));
    const double centred[] = {0.4472135955, -1.3416407865, 1.3416407865, -0.4472135955};
    for (int i = 0; i < 4; ++i) {
      if (scale > 1) CHECK(a[i] == doctest::Approx(centred[i]).epsilon(1e-9));
      CHECK(b[i] == doctest::Approx(centred[i]).epsilon(1e-9));
      if (scale > 1) CHECK(p[i] == doctest::Approx(x[i] / scale / std::sqrt(1.5)).epsilon(1e-12));
      CHECK(q[i] == doctest::Approx(x[i] / scale / std::sqrt(1.5)).epsilon(1e-12));
    }
  }
}

TEST_CASE("normalisation of one element is beta, and its x_bar is 0") {
  using X = tl::tensor<double, 1, 3, 1>;
  using C = tl::tensor<double, 3>;
  const auto f = [](const auto& x, const auto& g, const auto& b, const auto& u) {
    return std::tuple{tl::batch_norm(x, g, b), tl::instance_norm(x, g, b), tl::vjp(batch)(x, g, b, u)};
  };
  tl::owned<std::tuple<X, C, C, X>> a;
  fill(*a, 0.37);
  auto run = tl::jit(f).bind<X, C, C, X>();
  const auto [y, z, x_bar] = std::apply(run, *a);
  for (std::int64_t c = 0; c < 3; ++c) {
    CHECK(y[c] == std::get<2>(*a)[c]);
    CHECK(z[c] == std::get<2>(*a)[c]);
    CHECK(x_bar[c] == 0);
  }
}

TEST_CASE("norm: a var gives what a typed handle gives") {
  using X = tl::tensor<float, 2, 4, 3>;
  using C = tl::tensor<float, 4>;
  using D = tl::tensor<float, 3>;
  const auto all = [](const auto& x, const auto& c, const auto& d) {
    const auto [m, v] = tl::batch_norm_stats(x);
    return std::tuple{m,
                      v,
                      tl::batch_norm(x),
                      tl::batch_norm(x, c, c),
                      tl::batch_norm(x, c, c, c, c),
                      tl::instance_norm(x),
                      tl::instance_norm(x, c, c),
                      tl::group_norm<2>(x),
                      tl::group_norm<2>(x, c, c),
                      tl::layer_norm<2>(x),
                      tl::layer_norm(x, d, d),
                      tl::rms_norm(x),
                      tl::rms_norm(x, d)};
  };
  constexpr bool same_nodes = [](auto f) {
    tl::detail::graph g;
    const X x(&g, g.input(0, tl::dtype::f32, X::extents));
    const C c(&g, g.input(1, tl::dtype::f32, C::extents));
    const D d(&g, g.input(2, tl::dtype::f32, D::extents));
    const auto typed = f(x, c, d);
    const auto vars = f(tl::var(x), tl::var(c), tl::var(d));
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return ((std::get<I>(typed).id() == std::get<I>(vars).node) && ...);
    }(std::make_index_sequence<std::tuple_size_v<decltype(typed)>>{});
  }(all);
  CHECK(same_nodes);
}

TEST_CASE("norm: without eps, the gradient of numbers whose squares vanish is that in double") {
  const auto gradient_of = [](auto type, double scale) {
    using T = decltype(type);
    using rows_of_8 = tl::tensor<T, 2, 8>;
    static constexpr auto loss = [](auto x, auto c) { return tl::sum(tl::layer_norm<1>(x, 0.0) * c); };
    std::vector<T> x, c;
    for (int i = 0; i < 16; ++i) {
      x.push_back(static_cast<T>(static_cast<float>(scale * (1e6 + std::sin(0.7 * i * i)))));
      c.push_back(static_cast<T>(std::cos(1.1 * i)));
    }
    auto run = tl::jit(tl::grad<0>(loss)).template bind<rows_of_8, rows_of_8>();
    const auto g = run(rows_of_8(x), rows_of_8(c));
    return std::vector<double>(g.begin(), g.end());
  };
  for (const double scale : {1e-10, 1e-19, 1e-25, 1e-30, 1e-33}) {
    CAPTURE(scale);
    const std::vector<double> got = gradient_of(float(), scale), expected = gradient_of(double(), scale);
    double largest = 0;
    for (const double e : expected) largest = std::fmax(largest, std::fabs(e));
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(std::fabs(got[i] - expected[i]) <= 1e-4 * largest);
  }
}
