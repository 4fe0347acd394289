// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Loops on the emulated device compute what the CPU does. The laws of all ops run there among the slow checks; here are
// what is the device's own: sums over several sets of axes, split terms, and what a launch can count.
#include <support/both_back_ends.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <tuple>

namespace tl = tapeless;
namespace cuda = tapeless::cuda;

namespace {

using cuda_tests::both_back_ends, cuda_tests::device, cuda_tests::fill;

// f on the two back ends for each n
template <class X, class F> double worst_of(F, std::initializer_list<std::int64_t> sizes) {
  both_back_ends<F, X> both(tl::dim<'n'>{std::max(sizes)});
  double worst = 0;
  for (const std::int64_t n : sizes) {
    tl::owned<X> x(tl::dim<'n'>{n});
    fill(*x, static_cast<std::uint64_t>(n));
    worst = std::fmax(worst, both.difference(*x));
  }
  return worst;
}

struct cube {
  template <class T> static T primal(T a, T b) { return a * a * a + b; }
  static constexpr auto vjp(auto a, auto, auto, auto y_bar) {
    return std::tuple{3.0 * square(a) * y_bar, y_bar};
  }
};
constexpr tl::extent_t n = tl::dyn<'n'>;
constexpr auto rows = [](auto x) { return tl::gather<0>(x, tl::where<'k'>(tl::sum<1>(x) > 0.0)); };

} // namespace

