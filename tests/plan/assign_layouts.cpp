// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Layouts: a program whose images are channels last gives what the same program gives on planes; reorders stand at its
// edges; the planner's choice changes no result beyond rounding.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "support/random.hpp"
#include <tapeless/tapeless.hpp>

namespace tl = tapeless;
using tl::layout;

namespace {

struct weights {
  tl::tensor<double, 16, 8, 3, 3> w1; // channels that fill vectors
  tl::tensor<double, 16> b1;
  tl::tensor<double, 16, 16, 1, 1> w2;
  tl::tensor<double, 16, 1, 3, 3> w3;
  tl::tensor<double, 8, 8, 3, 3> w4;
  tl::tensor<double, 5, 16> w5;
};

// Every kind of op between convolutions, in either layout: C is the axis of the channels.
template <layout L> constexpr auto network = [](const auto& p, auto x) {
  constexpr int C = L == layout::nchw ? 1 : 3;
  constexpr int H = L == layout::nchw ? 2 : 1;
  const auto bias = [](auto b) {
    if constexpr (L == layout::nchw) return tl::channel(b);
    else return b;
  };
  auto h = tl::relu(tl::conv2d<tl::conv{.padding = 1, .layout = L}>(x, p.w1) + bias(p.b1));
  auto pooled =
      tl::max_pool2d<tl::pool{.kernel = 3, .stride = 1, .padding = 1, .layout = L}>(h) +
      tl::avg_pool2d<tl::pool{
          .kernel = {3, 2}, .stride = 1, .padding = {1, 1, 1, 0}, .count_padding = false, .layout = L}>(h);
  auto k = tl::tanh(tl::conv2d<tl::conv{.layout = L}>(pooled, p.w2));
  auto d = tl::conv2d<tl::conv{.stride = 2, .padding = {1, 0, 1, 1}, .groups = 16, .layout = L}>(k, p.w3);
  auto parts = tl::concat<C>(
      tl::conv2d<tl::conv{.padding = 2, .dilation = 2, .layout = L}>(tl::slice<C, 0, 8>(d), p.w4),
      tl::pad<C, 3, 0>(tl::slice<C, 8, 13>(d)));
  auto squared = parts * tl::softmax<C>(parts);
  return tl::sum(tl::square(tl::matmul(tl::mean<H, H + 1>(squared), tl::transpose(p.w5))));
};
template <int N> using planes = tl::tensor<double, N, 8, 9, 7>;
template <int N> using rows_of_channels = tl::tensor<double, N, 9, 7, 8>;

// (N, C, H, W) -> (N, H, W, C)
std::vector<double> nhwc(const std::vector<double>& x, int n, int c, int area) {
  std::vector<double> r(x.size());
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < c; ++k)
      for (int a = 0; a < area; ++a)
        r[static_cast<std::size_t>((i * area + a) * c + k)] =
            x[static_cast<std::size_t>((i * c + k) * area + a)];
  return r;
}
template <class Tree> std::vector<double> elements(const Tree& tree) {
  std::vector<double> all;
  tl::for_each_leaf(tree, [&](const auto& leaf) {
    for (const double x : leaf) all.push_back(x);
  });
  return all;
}
void near(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (const double x : b) largest = std::max(largest, std::abs(x));
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(std::abs(a[i] - b[i]) <= 1e-11 * largest);
}

// Reorders: copies of images in another order.
template <class Program> constexpr int reorders(const Program& p) {
  int n = 0;
  for (const tl::detail::node& v : p.nodes)
    n += v.o == tl::detail::op::copy && v.s.rank == 4 && p.nodes[v.in[0]].o == tl::detail::op::transpose ? 1
                                                                                                         : 0;
  return n;
}
template <class Program> constexpr int convs_nhwc(const Program& p) {
  int n = 0;
  for (const tl::detail::node& v : p.nodes)
    n += tl::detail::is_conv(v.o) && tl::detail::is_nhwc(v.attr2) ? 1 : 0;
  return n;
}

} // namespace

TEST_CASE_TEMPLATE("channels last gives what planes give: value and gradients", Batch,
                   std::integral_constant<int, 1>, std::integral_constant<int, 4>) {
  constexpr int n = Batch::value;
  tl::owned<weights> p;
  std::uint64_t seed = 1;
  tl::for_each_leaf(*p, [&](const auto& leaf) {
    const auto r = support::random_values<double>(leaf.size(), seed++);
    for (std::size_t i = 0; i < r.size(); ++i) leaf.data()[i] = r[i];
  });
  std::vector<double> x = support::random_values<double>(n * 8 * 63, 20), last = nhwc(x, n, 8, 63);
  constexpr auto first_step = tl::jit(tl::value_and_grad<0, 1>(network<layout::nchw>));
  constexpr auto last_step = tl::jit(tl::value_and_grad<0, 1>(network<layout::nhwc>));
  auto run = first_step.template bind<weights, planes<n>>();
  auto run_last = last_step.template bind<weights, rows_of_channels<n>>();
  auto [value, by_p, by_x] = run(*p, planes<n>(x.data()));
  auto [value_last, by_p_last, by_x_last] = run_last(*p, rows_of_channels<n>(last.data()));
  // the program on planes is rewritten, axis by axis; the other one loses its permutations. Kernels: tests/laws
  using F = decltype(tl::value_and_grad<0, 1>(network<layout::nchw>));
  CHECK(convs_nhwc(tl::detail::laid_out<F, weights, planes<n>>::value) == 12);
  CHECK(value_last[0] == doctest::Approx(value[0]).epsilon(1e-12));
  near(elements(by_p_last), elements(by_p));
  near(elements(by_x_last), nhwc(elements(by_x), n, 8, 63));
}

