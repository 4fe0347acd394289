// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// keep: values, and convolutions whose weights it masks: results and gradients are those of weights that are multiplied
// by the mask; the cost is that of what is left.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <vector>

#include "support/random.hpp"
#include <tapeless/tapeless.hpp>

namespace tl = tapeless;

namespace {

constexpr std::array<bool, 6> channels{true, false, false, true, true, false};
constexpr std::array<bool, 5> filters{false, true, true, false, true};
constexpr std::array<bool, 6> first{true, true, true, false, false, false}, none{},
    all{true, true, true, true, true, true};

using image = tl::tensor<double, 2, 6, 7, 5>;
using weights = tl::tensor<double, 5, 6, 3, 3>;
using output = tl::tensor<double, 2, 5, 7, 5>;
constexpr tl::conv padded{.padding = 1};

template <class F, class... X> auto evaluate(F, const X&... x) {
  auto run = tl::jit(F{}).template bind<X...>();
  std::vector<double> r;
  tl::for_each_leaf(run(x...), [&](const auto& leaf) {
    for (const double e : leaf) r.push_back(e);
  });
  return r;
}

template <class Masked> constexpr auto loss = [](auto x, auto w, auto t) {
  return tl::sum(tl::square(tl::conv2d<padded>(x, Masked{}(w))) * t);
};
constexpr auto plain = [](auto x, auto w, auto t, auto m) {
  return tl::sum(tl::square(tl::conv2d<padded>(x, w * m)) * t);
};
// a projection of the gradient, for the second derivative
template <class Masked> constexpr auto projected = [](auto x, auto w, auto t) {
  return tl::sum(tl::grad<1>(loss<Masked>)(x, w, t) * w);
};
constexpr auto projected_plain = [](auto x, auto w, auto t, auto m) {
  return tl::sum(tl::grad<1>(plain)(x, w, t, m) * w);
};

// The convolution with masked weights and its gradients, beside those of weights times a mask that comes at run time.
template <class Masked> void same_as_product(Masked, const std::vector<double>& mask) {
  std::vector<double> xs = support::random_values<double>(image().size(), 1),
                      ws = support::random_values<double>(weights().size(), 2),
                      ts = support::random_values<double>(output().size(), 3), ms = mask;
  const image xi(xs.data());
  const weights wi(ws.data()), mi(ms.data());
  const output ti(ts.data());
  const auto got = evaluate(tl::value_and_grad<0, 1>(loss<Masked>), xi, wi, ti);
  const auto want = evaluate(tl::value_and_grad<0, 1>(plain), xi, wi, ti, mi);
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(want[i]).epsilon(1e-12));
  const auto got2 = evaluate(tl::grad<0, 1>(projected<Masked>), xi, wi, ti);
  const auto want2 = evaluate(tl::grad<0, 1>(projected_plain), xi, wi, ti, mi);
  for (std::size_t i = 0; i < got2.size(); ++i) CHECK(got2[i] == doctest::Approx(want2[i]).epsilon(1e-12));
}
template <std::size_t C, std::size_t K>
std::vector<double> mask_of(const std::array<bool, C>& c, const std::array<bool, K>& k) {
  std::vector<double> m;
  for (std::size_t f = 0; f < 5; ++f)
    for (std::size_t i = 0; i < 6 * 9; ++i) m.push_back(k[f] && c[i / 9] ? 1 : 0);
  return m;
}
constexpr std::array<bool, 5> every_filter{true, true, true, true, true};

template <class F> constexpr double flops(F) {
  return tl::jit(F{}).template cost<image, weights>().flops().at();
}

} // namespace

TEST_CASE("keep is a product with the mask, on every axis, and linear") {
  constexpr auto f = [](auto w) {
    return std::tuple{tl::keep<1, channels>(w), tl::keep<0, filters>(w), tl::keep<-3, none>(w),
                      tl::keep<0, filters>(tl::keep<1, channels>(w))};
  };
  std::vector<double> w = support::random_values<double>(weights().size(), 4);
  const auto r = evaluate(f, weights(w.data()));
  const auto a = mask_of(channels, every_filter), b = mask_of(all, filters), c = mask_of(channels, filters);
  const std::size_t n = w.size();
  for (std::size_t i = 0; i < n; ++i) {
    CHECK(r[i] == w[i] * a[i]);
    CHECK(r[n + i] == w[i] * b[i]);
    CHECK(r[2 * n + i] == 0);
    CHECK(r[3 * n + i] == w[i] * c[i]);
  }
}

TEST_CASE("keep of int32 and bool") {
  constexpr auto f = [](auto i, auto b) {
    return std::tuple{tl::keep<0, filters>(i), tl::keep<0, filters>(b)};
  };
  std::vector<std::int32_t> i{1, 2, 3, 4, 5};
  bool b[] = {true, true, true, false, true};
  using ints = tl::tensor<std::int32_t, 5>;
  using bools = tl::tensor<bool, 5>;
  auto run = tl::jit(f).bind<ints, bools>();
  const auto [x, y] = run(ints(i.data()), bools(b));
  for (std::size_t k = 0; k < 5; ++k) {
    CHECK(x[static_cast<tl::extent_t>(k)] == (filters[k] ? i[k] : 0));
    CHECK(y[static_cast<tl::extent_t>(k)] == (filters[k] && b[k]));
  }
}

TEST_CASE("convolutions with masked weights are those with weights times the mask, gradients too") {
  same_as_product([](auto w) { return tl::keep<1, channels>(w); }, mask_of(channels, every_filter));
  same_as_product([](auto w) { return tl::keep<1, first>(w); }, mask_of(first, every_filter));
  same_as_product([](auto w) { return tl::keep<0, filters>(w); }, mask_of(all, filters));
  same_as_product([](auto w) { return tl::keep<0, filters>(tl::keep<1, channels>(w)); },
                  mask_of(channels, filters));
  same_as_product([](auto w) { return tl::keep<1, channels>(tl::keep<0, filters>(w)); },
                  mask_of(channels, filters));
  same_as_product([](auto w) { return tl::keep<1, none>(w); }, mask_of(none, every_filter));
  // zeros around nothing
  same_as_product([](auto w) { return tl::pad<1, 2, 4>(tl::slice<1, 3, 3>(w)); },
                  mask_of(none, every_filter));
  same_as_product([](auto w) { return tl::pad<0, 0, 5>(tl::slice<0, 5, 5>(w)); },
                  mask_of(none, every_filter));
}

TEST_CASE("what a mask takes away costs nothing") {
  constexpr auto full = [](auto x, auto w) { return tl::conv2d<padded>(x, w); };
  constexpr auto half = [](auto x, auto w) { return tl::conv2d<padded>(x, tl::keep<1, channels>(w)); };
  constexpr auto fewer = [](auto x, auto w) { return tl::conv2d<padded>(x, tl::keep<0, filters>(w)); };
  constexpr auto both = [](auto x, auto w) {
    return tl::conv2d<padded>(x, tl::keep<1, channels>(tl::keep<0, filters>(w)));
  };
  // (the runs of filters are added up: an addition for each element and further run)
  constexpr double added = 2 * 5 * 7 * 5;
  constexpr auto padded_weights = [](auto x, auto w) {
    return tl::conv2d<padded>(x, tl::pad<1, 2, 1>(tl::slice<1, 0, 3>(w)));
  };
  static_assert(flops(half) == flops(full) / 2);
  static_assert(flops(padded_weights) == flops(full) / 2);
  static_assert(flops(fewer) == flops(full) * 3 / 5 + added);
  static_assert(flops(both) == flops(full) * 3 / 10 + added);
  CHECK(flops(full) > 0);
}
