// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Sweeps of convolutions and pools, of all and of selected images.
#include "batch_sweeps.hpp"

#include <numeric>
#include <support/allocations.hpp>
#include <tuple>

using namespace batch_sweeps;

namespace {

// ---- layers with pools between them
constexpr auto pooled_network = [](auto x, auto w1, auto w2) {
  auto a = tl::max_pool2d<tl::pool{.kernel = 3, .stride = 2, .padding = 1}>(tl::relu(tl::conv2d(x, w1)));
  auto b = tl::avg_pool2d<tl::pool{.kernel = 2}>(tl::conv2d<tl::conv{.padding = 1}>(a, w2));
  return tl::sum<1, 2, 3>(tl::square(tl::tanh(b)));
};
// pools of an argument, with dilation, with windows that leave elements out, and one that two others read
constexpr auto pools_of_images = [](auto x, auto w1, auto w2) {
  auto a = tl::max_pool2d<tl::pool{.kernel = 2, .stride = 1, .dilation = 2}>(x) +
           tl::avg_pool2d<tl::pool{.kernel = 3, .stride = 1}>(x);
  auto b = tl::max_pool2d<tl::pool{.kernel = 2, .stride = 1}>(tl::conv2d(a, w1));
  auto c = tl::avg_pool2d<tl::pool{.kernel = 2, .stride = 3, .padding = 1}>(b);
  return tl::sum<1, 2, 3>(tl::square(tl::conv2d<tl::conv{.padding = 1}>(b, w2))) +
         tl::sum<1, 2, 3>(tl::exp(c));
};
template <auto Network> constexpr auto loss_of_pooled = [](auto x, auto w1, auto w2) {
  return tl::sum(Network(x, w1, w2));
};
template <auto Network, int K> constexpr auto hard_pooled = [](auto x, auto w1, auto w2) {
  auto each = Network(x, w1, w2);
  return tl::sum(tl::gather(each, tl::top_k<K>(each)));
};

// pools: steps in sweeps of the program of all images
template <class T, auto Network, int pools> void check_pools() {
  constexpr std::size_t n = 61, k = 41;
  constexpr int channels = 8, width = 24;
  using X = tl::tensor<T, n, channels, 32, 32>;
  using W1 = tl::tensor<T, width, channels, 3, 3>;
  using W2 = tl::tensor<T, width, width, 3, 3>;
  constexpr auto gradient = tl::value_and_grad<0, 1, 2>(loss_of_pooled<Network>);
  constexpr auto hard = tl::value_and_grad<0, 1, 2>(hard_pooled<Network, k>);
  using plan = plan_of<std::remove_const_t<decltype(gradient)>, X, W1, W2>;
  static_assert(plan::all_in_sweeps() && plan::pools_in_sweeps() == pools && plan::keep_to_their_scratch());
  using hard_plan = plan_of<std::remove_const_t<decltype(hard)>, X, W1, W2>;
  static_assert(hard_plan::all_in_sweeps() && hard_plan::pools_in_sweeps() > 0);
  static_assert(hard_plan::keep_to_their_scratch());

  tl::owned<X> x;
  tl::owned<W1> w1;
  tl::owned<W2> w2;
  auto xs = support::random_values<T>(static_cast<std::size_t>((*x).size()), 21);
  auto w1s = support::random_values<T>(static_cast<std::size_t>((*w1).size()), 22);
  if (sizeof(T) == 8) // sums depend on their order
    for (T& v : xs) v = std::sqrt(std::abs(v));
  else // exact sums: which of two maxima is the greater does not depend on rounding
    for (auto* all : {&xs, &w1s})
      for (T& v : *all) v = std::round(4 * v) / 4;
  put(*x, xs);
  put(*w1, w1s);
  put(*w2, support::random_values<T>(static_cast<std::size_t>((*w2).size()), 23));
  std::vector<T> losses;
  std::vector<numbers<T>> dx, dw1, dw2;
  {
    using X1 = tl::tensor<T, 1, channels, 32, 32>;
    tl::owned<X1> x1;
    auto one = tl::jit(gradient).template bind<X1, W1, W2>();
    for (std::size_t i = 0; i < n; ++i) {
      put(*x1, xs, i * xs.size() / n);
      const auto r = one(*x1, *w1, *w2);
      losses.push_back(*std::get<0>(r).data());
      append(dx.emplace_back(), std::get<1>(r));
      append(dw1.emplace_back(), std::get<2>(r));
      append(dw2.emplace_back(), std::get<3>(r));
    }
  }
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return losses[a] > losses[b]; });
  const auto check = [&](const auto& program, std::size_t chosen) {
    numbers<T> value(1, 0), of_x(xs.size(), 0), sum1, sum2;
    for (std::size_t i = 0; i < chosen; ++i) {
      const std::size_t at = order[i];
      value[0] += losses[at];
      std::copy(dx[at].begin(), dx[at].end(), of_x.begin() + static_cast<std::ptrdiff_t>(at * dx[at].size()));
      add(sum1, dw1[at]);
      add(sum2, dw2[at]);
    }
    auto alone = tl::jit(program).template bind<X, W1, W2>(tl::threads(1));
    const auto r = alone(*x, *w1, *w2);
    agrees(std::get<0>(r), value);
    agrees(std::get<1>(r), of_x);
    agrees(std::get<2>(r), sum1);
    agrees(std::get<3>(r), sum2);
    for (const int threads : {2, 3}) {
      auto team = tl::jit(program).template bind<X, W1, W2>(tl::threads(threads));
      const auto again = team(*x, *w1, *w2);
      const auto same = [](const auto& p, const auto& q) {
        return std::equal(p.begin(), p.end(), q.begin());
      };
      CHECK(*std::get<0>(again).data() == *std::get<0>(r).data());
      CHECK(same(std::get<1>(again), std::get<1>(r)));
      CHECK(same(std::get<2>(again), std::get<2>(r)));
      CHECK(same(std::get<3>(again), std::get<3>(r)));
      CHECK(support::allocations_of([&] { (void)team(*x, *w1, *w2); }) == 0);
    }
  };
  check(gradient, n);
  check(hard, k);
}

} // namespace

TEST_CASE("batch sweeps: pools, of all and of chosen images") {
  check_pools<double, pooled_network, 5>();
  check_pools<double, pools_of_images, 10>();
}
