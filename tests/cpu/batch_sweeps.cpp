// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Sweeps of one convolution: value and all gradients, and what a load computes.
#include "batch_sweeps.hpp"

#include <support/allocations.hpp>
#include <tuple>

using namespace batch_sweeps;

namespace {

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

} // namespace

TEST_CASE("batch sweeps: one layer, value and all gradients") {
  check_layer<double, tl::conv{.stride = 2, .padding = 1}, 61, 16, 24>();
  check_layer<double, tl::conv{.padding = 1, .groups = 4}, 33, 16, 24>();
  check_layer<float, tl::conv{.padding = 1}, 47, 13, 19>();
  check_layer<float, tl::conv{.padding = 2, .dilation = 2}, 33, 32, 32>();
  check_layer<float, tl::conv{.groups = 32}, 37, 32, 32>();
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
