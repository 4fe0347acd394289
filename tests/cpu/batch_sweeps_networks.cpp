// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Sweeps of several convolutions, of all and of selected images, and beside gathered ones.
#include "batch_sweeps.hpp"

#include <cstdint>
#include <numeric>
#include <tuple>

using namespace batch_sweeps;

namespace {

// ---- two layers, the second with weights that are made first; gradients of both weights only
constexpr auto network = [](auto x, auto w1, auto w2, auto mask) {
  constexpr tl::conv same{.padding = 1};
  auto h = tl::relu(tl::conv2d<same>(x, w1));
  return tl::sum<1, 2, 3>(tl::square(tl::conv2d<same>(h, mask * w2)));
};
constexpr auto loss_of_network = [](auto x, auto w1, auto w2, auto mask) {
  return tl::sum(network(x, w1, w2, mask));
};
// the hardest images only
template <int K> struct hard_network {
  constexpr auto operator()(auto x, auto w1, auto w2, auto mask) const {
    auto each = network(x, w1, w2, mask);
    return tl::sum(tl::gather(each, tl::top_k<K>(each)));
  }
};

// Two layers with a mean between them, which no sweep passes, and beside them a loop over gathered images.
constexpr auto beside = [](auto x, auto w1, auto w2, auto a, auto b) {
  auto h = tl::conv2d<tl::conv{.padding = 1}>(x, w1);
  auto y = tl::conv2d<tl::conv{.stride = 2, .padding = 1}>(tl::relu(h - tl::mean(h)), w2);
  auto loss = tl::sum(tl::square(y));
  return std::tuple(loss, tl::exp(a) * tl::exp(b), tl::sqrt(loss + 1));
};
constexpr auto beside_gathered = [](auto x, auto w1, auto w2, auto a, auto b, auto list) {
  return beside(x, w1, w2, tl::gather(a, list), tl::gather(b, list));
};

} // namespace

TEST_CASE("batch sweeps: layers in a row, weights that are made first, and chosen images") {
  using T = double;
  constexpr int n = 64, k = 41, channels = 9, width = 20;
  using X = images<T, n, channels>;
  using W1 = tl::tensor<T, width, channels, 3, 3>;
  using W2 = tl::tensor<T, width, width, 3, 3>;
  constexpr auto gradient = tl::value_and_grad<1, 2>(loss_of_network);
  constexpr auto hard = tl::value_and_grad<1, 2>(hard_network<k>{});
  using plan = plan_of<std::remove_const_t<decltype(gradient)>, X, W1, W2, W2>;
  using hard_plan = plan_of<std::remove_const_t<decltype(hard)>, X, W1, W2, W2>;
  static_assert(plan::all_in_sweeps() && plan::keep_to_their_scratch());
  static_assert(hard_plan::all_in_sweeps() && hard_plan::keep_to_their_scratch());
  static_assert(hard_plan::loops_outside(k) == 1); // the sum of the chosen losses

  tl::owned<X> x;
  tl::owned<W1> w1;
  tl::owned<W2> w2, mask;
  const auto xs = support::random_values<T>(static_cast<std::size_t>((*x).size()), 11);
  put(*x, xs);
  put(*w1, support::random_values<T>(static_cast<std::size_t>((*w1).size()), 12));
  put(*w2, support::random_values<T>(static_cast<std::size_t>((*w2).size()), 13));
  for (int i = 0; i < (*mask).size(); ++i) (*mask).data()[i] = i % 3 == 0 ? 0 : 1;

  numbers<T> losses;
  std::vector<numbers<T>> dw1, dw2;
  {
    using X1 = images<T, 1, channels>;
    tl::owned<X1> x1;
    auto one = tl::jit(gradient).bind<X1, W1, W2, W2>();
    for (std::size_t i = 0; i < n; ++i) {
      put(*x1, xs, i * xs.size() / n);
      const auto r = one(*x1, *w1, *w2, *mask);
      losses.push_back(*std::get<0>(r).data());
      append(dw1.emplace_back(), std::get<1>(r));
      append(dw2.emplace_back(), std::get<2>(r));
    }
  }
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return losses[a] != losses[b] ? losses[a] > losses[b] : a < b;
  });
  const auto check = [&](const auto& program, std::size_t chosen) {
    numbers<T> value(1, 0), sum1, sum2;
    for (std::size_t i = 0; i < chosen; ++i) {
      value[0] += losses[order[i]];
      add(sum1, dw1[order[i]]);
      add(sum2, dw2[order[i]]);
    }
    auto alone = tl::jit(program).template bind<X, W1, W2, W2>(tl::threads(1));
    auto team = tl::jit(program).template bind<X, W1, W2, W2>(tl::threads(2));
    const auto r = alone(*x, *w1, *w2, *mask);
    agrees(std::get<0>(r), value);
    agrees(std::get<1>(r), sum1);
    agrees(std::get<2>(r), sum2);
    const auto r2 = team(*x, *w1, *w2, *mask);
    CHECK(*std::get<0>(r2).data() == *std::get<0>(r).data());
    CHECK(std::equal(std::get<1>(r).begin(), std::get<1>(r).end(), std::get<1>(r2).begin()));
    CHECK(std::equal(std::get<2>(r).begin(), std::get<2>(r).end(), std::get<2>(r2).begin()));
  };
  check(gradient, n);
  check(hard, k);
}

TEST_CASE("batch sweeps: loops over gathered images that no convolution reads") {
  using T = double;
  constexpr int n = 64, all = 100, channels = 9;
  using X = images<T, n, channels>;
  using W = tl::tensor<T, channels, channels, 3, 3>;
  using A = images<T, all, 1>;
  using B = images<T, all, channels>;
  tl::owned<X> x;
  tl::owned<W> w1, w2;
  tl::owned<A> a;
  tl::owned<B> b;
  tl::owned<images<T, n, 1>> rows_a;
  tl::owned<images<T, n, channels>> rows_b;
  tl::owned<tl::tensor<std::int32_t, n>> list;
  std::uint64_t seed = 31;
  const auto draw = [&](const auto& t) {
    put(t, support::random_values<T>(static_cast<std::size_t>(t.size()), seed++));
  };
  draw(*x), draw(*w1), draw(*w2), draw(*a), draw(*b);
  for (int i = 0; i < n; ++i) {
    const int from = (i * 37 + 5) % all;
    (*list).data()[i] = from;
    constexpr int area = side * side;
    std::copy_n((*a).data() + from * area, area, (*rows_a).data() + i * area);
    std::copy_n((*b).data() + from * area * channels, area * channels,
                (*rows_b).data() + i * area * channels);
  }
  for (const int threads : {1, 2}) {
    auto run =
        tl::jit(beside_gathered).bind<X, W, W, A, B, tl::tensor<std::int32_t, n>>(tl::threads(threads));
    auto of_rows =
        tl::jit(beside).bind<X, W, W, images<T, n, 1>, images<T, n, channels>>(tl::threads(threads));
    const auto r = run(*x, *w1, *w2, *a, *b, *list);
    const auto q = of_rows(*x, *w1, *w2, *rows_a, *rows_b);
    const auto check = [&](const auto& got, const auto& wanted) {
      agrees(got, numbers<T>(wanted.begin(), wanted.end()));
    };
    check(std::get<0>(r), std::get<0>(q));
    check(std::get<1>(r), std::get<1>(q));
    check(std::get<2>(r), std::get<2>(q));
  }
}
