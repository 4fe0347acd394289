// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Normalisation where the laws do not reach: one element, none, a large mean, the third derivative, the plan.
#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <tuple>

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

} // namespace

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
