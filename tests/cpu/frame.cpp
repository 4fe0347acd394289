// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <support/random.hpp>
#include <tapeless/tapeless.hpp>
#include <tuple>
#include <vector>

namespace tl = tapeless;

namespace {

constexpr int most = 40;

struct network {
  tl::tensor<double, 7, 70> w1;
  tl::tensor<double, 70> b1;
  tl::tensor<double, 70, 70> w2;
  tl::tensor<double, 70, 3> w3;
};
using inputs = tl::tensor<double, tl::dyn<'n'>, 7>;
using targets = tl::tensor<double, tl::dyn<'n'>, 3>;
using weights = tl::tensor<double, tl::dyn<'n'>>;

constexpr auto losses = [](const auto& p, auto x, auto t) {
  const auto h = tl::relu(tl::matmul(tl::relu(tl::matmul(x, p.w1) + p.b1), p.w2));
  return tl::sum<1>(tl::square(tl::matmul(h, p.w3) - t));
};
constexpr auto hardest = tl::value_and_grad<0>([](const auto& p, auto x, auto t, auto count) {
  const auto l = losses(p, x, t);
  return tl::sum(tl::gather(l, tl::top_k<most, 'k'>(l, count)));
});
// differentiated by the weights, too: all rows
constexpr auto weighted = tl::value_and_grad<0, 3>(
    [](const auto& p, auto x, auto t, auto w) { return tl::sum(w * losses(p, x, t)); });
constexpr auto seen = [](const auto& p, auto x, auto t, auto count) {
  const auto l = losses(p, x, t);
  const auto rows = tl::top_k<most, 'k'>(l, count);
  return std::tuple{tl::gather(x, rows), l};
};

template <class F, class... A> int places_taken() {
  const tl::cpu::full_selection<tl::detail::planned_with<false, F, A...>::value> s;
  return static_cast<int>(std::count_if(std::begin(s.of), std::end(s.of), [](int k) { return k >= 0; }));
}

} // namespace

TEST_CASE("frame: of all rows, of some and of none, one run after the other: the gradient of their sum") {
  using F = std::remove_const_t<decltype(hardest)>;
  CHECK(places_taken<F, network, inputs, targets, std::int32_t>() > 0);
  tl::owned<network> p;
  std::uint64_t seed = 1;
  tl::for_each_leaf(*p, [&](const auto& leaf) {
    const auto v = support::random_values<double>(static_cast<std::size_t>(leaf.size()), ++seed);
    std::copy(v.begin(), v.end(), leaf.begin());
  });
  auto x = support::random_values<double>(most * 7, 21), t = support::random_values<double>(most * 3, 22);
  for (const int members : {1, 2}) {
    auto few = tl::jit(hardest).bind<network, inputs, targets, std::int32_t>(tl::dim<'n'>(most),
                                                                             tl::threads(members));
    auto all = tl::jit(weighted).bind<network, inputs, targets, weights>(tl::dim<'n'>(most));
    auto of_rows = tl::jit(losses).bind<network, inputs, targets>(tl::dim<'n'>(most));
    for (const int n : {most, 17})
      for (const int count : {n, 5, n, 0, 1, n, n}) {
        const inputs xs(x.data(), n);
        const targets ts(t.data(), n);
        const auto loss = of_rows(*p, xs, ts);
        std::vector<double> w(static_cast<std::size_t>(n)), sorted(loss.begin(), loss.end());
        std::sort(sorted.rbegin(), sorted.rend());
        for (int i = 0; i < n && count > 0; ++i)
          w[static_cast<std::size_t>(i)] = loss[i] >= sorted[static_cast<std::size_t>(count - 1)] ? 1 : 0;
        const auto [value, gradient] = few(*p, xs, ts, count);
        const auto [expected, by_p, by_w] = all(*p, xs, ts, weights(w.data(), n));
        CHECK(value[0] == doctest::Approx(expected[0]).epsilon(1e-12));
        std::vector<double> a, b;
        tl::for_each_leaf(gradient, [&](const auto& leaf) { a.insert(a.end(), leaf.begin(), leaf.end()); });
        tl::for_each_leaf(by_p, [&](const auto& leaf) { b.insert(b.end(), leaf.begin(), leaf.end()); });
        double worst = 0;
        for (std::size_t i = 0; i < a.size(); ++i) worst = std::fmax(worst, std::fabs(a[i] - b[i]));
        CHECK(a.size() == b.size());
        CHECK(worst <= 1e-10);
      }
  }
}

TEST_CASE("frame: rows that are a result are copied") {
  using F = std::remove_const_t<decltype(seen)>;
  CHECK(places_taken<F, network, inputs, targets, std::int32_t>() == 0);
  tl::owned<network> p;
  auto x = support::random_values<double>(most * 7, 21), t = support::random_values<double>(most * 3, 22);
  auto run = tl::jit(seen).bind<network, inputs, targets, std::int32_t>(tl::dim<'n'>(most));
  const auto [rows, l] = run(*p, inputs(x.data(), most), targets(t.data(), most), most);
  CHECK(rows.data() != x.data());
  CHECK(std::equal(rows.begin(), rows.end(), x.begin(), x.end()));
}
