// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// A back end says which ways of running steps it has (plan_rules). One that has neither sweeps nor epilogues runs one step
// after another, and computes the same.
#include <doctest/doctest.h>

#include <cmath>
#include <support/random.hpp>
#include <support/same_results.hpp>
#include <tapeless/run/csr_dense.hpp>
#include <tapeless/tapeless.hpp>
#include <tuple>
#include <type_traits>

namespace tl = tapeless;

namespace {

// That of tl::plain: the CPU's kernels, one step after another.
using plain = tl::detail::plain_backend<tl::cpu::backend<tl::cpu::default_team>>;

template <class Plan> constexpr int sweeps(const Plan& p) {
  int n = 0;
  for (int i = 0; i < p.steps; ++i) n += p.step_[i].sweep ? 1 : 0;
  return n;
}
template <class Plan> constexpr int epilogues(const Plan& p) {
  int n = 0;
  for (int i = 0; i < p.steps; ++i) n += p.step_[i].epilogue ? 1 : 0;
  return n;
}

template <class Tree> void fill(const Tree& tree, std::uint64_t seed) {
  tl::for_each_leaf(tree, [&](const auto& leaf) {
    using T = std::remove_cvref_t<decltype(leaf[0])>;
    const auto v = support::random_values<double>(static_cast<std::size_t>(leaf.size()), ++seed, -0.5, 0.5);
    for (tl::extent_t i = 0; i < leaf.size(); ++i) leaf[i] = static_cast<T>(v[static_cast<std::size_t>(i)]);
  });
}

// Sweeps, Epilogues: how many the CPU's plan has. AtLeast: the widest vectors make more of them.
template <int Sweeps, int Epilogues, class F, bool AtLeast = false, class... A, class... Option>
void same_step_by_step(std::tuple<A...> arguments, Option... option) {
  constexpr const auto& swept = tl::detail::planned<F, A...>::value;
  constexpr const auto& unswept = tl::detail::planned_for<false, plain, F, A...>::value;
  static_assert(AtLeast ? sweeps(swept) >= Sweeps : sweeps(swept) == Sweeps);
  static_assert(epilogues(swept) == Epilogues);
  static_assert(sweeps(unswept) == 0 && epilogues(unswept) == 0);
  auto run = tl::jit(F{}).template bind<A...>(option...);
  auto plainly = tl::detail::bound<plain, false, F, A...>(option...);
  std::apply(
      [&](const auto&... x) {
        const support::leaves unswept_results = support::leaves_of(plainly(x...));
        CHECK(support::says_something(unswept_results));
        CHECK(support::apart(unswept_results, support::leaves_of(run(x...))) <= support::order_of_sums);
      },
      arguments);
}

} // namespace

TEST_CASE("rules: products with and without epilogues") {
  struct network {
    tl::tensor<double, 24, 40> w1;
    tl::tensor<double, 40> b1;
    tl::tensor<double, 40, 3> w2;
  };
  using rows = tl::tensor<double, tl::dyn<'n'>, 24>;
  constexpr auto loss = [](const network& p, auto x) {
    return tl::mean(tl::square(tl::matmul(tanh(tl::matmul(x, p.w1) + p.b1), p.w2)));
  };
  const tl::owned<network> p;
  fill(*p, 1);
  for (const int n : {1, 7, 300}) {
    const auto x = tl::owned<rows>{tl::dim<'n'>(n)};
    fill(*x, 10);
    same_step_by_step<0, 3, decltype(tl::value_and_grad<0>(loss))>(std::tuple{*p, *x}, tl::dim<'n'>(n));
  }
}

TEST_CASE("rules: the loss of the hardest rows") {
  struct network {
    tl::tensor<double, 10, 16> w1;
    tl::tensor<double, 16> w2;
  };
  using rows = tl::tensor<double, tl::dyn<'n'>, 10>;
  constexpr auto loss = [](const network& p, auto x) {
    const auto each = tl::square(tl::matmul(tl::relu(tl::matmul(x, p.w1)), p.w2) - 1.0);
    return tl::mean(tl::gather<0>(each, tl::top_k<tl::percent{25}, 'k'>(each)));
  };
  const tl::owned<network> p;
  fill(*p, 1);
  for (const int n : {4, 90}) {
    const auto x = tl::owned<rows>{tl::dim<'n'>(n)};
    fill(*x, 10);
    same_step_by_step<0, 2, decltype(tl::value_and_grad<0>(loss))>(std::tuple{*p, *x}, tl::dim<'n'>(n));
  }
}