TEST_CASE("a program of images that are channels last has no reorder") {
  using F = decltype(tl::value_and_grad<0, 1>(network<layout::nhwc>));
  constexpr const auto& p = tl::detail::laid_out<F, weights, rows_of_channels<4>>::value;
  CHECK(reorders(p) == 0);
  CHECK(convs_nhwc(p) == 12); // four convolutions, two gradients each
}

namespace {

// A chain of depthwise and pointwise layers on small images: what suits channels last.
struct separable_weights {
  std::array<tl::tensor<float, 96, 1, 3, 3>, 3> depthwise;
  std::array<tl::tensor<float, 96, 96, 1, 1>, 3> pointwise;
};
constexpr auto chain = [](const auto& p, auto x) {
  auto h = x;
  for (std::size_t i = 0; i < 3; ++i) {
    h = tl::relu(tl::conv2d<tl::conv{.padding = 1, .groups = 96}>(h, p.depthwise[i]));
    h = tl::relu(tl::conv2d(h, p.pointwise[i]));
  }
  return tl::sum(tl::square(h));
};

} // namespace

TEST_CASE("a chain that suits channels last has reorders at its edges alone") {
  using X = tl::tensor<float, 8, 96, 7, 7>;
  using F = decltype(tl::value_and_grad<0, 1>(chain));
  constexpr const auto& p = tl::detail::laid_out<F, separable_weights, X>::value;
  CHECK(convs_nhwc(p) == 18);
  CHECK(reorders(p) == 2); // x, and its gradient
}

TEST_CASE("depthwise layers of channels that fill no vector stay on planes") {
  constexpr auto layers = [](auto x, auto a, auto b) {
    constexpr tl::conv same{.padding = 1, .groups = 3};
    return tl::sum(tl::square(tl::conv2d<same>(tl::conv2d<same>(x, a), b)));
  };
  using X = tl::tensor<float, 32, 3, 28, 28>;
  using W = tl::tensor<float, 3, 1, 3, 3>;
  using F = decltype(tl::value_and_grad<0, 1, 2>(layers));
  constexpr const auto& p = tl::detail::laid_out<F, X, W, W>::value;
  CHECK(convs_nhwc(p) == 0);
}

TEST_CASE("a reorder is a loop of its own, ahead of the convolution whose epilogue reads it") {
  constexpr auto to_target = [](const auto& p, auto x, auto t) {
    auto h = tl::relu(tl::conv2d<tl::conv{.padding = 1, .groups = 96}>(x, p.depthwise[0]));
    return tl::sum(tl::square(tl::conv2d(h, p.pointwise[0]) - t));
  };
  using X = tl::tensor<float, 8, 96, 7, 7>;
  using F = std::remove_const_t<decltype(to_target)>;
  constexpr const auto& p = tl::detail::laid_out<F, separable_weights, X, X>::value;
  REQUIRE(reorders(p) == 2); // x and t
  const std::string plan = tl::jit(to_target).explain<separable_weights, X, X>();
  CHECK(plan.find("copy,") == std::string::npos);
  CHECK(plan.find(", copy") == std::string::npos);
  CHECK(plan.rfind(": copy over") < plan.rfind(": conv2d"));
}

