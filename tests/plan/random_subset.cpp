// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The mean loss of a random subset: of a list that the caller draws, of a mask, of the greatest random numbers. Value and
// gradient are those of the mean loss of a batch that has these rows alone.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include <support/random.hpp>
#include <tapeless/tapeless.hpp>

namespace tl = tapeless;

namespace {

constexpr int n = 48, kept = 12, inputs = 7, outputs = 3;
using W = tl::tensor<double, inputs, outputs>;
template <int N> using X = tl::tensor<double, N, inputs>;
template <int N> using V = tl::tensor<double, N>;
using list = tl::tensor<std::int32_t, kept>;

constexpr auto losses(auto w, auto x) { return tl::mean<1>(tl::square(tl::tanh(tl::matmul(x, w)) - 0.5)); }
struct of_all {
  constexpr auto operator()(auto w, auto x) const { return tl::mean(losses(w, x)); }
};
struct of_list {
  constexpr auto operator()(auto w, auto x, auto rows) const {
    return tl::mean(tl::gather(losses(w, x), rows));
  }
};
struct of_mask {
  constexpr auto operator()(auto w, auto x, auto m) const { return tl::sum(m * losses(w, x)) / tl::sum(m); }
};
struct of_numbers {
  constexpr auto operator()(auto w, auto x, auto r) const {
    return tl::mean(tl::gather(losses(w, x), tl::top_k<kept>(r)));
  }
};

} // namespace

TEST_CASE("a random subset: by a list, by a mask, by random numbers") {
  tl::owned<W> w;
  tl::owned<X<n>> x;
  const auto fill = [](const auto& leaf, std::uint64_t seed) {
    const auto v = support::random_values<double>(static_cast<std::size_t>(leaf.size()), seed);
    std::copy(v.begin(), v.end(), leaf.begin());
  };
  fill(*w, 1), fill(*x, 2);
  auto by_list = tl::jit(tl::value_and_grad<0>(of_list{})).bind<W, X<n>, list>();
  auto by_mask = tl::jit(tl::value_and_grad<0>(of_mask{})).bind<W, X<n>, V<n>>();
  auto by_numbers = tl::jit(tl::value_and_grad<0>(of_numbers{})).bind<W, X<n>, V<n>>();
  auto alone = tl::jit(tl::value_and_grad<0>(of_all{})).bind<W, X<kept>>();
  static_assert(tl::jit(tl::value_and_grad<0>(of_list{})).cost<W, X<n>, list>().densified == 0);
  std::mt19937 draw(7);
  std::vector<std::int32_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  for (int again = 0; again < 3; ++again) {
    std::shuffle(order.begin(), order.end(), draw);
    tl::owned<list> rows;
    tl::owned<V<n>> m, numbers;
    tl::owned<X<kept>> batch;
    for (int i = 0; i < n; ++i) (*numbers)[order[static_cast<std::size_t>(i)]] = n - i;
    for (int i = 0; i < kept; ++i) {
      const std::int32_t row = (*rows)[i] = order[static_cast<std::size_t>(i)];
      (*m)[row] = 1;
      std::copy_n((*x).data() + row * inputs, inputs, (*batch).data() + i * inputs);
    }
    const auto [expected, gradient] = alone(*w, *batch);
    const auto check = [&](const auto& out) {
      const auto& [value, by_w] = out;
      CHECK(value[0] == doctest::Approx(expected[0]).epsilon(1e-13));
      for (int i = 0; i < inputs * outputs; ++i) CHECK(std::abs(by_w[i] - gradient[i]) <= 1e-14);
    };
    check(by_list(*w, *x, *rows));
    check(by_mask(*w, *x, *m));
    check(by_numbers(*w, *x, *numbers));
  }
}
