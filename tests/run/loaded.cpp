// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// run.load(p): results are those of run(p, x) up to the order of sums; what follows from p alone runs at the load.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/random.hpp"
#include "support/refusal.hpp"
#include <tapeless/tapeless.hpp>

namespace tl = tapeless;

namespace {

struct network {
  tl::tensor<float, 16, 3, 3, 3> w1;
  tl::tensor<float, 16> b1;
  tl::tensor<float, 24, 16, 3, 3> w2, mask;
  tl::tensor<float, 24, 1, 3, 3> w3;
  tl::tensor<float, 10, 24> w4;
};
using pictures = tl::tensor<float, tl::dyn<'n'>, 3, 12, 12>;

constexpr auto forward = [](const auto& p, auto x) {
  auto h = tl::relu(tl::conv2d<tl::conv{.padding = 1}>(x, p.w1) + tl::channel(p.b1));
  auto k = tl::relu(tl::conv2d<tl::conv{.padding = 1}>(h, p.mask * p.w2));
  auto m = tl::conv2d<tl::conv{.stride = 2, .padding = 1, .groups = 24}>(k, p.w3);
  return tl::matmul(tl::mean<2, 3>(m), tl::transpose(tl::square(p.w4)));
};

template <class Tree> void fill(const Tree& tree, std::uint64_t seed) {
  tl::for_each_leaf(tree, [&](const auto& leaf) {
    const std::vector<float> r = support::random_values<float>(leaf.size(), seed++);
    for (std::size_t i = 0; i < r.size(); ++i) leaf.data()[i] = r[i];
  });
}
template <class Tree> std::vector<float> elements(const Tree& tree) {
  std::vector<float> all;
  tl::for_each_leaf(tree, [&](const auto& leaf) {
    for (const float x : leaf) all.push_back(x);
  });
  return all;
}

template <class X, class Y> bool near(const X& x, const Y& y) {
  const std::vector<float> a = elements(x), b = elements(y);
  float largest = 1;
  for (const float e : b) largest = std::max(largest, std::abs(e));
  bool all = a.size() == b.size();
  for (std::size_t i = 0; all && i < a.size(); ++i) all = std::abs(a[i] - b[i]) <= 1e-5f * largest;
  return all;
}

template <bool Load, class F, class... A> int steps_of_a_run() {
  const auto& p = tl::detail::planned_with<Load, F, A...>::value;
  int n = 0;
  for (int i = 0; i < p.steps; ++i) n += p.step_[i].at_load ? 0 : 1;
  return n;
}

} // namespace

TEST_CASE("a loaded program gives what the program gives, whatever the batch and the team") {
  tl::owned<network> p;
  fill(*p, 1);
  for (const int members : {1, 2, 3}) {
    auto run = tl::jit(forward).bind<network, pictures>(tl::dim<'n'>(5), tl::threads(members));
    auto infer = run.load(*p);
    for (const int n : {1, 5, 2, 0}) {
      tl::owned<pictures> x(tl::dim<'n'>{n});
      fill(*x, 50);
      CHECK(near(infer(*x), run(*p, *x)));
    }
  }
}

TEST_CASE("small weights are packed where they are one matrix; those of a batch are read as they are") {
  struct layers {
    tl::tensor<float, 20, 16> one;
    tl::tensor<float, 3, 20, 16> each;
  };
  using rows = tl::tensor<float, 3, 17, 16>;
  constexpr auto both = [](const auto& p, auto x) {
    return std::tuple{tl::matmul(x, tl::transpose(p.one)), tl::matmul(x, tl::transpose<0, 2, 1>(p.each))};
  };
  constexpr auto packed =
      tl::detail::backend_for<tl::host>::type::scratch<
          tl::detail::planned_with<true, std::remove_const_t<decltype(both)>, layers, rows>::value>()
          .packed;
  static_assert(packed >= 4 * 20 * 16 && packed < 4 * 3 * 20 * 16);
  tl::owned<layers> p;
  tl::owned<rows> x;
  fill(*p, 1);
  fill(*x, 50);
  auto run = tl::jit(both).bind<layers, rows>();
  const auto [one, each] = run(*p, *x);
  const std::vector<float> first = elements(one), second = elements(each);
  auto infer = run.load(*p);
  const auto [loaded, loaded_each] = infer(*x);
  CHECK(elements(loaded) == first);
  CHECK(elements(loaded_each) == second);
}

TEST_CASE("packed weights of products have a place of their own, where nothing is convolved, too") {
  struct layers {
    tl::tensor<float, 700, 600> w; // (n, k) with k and n so long that rows of x are packed, too
    tl::tensor<float, 30, 700> v;
  };
  using rows = tl::tensor<float, tl::dyn<'n'>, 600>;
  constexpr auto both = [](const auto& p, auto x) {
    return tl::matmul(tl::tanh(tl::matmul(x, tl::transpose(p.w))), tl::transpose(p.v));
  };
  static_assert(
      tl::detail::backend_for<tl::host>::type::scratch<
          tl::detail::planned_with<true, std::remove_const_t<decltype(both)>, layers, rows>::value>()
          .packed >= 4 * (700 * 600 + 30 * 700));
  tl::owned<layers> p;
  fill(*p, 1);
  for (const int members : {1, 2, 3}) {
    auto run = tl::jit(both).bind<layers, rows>(tl::dim<'n'>(200), tl::threads(members));
    auto infer = run.load(*p);
    for (const int n : {200, 1, 0, 70, 200}) {
      tl::owned<rows> x(tl::dim<'n'>{n});
      fill(*x, 50);
      CHECK(near(infer(*x), run(*p, *x)));
    }
  }
}