namespace {

constexpr auto losses_of_images = [](const auto& p, auto x, auto t) {
  auto h = tl::relu(tl::conv2d<tl::conv{.padding = 1, .groups = 96}>(x, p.depthwise[0]));
  return tl::sum<1, 2, 3>(tl::square(tl::conv2d(h, p.pointwise[0]) - t));
};
constexpr auto hardest = [](const auto& p, auto x, auto t) {
  auto losses = losses_of_images(p, x, t);
  return tl::sum(tl::gather(losses, tl::top_k<2>(losses)));
};
constexpr auto rows_of_hardest = [](const auto& p, auto x, auto t) {
  return tl::top_k<2>(losses_of_images(p, x, t));
};
constexpr auto of_rows = [](const auto& p, auto x, auto t, auto rows) {
  return tl::sum(losses_of_images(p, tl::gather(x, rows), tl::gather(t, rows)));
};

template <int Images> void check_hardest(int expected_reorders) {
  using X = tl::tensor<float, Images, 96, 7, 7>;
  using Rows = tl::tensor<std::int32_t, 2>;
  using F = decltype(tl::value_and_grad<0>(hardest));
  CHECK(reorders(tl::detail::laid_out<F, separable_weights, X, X>::value) == expected_reorders);
  tl::owned<separable_weights> p;
  tl::owned<X> x, t;
  std::uint64_t seed = 1;
  const auto fill = [&](const auto& leaf) {
    const auto r = support::random_values<float>(leaf.size(), seed++);
    for (std::size_t i = 0; i < r.size(); ++i) leaf.data()[i] = r[i];
  };
  tl::for_each_leaf(*p, fill);
  fill(*x);
  fill(*t);
  auto run = tl::jit(tl::value_and_grad<0>(hardest)).template bind<separable_weights, X, X>();
  auto rows = tl::jit(rows_of_hardest).template bind<separable_weights, X, X>();
  auto run_of_rows = tl::jit(tl::value_and_grad<0>(of_rows)).template bind<separable_weights, X, X, Rows>();
  const auto [value, by_p] = run(*p, *x, *t);
  const auto [expected, expected_by_p] = run_of_rows(*p, *x, *t, rows(*p, *x, *t));
  CHECK(value[0] == doctest::Approx(expected[0]).epsilon(1e-5));
  const auto a = elements(by_p), b = elements(expected_by_p);
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (const double v : b) largest = std::max(largest, std::abs(v));
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(std::abs(a[i] - b[i]) <= 1e-5 * largest);
}

} // namespace

TEST_CASE("selected samples of images that have been reordered are read there") {
  check_hardest<8>(2); // x and t, none of their rows
}
TEST_CASE("selected samples of arguments whose images pass a few at a time are reordered again") {
  check_hardest<32>(4); // of x and t all, which need not stay, and the kept ones
}

TEST_CASE("reorders of selected images that pass a few at a time cost what those of all images do") {
  struct prices {
    static constexpr double reorder_ns(double n) { return 1e6 * n; }
    static constexpr double image_reorder_ns(double n) { return n; }
  };
  constexpr auto hardest_quarter = [](auto x, auto w1, auto w2, auto t) {
    constexpr tl::conv same{.padding = 1};
    const auto losses =
        tl::sum<1, 2, 3>(tl::square(tl::conv2d<same>(tl::relu(tl::conv2d<same>(x, w1)), w2) - t));
    return tl::sum(tl::gather(losses, tl::top_k<16>(losses)));
  };
  using F = decltype(tl::value_and_grad<1, 2>(hardest_quarter));
  constexpr const auto& p =
      tl::detail::laid_out<F, tl::tensor<float, 64, 16, 24, 24>, tl::tensor<float, 32, 16, 3, 3>,
                           tl::tensor<float, 32, 32, 3, 3>, tl::tensor<float, 64, 32, 24, 24>>::value;
  REQUIRE(reorders(p) == 4); // of x and t all and the selected ones
  CHECK(tl::detail::reorder_cost<prices>(p.nodes, p.size) == (64 + 16) * (16 + 32) * 24 * 24);
}

TEST_CASE("windows that all lie on padding") {
  constexpr auto f = [](auto x, auto w) {
    return tl::sum(tl::square(tl::conv2d<tl::conv{.stride = 5, .padding = 3}>(x, w)));
  };
  using X = tl::tensor<float, 8, 32, 1, 1>;
  using W = tl::tensor<float, 32, 32, 2, 2>;
  std::vector<float> x(8 * 32, 1.0f), w(32 * 32 * 4, 1.0f);
  auto run = tl::jit(tl::value_and_grad<0, 1>(f)).bind<X, W>();
  const auto [value, by_x, by_w] = run(X(x.data()), W(w.data()));
  CHECK(value[0] == 0.0f);
  for (const float d : by_x) CHECK(d == 0.0f);
  for (const float d : by_w) CHECK(d == 0.0f);
}

TEST_CASE("an empty batch of images needs no data") {
  constexpr auto f = [](auto x, auto w) {
    return tl::sum(tl::square(tl::conv2d<tl::conv{.padding = 1, .layout = layout::nhwc}>(x, w)));
  };
  using X = tl::tensor<float, tl::dyn<'n'>, 4, 4, 32>;
  using W = tl::tensor<float, 32, 32, 3, 3>;
  std::vector<float> w(32 * 32 * 9, 1.0f);
  auto run = tl::jit(tl::grad<1>(f)).bind<X, W>(tl::dim<'n'>(4));
  for (const float d : run(X(static_cast<float*>(nullptr), 0), W(w.data()))) CHECK(d == 0.0f);
}

TEST_CASE("a program without convolutions is as it is written") {
  constexpr auto f = [](auto x) { return tl::sum(tl::square(tl::transpose<0, 2, 3, 1>(x))); };
  using F = std::remove_const_t<decltype(f)>;
  using X = tl::tensor<float, 2, 3, 4, 5>;
  CHECK(tl::detail::laid_out<F, X>::value.size == tl::detail::traced<F, X>::value.size);
}
