// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Normalisation where the laws do not reach: one element, none, a large mean, the third derivative, the plan.
#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

namespace tl = tapeless;

namespace {

constexpr tl::extent_t n = tl::dyn<'n'>;

template <class Tree> void fill(const Tree& tree, double step) {
  double e = 0.3;
  tl::detail::for_each_leaf(tree, [&](const auto& leaf) {
    for (auto& x : leaf) x = static_cast<std::remove_cvref_t<decltype(x)>>(e = std::fmod(e + step, 1.0));
  });
}
constexpr auto batch = [](const auto& x, const auto& g, const auto& b) { return tl::batch_norm(x, g, b); };
constexpr auto layer = [](const auto& x, const auto& g, const auto& b) { return tl::layer_norm(x, g, b); };
constexpr auto groups = [](const auto& x, const auto& g, const auto& b) {
  return tl::group_norm<4>(x, g, b);
};

// In images: forward reads x three times, for x - mean is computed again, and writes y; the gradients read x three times
// and y_bar three times, and write x_bar.
using images = tl::tensor<float, n, 16, 8, 8>;
using channels = tl::tensor<float, 16>;
constexpr auto image_bytes = 4 * 16 * 8 * 8;
template <class F> constexpr tl::cost forward = tl::jit(F{}).template cost<images, channels, channels>();
template <class F> constexpr tl::cost gradients =
    tl::jit(tl::vjp<0, 1, 2>(F{})).template cost<images, channels, channels, images>();
constexpr double images_moved(const tl::cost& c) {
  return (c.bytes().at(tl::dim<'n'>(1000)) - c.bytes().at(tl::dim<'n'>(0))) / (1000.0 * image_bytes);
}
using batch_t = std::remove_const_t<decltype(batch)>;
using groups_t = std::remove_const_t<decltype(groups)>;
static_assert(forward<batch_t>.steps() == 5 && gradients<batch_t>.steps() == 5);
static_assert(images_moved(forward<batch_t>) == 4 && images_moved(gradients<batch_t>) == 7);
static_assert(images_moved(forward<groups_t>) < 6 && images_moved(gradients<groups_t>) < 9);

// third derivatives
constexpr auto ours = [](auto x) { return sum(tanh(tl::batch_norm(x, 0.125))); };
constexpr auto formula = [](auto x) {
  const auto c = x - tl::mean<0>(x, tl::keepdims);
  return sum(tanh(c / sqrt(tl::mean<0>(square(c), tl::keepdims) + 0.125)));
};
constexpr auto third = [](auto f, auto x, auto v) {
  return tl::grad<0>([f](auto a, auto b) { return sum(square(tl::hvp(f)(a, b))); })(x, v);
};

// Rows of N numbers, y and the vjp by u, beside the formula in long double, whose exponent has room.
template <int N> using row_of = tl::tensor<float, 1, N>;
struct errors {
  double y, x_bar; // the largest ones, over the largest of the exact numbers; infinite where one is NaN
};
template <class F, int N> errors errors_of(const std::vector<float>& x, bool centred, double eps) {
  static auto run = tl::jit([](auto a, auto u) {
                      return std::tuple{F{}(a), tl::vjp<0>(F{})(a, u)};
                    }).template bind<row_of<N>, row_of<N>>();
  using real = long double;
  tl::owned<row_of<N>> u;
  fill(*u, 0.371);
  const auto [y, x_bar] = run(row_of<N>(const_cast<float*>(x.data())), *u);
  real mean = 0, square = 0, u_mean = 0, uy_mean = 0;
  for (const float e : x) mean += centred ? real(e) / N : 0;
  for (const float e : x) square += (e - mean) * (e - mean) / N;
  const real r = 1 / std::sqrt(square + real(eps));
  const auto at = [&](int i) { return (x[static_cast<std::size_t>(i)] - mean) * r; };
  for (int i = 0; i < N; ++i) {
    u_mean += centred ? real((*u)[i]) / N : 0;
    uy_mean += (*u)[i] * at(i) / N;
  }
  real off[2] = {0, 0}, top[2] = {0, 0};
  for (int i = 0; i < N; ++i) {
    const real exact[] = {at(i), r * ((*u)[i] - u_mean - at(i) * uy_mean)};
    const float got[] = {y[i], x_bar[i]};
    for (int k = 0; k < 2; ++k) {
      top[k] = std::fmax(top[k], k == 0 ? std::abs(exact[k]) : r); // u is about 1
      off[k] = std::isnan(got[k]) ? std::numeric_limits<real>::infinity()
                                  : std::fmax(off[k], std::abs(got[k] - exact[k]));
    }
  }
  return {double(off[0] / top[0]), double(off[1] / top[1])};
}
// numbers about `offset` whose deviation is about 1, times scale
template <int N> std::vector<float> numbers(double offset, double scale) {
  std::vector<float> x;
  double e = 0.3;
  for (int i = 0; i < N; ++i)
    x.push_back(static_cast<float>(scale * (offset + 4 * (e = std::fmod(e + 0.381966, 1.0)) - 2)));
  return x;
}
constexpr auto plain_layer = [](auto x) { return tl::layer_norm(x); };
constexpr auto exact_layer = [](auto x) { return tl::layer_norm(x, 0.0); };
constexpr auto plain_rms = [](auto x) { return tl::rms_norm(x); };
constexpr auto exact_rms = [](auto x) { return tl::rms_norm(x, 0.0); };
template <int N> void check_magnitudes(std::initializer_list<double> scales,
                                       std::initializer_list<double> offsets) {
  for (const double scale : scales)
    for (const double offset : offsets) {
      CAPTURE(N);
      CAPTURE(scale);
      CAPTURE(offset);
      const auto x = numbers<N>(offset, scale);
      const auto check = [](const errors& e) {
        CHECK(e.y < 2e-6);
        CHECK(e.x_bar < 1e-5);
      };
      check(errors_of<std::remove_const_t<decltype(plain_layer)>, N>(x, true, 1e-5));
      check(errors_of<std::remove_const_t<decltype(exact_layer)>, N>(x, true, 0));
      check(errors_of<std::remove_const_t<decltype(plain_rms)>, N>(x, false, 1e-5));
      check(errors_of<std::remove_const_t<decltype(exact_rms)>, N>(x, false, 0));
    }
}
template <class View> double largest(const View& v) {
  double r = 0;
  for (const auto e : v)
    r = std::isnan(e) ? std::numeric_limits<double>::infinity() : std::fmax(r, std::abs(double(e)));
  return r;
}

} // namespace

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