TEST_CASE("cuda: a loop with sums over several sets of axes is as many launches") {
  const auto f = [](auto x) {
    const auto y = exp(x) * x;
    return std::tuple{tl::sum<0, 2>(y), tl::sum<1>(y), tl::sum(y), tl::max<2>(y), tanh(y), tl::max(y)};
  };
  using X = tl::tensor<float, n, 5, 12>;
  CHECK(worst_of<X>(f, {1, 2, 33, 1000}) < 2e-6);
  using planned = tl::detail::planned_for<false, device, decltype(f), X>;
  constexpr const auto& plan = planned::value;
  static_assert(cuda::launches_of<plan>{plan.step_[0]}.count() == 4);
}
TEST_CASE("cuda: terms are split by their number, in chains") {
  const auto f = [](auto x) {
    return std::tuple{tl::sum(x * x), tl::max(x), tl::sum<0>(exp(x)), tl::sum<1>(x)};
  };
  CHECK(worst_of<tl::tensor<float, n, 3>>(f, {1, 7, 4096, 100003, 200000}) < 2e-6);
  constexpr cuda::term_split one(1, 1u << 20, 32), many(1u << 18, 1000, 1), few(10, 60, 1), none(0, 5, 1);
  static_assert(one.splits == 4096 && one.chunk == 256 && many.splits == 1 && few.splits == 7 &&
                none.splits == 1);
}
TEST_CASE("cuda: loops of extent 0 end their sums") {
  const auto f = [](auto x) { return std::tuple{tl::sum<0>(x), tl::sum(x), x + 1.0}; };
  CHECK(worst_of<tl::tensor<double, n, 4>>(f, {0, 3}) == 0);
}
TEST_CASE("cuda: gradients through products, masks, custom ops and bf16") {
  const auto f = tl::value_and_grad([](auto x) {
    const auto h = relu(tl::matmul(x, tl::transpose(x)));
    const auto z = tl::where(x > 0.1, tl::custom<cube>(x, x), tl::cast<float>(tl::cast<tl::bf16>(x)));
    return tl::mean(h) + tl::sum(square(z)) + tl::sum(tl::cast<float>(tl::argmax<1>(x)) * tl::max<1>(x));
  });
  CHECK(worst_of<tl::tensor<float, n, 9>>(f, {1, 2, 17, 64}) < 2e-6);
}
struct plus_one {
  static constexpr tl::shape result(tl::shape x) { return x; }
  static void primal(auto y, auto x) {
    for (tl::extent_t i = 0; i < x.size(); ++i) y.data()[i] = x.data()[i] + 1;
  }
  static void launch(auto, auto y, auto x) { primal(y, x); }
  static constexpr auto vjp(auto, auto, auto y_bar) { return y_bar; }
};
TEST_CASE("cuda: counted rows come first, or the program is refused") {
  using X = tl::tensor<float, n, 3>;
  const auto keeps = []<class F>(F) {
    return cuda::keeps_counted_rows_first<tl::detail::planned_for<false, device, F, X>::value>();
  };
  CHECK(keeps([](auto x) { return tl::sum<0>(exp(rows(x))); }));
  CHECK(keeps([](auto x) { return tl::matmul(tl::transpose(rows(x)), square(rows(x))); }));
  CHECK_FALSE(keeps([](auto x) { return tl::flip<0>(rows(x)); }));
  CHECK_FALSE(keeps([](auto x) { return tl::transpose(rows(x)); }));
  CHECK_FALSE(keeps([](auto x) { return tl::argmax<0>(rows(x)); }));
  CHECK(keeps([](auto x) { return tl::sum<0>(rows(tl::custom<plus_one>(x))); }));
  CHECK_FALSE(
      keeps([](auto x) { return tl::sum<0>(tl::custom<plus_one>(rows(x))); })); // a row that is not there: 1
  CHECK_FALSE(keeps([](auto x) { return tl::top_k<2, 'l'>(tl::sum<1>(rows(x))); }));
  CHECK_FALSE(
      keeps([](auto x) { return tl::gather<1>(tl::transpose(x), tl::where<'k'>(tl::sum<1>(x) > 0.0)); }));
}
TEST_CASE(
    "cuda: a reshape that joins counted rows with an axis ahead of them is refused, behind them it is right") {
  using X = tl::tensor<float, n, 3>;
  const auto keeps = []<class F>(F) {
    return cuda::keeps_counted_rows_first<tl::detail::planned_for<false, device, F, X>::value>();
  };
  const auto behind = [](auto x) {
    return tl::sum(square(tl::reshape<tl::extent_product<3, tl::dyn<'k'>>>(rows(x)) + 1.0f));
  };
  CHECK(keeps(behind));
  CHECK_FALSE(keeps([](auto x) {
    return tl::sum(square(tl::reshape<tl::extent_product<3, tl::dyn<'k'>>>(tl::transpose(rows(x))) + 1.0f));
  }));
}
TEST_CASE(
    "cuda: what is gathered by gathered indices, and running sums of counted rows, have no other rows") {
  using X = tl::tensor<float, n, 3>;
  using I = tl::tensor<std::int32_t, n>;
  const auto f = [](auto x, auto at) {
    const auto chosen = tl::where<'k'>(tl::sum<1>(x) > 0.0);
    const auto y = tl::gather(x, tl::gather(at, chosen)) * 1.0f; // row 0, where no row is
    const auto z = tl::cumsum<0>(tl::gather(x, chosen));
    return std::tuple{tl::matmul(tl::transpose(y), z), tl::matmul(tl::transpose(z), z), tl::sum<0>(y)};
  };
  std::vector<float> x = support::random_values<float>(3 * 20, 3);
  std::vector<std::int32_t> at(20);
  for (int i = 0; i < 20; ++i) at[static_cast<std::size_t>(i)] = (7 * i + 3) % 20;
  both_back_ends<decltype(f), X, I> run(tl::dim<'n'>(20));
  CHECK(run.difference(X(x.data(), 20), I(at.data(), 20)) < 1e-6);
}
TEST_CASE("cuda: counted rows that are not there put nothing along an axis") {
  using X = tl::tensor<float, n>;
  using Y = tl::tensor<float, 3>;
  const auto f = [](auto x, auto y) {
    const auto chosen = tl::where<'k'>(x < 0.0);
    const auto d = tl::gather(x, chosen);
    const auto at = chosen % 3;
    return std::tuple{tl::scatter_max_along_axis<0>(y, at, d), tl::scatter_min_along_axis<0>(y, at, -d),
                      tl::scatter_add_along_axis<0>(y, at, d)};
  };
  std::vector<float> x = support::random_values<float>(40, 3), y(3, -2.0f);
  both_back_ends<decltype(f), X, Y> run(tl::dim<'n'>(40));
  CHECK(run.difference(X(x.data(), 40), Y(y.data())) < 1e-6);
}
TEST_CASE("cuda: a launch counts in 32 bits, more is an exception") {
  CHECK(cuda::counted(cuda::most_counted) == cuda::most_counted);
  CHECK_THROWS_WITH_AS(
      cuda::counted(cuda::index_t{1} << 32),
      "tapeless: cuda: run: a step of 4294967296 elements: at most 4026531840, the kernels count in 32 bits",
      tl::argument_error);
}