TEST_CASE("rules: loops over rows, a sweep at a time and one loop after another") {
  using rows = tl::tensor<double, 600, 130>;
  using scale = tl::tensor<double, 130>;
  constexpr auto loss = [](auto x, auto gamma, auto beta) {
    return tl::sum(tl::square(tl::softmax(tl::layer_norm(x, gamma, beta)) * gamma));
  };
  const tl::owned<rows> x;
  const tl::owned<scale> gamma, beta;
  fill(*x, 1);
  fill(*gamma, 2);
  fill(*beta, 3);
  same_step_by_step<9, 0, decltype(tl::value_and_grad<0, 1, 2>(loss))>(std::tuple{*x, *gamma, *beta});
}

TEST_CASE("rules: convolutions, some images at a time and all images") {
  struct layer {
    tl::tensor<double, 8, 8, 3, 3> w;
    tl::tensor<double, 8> b;
  };
  using images = tl::tensor<double, 64, 8, 20, 20>;
  constexpr auto loss = [](const layer& p, auto x, auto y) {
    return tl::mean(tl::square(tl::relu(tl::conv2d<tl::conv{.padding = 1}>(x, p.w) + tl::channel(p.b)) - y));
  };
  const tl::owned<layer> p;
  const tl::owned<images> x, y;
  fill(*p, 1);
  fill(*x, 10);
  fill(*y, 20);
  same_step_by_step<3, 0, decltype(tl::value_and_grad<0, 1>(loss)), true>(std::tuple{*p, *x, *y});
}

TEST_CASE("rules: masked least squares, one pass over the matrix and two") {
  using matrix = tl::csr<double, tl::dyn<'m'>, tl::dyn<'n'>, tl::dyn<'e'>>;
  using rows = tl::tensor<double, tl::dyn<'m'>>;
  using columns = tl::tensor<double, tl::dyn<'n'>>;
  constexpr auto loss = [](auto x, auto a, auto y, auto mask) {
    return tl::mean(mask * tl::square(tl::matmul(a, x) - y));
  };
  const tl::owned<tl::tensor<double, 300, 70>> dense;
  fill(*dense, 1);
  for (int i = 0; i < 300 * 70; ++i)
    if (i % 5 != 0) (*dense)[i] = 0;
  const auto a = tl::csr_from_dense<matrix>(*dense);
  const auto x = tl::owned<columns>{tl::dim<'n'>(70)};
  const auto y = tl::owned<rows>{tl::dim<'m'>(300)}, mask = tl::owned<rows>{tl::dim<'m'>(300)};
  fill(*x, 2);
  fill(*y, 3);
  for (int i = 0; i < 300; ++i) (*mask)[i] = i % 3 == 0 ? 0 : 1;
  same_step_by_step<2, 0, decltype(tl::value_and_grad<0>(loss))>(
      std::tuple{*x, *a, *y, *mask}, tl::dim<'m'>(300), tl::dim<'n'>(70), tl::dim<'e'>(300 * 70));
  // A condition leaves out what is no number, too. A product with the mask does so in the sweep alone.
  constexpr auto conditional = [](auto z, auto m, auto b, auto keep) {
    return tl::mean(tl::where(keep > 0.0, tl::square(tl::matmul(m, z) - b), 0.0));
  };
  for (int i = 0; i < 300; i += 3) (*y)[i] = std::nan("");
  same_step_by_step<2, 0, decltype(tl::value_and_grad<0>(conditional))>(
      std::tuple{*x, *a, *y, *mask}, tl::dim<'m'>(300), tl::dim<'n'>(70), tl::dim<'e'>(300 * 70));
}
