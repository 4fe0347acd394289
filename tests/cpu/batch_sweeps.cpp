// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Sweeps with convolutions, end to end: what a program over many images computes is the sum, or the list, of what the
// same program computes of each image.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <support/allocations.hpp>
#include <support/compare.hpp>
#include <support/random.hpp>
#include <tuple>
#include <vector>

#include <tapeless/tapeless.hpp>

namespace tl = tapeless;

namespace {

constexpr int side = 20;
template <class T, int N, int C> using images = tl::tensor<T, N, C, side, side>;

// ---- plans
template <class F, class... X> struct plan_of {
  static constexpr const auto& p = tl::detail::planned<F, X...>::value;
  static constexpr bool in_sweep(int i) {
    return p.step_[i].sweep || (i + 1 < p.steps && p.step_[i + 1].sweep);
  }
  static constexpr int convolutions(bool sweeps) {
    int n = 0;
    for (int i = 0; i < p.steps; ++i)
      n += tl::detail::is_conv(p.step_[i].o) && (in_sweep(i) || !sweeps) ? 1 : 0;
    return n;
  }
  static constexpr bool all_in_sweeps() {
    return convolutions(false) > 0 && convolutions(true) == convolutions(false);
  }
  static constexpr int pools_in_sweeps() {
    int n = 0;
    for (int i = 0; i < p.steps; ++i)
      n += !p.step_[i].fused && tl::detail::slides(p.step_[i].o) && in_sweep(i) ? 1 : 0;
    return n;
  }
  // How many loops over a multiple of `rows` are in no sweep.
  static constexpr int loops_outside(tl::extent_t rows) {
    int n = 0;
    for (int i = 0; i < p.steps; ++i)
      n += p.step_[i].fused && p.step_[i].loop[0] % rows == 0 && !in_sweep(i) ? 1 : 0;
    return n;
  }
  // What passes from a step of a sweep to another one is in scratch, and no place of it is written while it is read.
  static constexpr bool keep_to_their_scratch() {
    using namespace tl::detail;
    for (int i = 0; i < p.steps; ++i) {
      const step& s = p.step_[i];
      const int n = s.loads + s.stores;
      for (int k = s.slot0; k < s.slot0 + n; ++k) {
        const slot& q = p.slot_[k];
        if (q.at.where != place::sweep) continue;
        if (!in_sweep(i) || q.at.offset < 0 || q.at.offset >= p.sweep_bytes) return false;
        for (int w = s.slot0 + s.loads; w < s.slot0 + n; ++w)
          if (w != k && p.slot_[w].at == q.at) return false;
        // maxima are written with their positions
        const bool early = tl::cpu::is_made_with_positions<p>(i + 1);
        if (early && p.slot_[p.step_[i + 1].slot0 + 1].at == q.at) return false;
      }
    }
    return true;
  }
};

// ---- data and sums
template <class T> using numbers = std::vector<T>;
template <class View, class T> void put(const View& to, const numbers<T>& from, std::size_t at = 0) {
  std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(at), to.size(), to.data());
}
template <class View, class T> void add(numbers<T>& sum, const View& v) {
  sum.resize(static_cast<std::size_t>(v.size()));
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += v.data()[i];
}
template <class View, class T> void append(numbers<T>& list, const View& v) {
  list.insert(list.end(), v.begin(), v.end());
}
// Sums of many terms: by the largest element.
template <class T> double tolerance(const numbers<T>& expected) {
  double largest = 0;
  for (const T x : expected) largest = std::max(largest, static_cast<double>(std::abs(x)));
  return (sizeof(T) == 8 ? 1e-12 : 2e-5) * (1 + largest);
}
template <class View, class T> bool agrees(const View& got, const numbers<T>& expected) {
  const auto c = support::close(got, expected, tolerance(expected));
  CAPTURE(c);
  CHECK(c);
  return static_cast<bool>(c);
}

// ---- one layer: value and gradients of x, w, b
template <tl::conv C> struct layer {
  constexpr auto operator()(auto x, auto w, auto b, auto t) const {
    return tl::sum(tl::square(tl::relu(tl::conv2d<C>(x, w) + tl::channel(b)) - t));
  }
};
template <tl::conv C> constexpr int positions =
    (side + C.padding.top + C.padding.bottom - 2 * C.dilation.h - 1) / C.stride.h + 1;