TEST_CASE("steps that read weights alone run at the load, and convolutions and products pack then") {
  using F = std::remove_const_t<decltype(forward)>;
  // mask * w2 and the square of w4 are not in the run
  CHECK(steps_of_a_run<true, F, network, pictures>() == steps_of_a_run<false, F, network, pictures>() - 2);
  const auto& p = tl::detail::planned_with<true, F, network, pictures>::value;
  int ahead = 0;
  for (int i = 0; i < p.steps; ++i) ahead += p.step_[i].packs_ahead ? 1 : 0;
  CHECK(ahead == 4);
}

TEST_CASE("other weights are seen when they are loaded, in the caller's buffers too, after a move") {
  tl::owned<network> p, q;
  fill(*p, 1);
  fill(*q, 2);
  tl::owned<pictures> x(tl::dim<'n'>(3));
  fill(*x, 50);
  auto run = tl::jit(forward).bind<network, pictures>(tl::dim<'n'>(5));
  auto first = run.load(*p);
  auto infer = std::move(first);
  CHECK(near(infer(*x), run(*p, *x)));
  infer.load(*q);
  CHECK(near(infer(*x), run(*q, *x)));
  fill(*q, 3);
  infer.load(*q);
  tl::owned<tl::tensor<float, tl::dyn<'n'>, 10>> out(tl::dim<'n'>(3));
  infer.into (*out)(*x);
  CHECK(near(*out, run(*q, *x)));
}

TEST_CASE(
    "a result that follows from weights alone is computed in each run: the caller may take another buffer") {
  constexpr auto both = [](const auto& p, auto x) {
    auto w = tl::square(p.w4);
    return std::tuple{tl::matmul(x, tl::transpose(w)), w};
  };
  tl::owned<network> p;
  fill(*p, 1);
  const std::vector<float> x = support::random_values<float>(48, 9);
  using rows = tl::tensor<const float, 2, 24>;
  auto run = tl::jit(both).bind<network, rows>();
  auto infer = run.load(*p);
  CHECK(near(infer(rows(x.data())), run(*p, rows(x.data()))));
}

TEST_CASE("a load refuses what a run refuses, and the weights of the load before stay") {
  constexpr auto pick = [](auto at, auto table) { return tl::gather<0>(table, at) * 2.0f; };
  using indices = tl::tensor<std::int32_t, 3>;
  using table = tl::tensor<float, 4, 2>;
  std::vector<std::int32_t> good{0, 3, 1}, bad{0, 4, 1};
  std::vector<float> t{0, 1, 2, 3, 4, 5, 6, 7};
  auto run = tl::jit(pick).bind<indices, table>();
  CHECK(support::refusal([&] { static_cast<void>(run.load(indices(bad.data()))); }) ==
        "tapeless: run: argument 0: index 4 at position 1 is outside [0, 4)");
  auto loaded = run.load(indices(good.data()));
  CHECK(support::refusal([&] { loaded.load(indices(bad.data())); }) ==
        "tapeless: run: argument 0: index 4 at position 1 is outside [0, 4)");
  CHECK(support::refusal([&] { loaded.load(indices()); }) ==
        "tapeless: run: argument 0 has a leaf whose data is null (leaf 0 of it)");
  CHECK(elements(loaded(table(t.data()))) == std::vector<float>{0, 2, 12, 14, 4, 6});
}

TEST_CASE("a number is loaded as the type that it was bound for") {
  constexpr auto scaled = [](auto s, auto x) { return tl::exp(s) * x; };
  std::vector<float> x{1, 2, 3};
  using row = tl::tensor<float, 3>;
  auto run = tl::jit(scaled).bind<float, row>();
  const std::vector<float> want = elements(run(2.0f, row(x.data())));
  auto by_int = run.load(2);
  auto by_double = run.load(2.0);
  CHECK(elements(by_int(row(x.data()))) == want);
  CHECK(elements(by_double(row(x.data()))) == want);
  by_int.load(0);
  CHECK(elements(by_int(row(x.data()))) == x);
  CHECK(support::refusal([&] { static_cast<void>(run.load(1e300)); }) ==
        "tapeless: run: argument 0 is a number beyond the range of float");
}

TEST_CASE("what only a load reads takes no place that runs keep; what runs read stays") {
  // w is normalised at the load, in steps whose values nobody else reads
  constexpr auto f = [](auto w, auto x) { return tl::layer_norm<1>(tl::tanh(tl::layer_norm<1>(w))) * x; };
  using table = tl::tensor<float, 1024, 128>;
  std::vector<float> w = support::random_values<float>(1024 * 128, 3),
                     x = support::random_values<float>(1024 * 128, 4);
  auto run = tl::jit(f).bind<table, table>();
  auto infer = run.load(table(w.data()));
  for (int k = 0; k < 3; ++k) CHECK(near(infer(table(x.data())), run(table(w.data()), table(x.data()))));
  using F = std::remove_const_t<decltype(f)>;
  CHECK(steps_of_a_run<true, F, table, table>() == 1);
  // the result and what is read of the load; a sweep holds the rest
  const auto& p = tl::detail::planned_with<true, F, table, table>::value;
  CHECK(p.parts == 1);
  CHECK(p.part_size[0] < 4 * 1024 * 128 * 4);
}

TEST_CASE("a program that was moved from loads nothing") {
  auto run = tl::jit(forward).bind<network, pictures>(tl::dim<'n'>(5));
  auto taken = std::move(run);
  tl::owned<network> p;
  CHECK(support::refusal([&] { static_cast<void>(run.load(*p)); }) ==
        "tapeless: run: the bound object has been moved from");
}