TEST_CASE("batch_norm: squares that overflow make neither zeros nor NaN") {
  using X = tl::tensor<float, 4, 1>;
  using C = tl::tensor<float, 1>;
  auto run = tl::jit([](auto x, auto c, auto u) {
               return std::tuple{batch(x, c, c), tl::batch_norm_stats(x), tl::vjp<0, 1>(batch)(x, c, c, u)};
             }).bind<X, C, X>();
  float x[] = {1e30f, -1e30f, 2e30f, 0}, c[] = {1}, u[] = {1, 2, 3, 5};
  const auto [y, stats, bars] = run(X(x), C(c), X(u));
  const double expected[] = {0.4472136, -1.3416408, 1.3416408, -0.4472136};
  double u_mean = 2.75, uy = 0;
  for (int i = 0; i < 4; ++i) uy += u[i] * expected[i];
  const double r = 0.8944272e-30; // 1 / deviation
  for (int i = 0; i < 4; ++i) {
    CHECK(y[i] == doctest::Approx(1 + expected[i]));
    CHECK(std::get<0>(bars)[i] * 1e30 == doctest::Approx(1e30 * r * (u[i] - u_mean - expected[i] * uy / 4)));
  }
  CHECK(std::get<1>(bars)[0] == doctest::Approx(uy));
  CHECK(std::get<0>(stats)[0] == doctest::Approx(5e29));
  CHECK(std::isinf(std::get<1>(stats)[0])); // 1.25e60
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

TEST_CASE(
    "an empty batch: layer_norm's parameters get 0; batch_norm has no mean, so gamma gets NaN and beta 0") {
  using X = tl::tensor<float, n, 3>;
  using C = tl::tensor<float, 3>;
  const auto f = [](const auto& x, const auto& g, const auto& b, const auto& u) {
    return std::tuple{tl::vjp<1, 2>(layer)(x, g, b, u), tl::vjp<1, 2>(batch)(x, g, b, u),
                      tl::batch_norm_stats(x), tl::batch_norm(x, g, b)};
  };
  auto run = tl::jit(f).bind<X, C, C, X>(tl::dim<'n'>(2));
  const tl::owned<C> c;
  const float unread = 0;
  const tl::tensor<const float, n, 3> none(&unread, 0);
  const auto [of_layer, of_batch, stats, y] = run(none, *c, *c, none);
  CHECK(y.size() == 0);
  for (std::int64_t i = 0; i < 3; ++i) {
    CHECK(std::get<0>(of_layer)[i] == 0);
    CHECK(std::get<1>(of_layer)[i] == 0);
    CHECK(std::isnan(std::get<0>(of_batch)[i]));
    CHECK(std::get<1>(of_batch)[i] == 0);
    CHECK(std::isnan(std::get<0>(stats)[i]));
    CHECK(std::isnan(std::get<1>(stats)[i]));
  }
}

TEST_CASE("a mean that is large beside the deviation costs no digits") {
  using X = tl::tensor<float, 8, 4>;
  auto run = tl::jit([](const auto& x) {
               return std::tuple{tl::batch_norm(x, 0.0), tl::batch_norm_stats(x)};
             }).bind<X>();
  tl::owned<X> near, far;
  fill(*near, 0.371);
  for (std::int64_t i = 0; i < 32; ++i) {
    (*near)[i] = std::round((*near)[i] * 64) / 64; // exact also behind 65536
    (*far)[i] = (*near)[i] + 65536;
  }
  tl::owned<std::tuple<X, std::tuple<tl::tensor<float, 4>, tl::tensor<float, 4>>>> expected;
  tl::copy(run(*near), *expected);
  const auto& [y, stats] = run(*far);
  for (std::int64_t i = 0; i < 32; ++i)
    CHECK(y[i] == doctest::Approx(std::get<0>(*expected)[i]).epsilon(0.02));
  for (std::int64_t i = 0; i < 4; ++i)
    CHECK(std::get<1>(stats)[i] == doctest::Approx(std::get<1>(std::get<1>(*expected))[i]).epsilon(1e-4));
}

TEST_CASE("batch_norm: the third derivative is that of the formula") {
  using X = tl::tensor<double, 7, 3>;
  tl::owned<std::tuple<X, X>> a;
  fill(*a, 0.3719);
  auto run = tl::jit([](auto x, auto v) {
               return std::tuple{third(ours, x, v), third(formula, x, v)};
             }).bind<X, X>();
  const auto [d, expected] = std::apply(run, *a);
  for (std::int64_t i = 0; i < d.size(); ++i) CHECK(d[i] == doctest::Approx(expected[i]).epsilon(1e-10));
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