template <class T, tl::conv C, int N, int Channels, int Filters> void check_layer() {
  constexpr int out = positions<C>;
  using W = tl::tensor<T, Filters, Channels / C.groups, 3, 3>;
  using B = tl::tensor<T, Filters>;
  using X = images<T, N, Channels>;
  using Y = tl::tensor<T, N, Filters, out, out>;
  constexpr auto gradient = tl::value_and_grad<0, 1, 2>(layer<C>{});
  using plan = plan_of<std::remove_const_t<decltype(gradient)>, X, W, B, Y>;
  static_assert(plan::all_in_sweeps());
  static_assert(plan::keep_to_their_scratch());

  tl::owned<X> x;
  tl::owned<Y> t;
  tl::owned<W> w;
  tl::owned<B> b;
  const auto xs = support::random_values<T>(static_cast<std::size_t>((*x).size()), 1);
  const auto ts = support::random_values<T>(static_cast<std::size_t>((*t).size()), 2);
  put(*x, xs);
  put(*t, ts);
  put(*w, support::random_values<T>(static_cast<std::size_t>((*w).size()), 3));
  put(*b, support::random_values<T>(static_cast<std::size_t>((*b).size()), 4));

  numbers<T> value, dx, dw, db;
  {
    tl::owned<images<T, 1, Channels>> x1;
    tl::owned<tl::tensor<T, 1, Filters, out, out>> t1;
    auto one =
        tl::jit(gradient).template bind<images<T, 1, Channels>, W, B, tl::tensor<T, 1, Filters, out, out>>();
    for (std::size_t i = 0; i < N; ++i) {
      put(*x1, xs, i * xs.size() / N);
      put(*t1, ts, i * ts.size() / N);
      const auto r = one(*x1, *w, *b, *t1);
      add(value, std::get<0>(r));
      append(dx, std::get<1>(r));
      add(dw, std::get<2>(r));
      add(db, std::get<3>(r));
    }
  }
  auto alone = tl::jit(gradient).template bind<X, W, B, Y>(tl::threads(1));
  const auto r = alone(*x, *w, *b, *t);
  agrees(std::get<0>(r), value);
  agrees(std::get<1>(r), dx);
  agrees(std::get<2>(r), dw);
  agrees(std::get<3>(r), db);
  for (const int threads : {2, 3}) {
    auto team = tl::jit(gradient).template bind<X, W, B, Y>(tl::threads(threads));
    const auto r2 = team(*x, *w, *b, *t);
    CHECK(*std::get<0>(r2).data() == *std::get<0>(r).data());
    const auto same = [&](const auto& p, const auto& q) { return std::equal(p.begin(), p.end(), q.begin()); };
    CHECK(same(std::get<1>(r), std::get<1>(r2)));
    CHECK(same(std::get<2>(r), std::get<2>(r2)));
    CHECK(same(std::get<3>(r), std::get<3>(r2)));
    const auto counted = support::allocations_of([&] { (void)team(*x, *w, *b, *t); });
    CHECK(counted == 0);
  }
}

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

TEST_CASE("batch sweeps: one layer, value and all gradients") {
  check_layer<double, tl::conv{.stride = 2, .padding = 1}, 61, 16, 24>();
  check_layer<double, tl::conv{.padding = 1, .groups = 4}, 33, 16, 24>();
  check_layer<float, tl::conv{.padding = 1}, 47, 13, 19>();
  check_layer<float, tl::conv{.padding = 2, .dilation = 2}, 33, 32, 32>();
  check_layer<float, tl::conv{.groups = 32}, 37, 32, 32>();
}

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
TEST_CASE("batch sweeps: pools, of all and of chosen images") {
  check_pools<double, pooled_network, 5>();
  check_pools<double, pools_of_images, 10>();
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

TEST_CASE("batch sweeps: what a load computes is no part of them") {
  using T = float;
  using P = std::tuple<images<T, 32, 16>, tl::tensor<T, 16, side, side>>;
  using W = tl::tensor<T, 24, 16, 3, 3>;
  // a loop over the images that a load runs, with rows of its own
  constexpr auto loss = [](auto p, auto w) {
    const auto x = exp(std::get<0>(p) * std::get<1>(p));
    return tl::sum(tl::square(tl::conv2d<tl::conv{.padding = 1}>(x, w)));
  };
  constexpr auto gradient = tl::value_and_grad<1>(loss);
  tl::owned<P> p;
  tl::owned<W> w;
  put(std::get<0>(*p), support::random_values<T>(static_cast<std::size_t>(std::get<0>(*p).size()), 21));
  put(std::get<1>(*p), support::random_values<T>(static_cast<std::size_t>(std::get<1>(*p).size()), 22));
  auto run = tl::jit(gradient).bind<P, W>(tl::threads(2));
  auto loaded = run.load(*p);
  for (const std::uint64_t seed : {23u, 24u}) {
    put(*w, support::random_values<T>(static_cast<std::size_t>((*w).size()), seed));
    const auto [value, dw] = loaded(*w);
    const numbers<T> got_value(value.begin(), value.end()), got(dw.begin(), dw.end());
    const auto [expected_value, expected] = run(*p, *w);
    agrees(expected_value, got_value);
    agrees(expected, got);
  }
}
