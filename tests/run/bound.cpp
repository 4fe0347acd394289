// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// A bound object: one allocation, then runs without any; moves; several side by side and on several threads; results
// that depend on nothing but the arguments.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/allocations.hpp"
#include "support/random.hpp"
#include <tapeless/tapeless.hpp>

namespace tl = tapeless;

namespace {

using images = tl::tensor<float, tl::dyn<'n'>, 1, 6, 6>;
using labels = tl::tensor<std::int32_t, tl::dyn<'n'>>;

struct params {
  tl::tensor<float, 4, 1, 3, 3> w1;
  tl::tensor<float, 4> b1;
  tl::tensor<float, 36, 5> w2;
  tl::tensor<float, 5> b2;
};

constexpr auto loss = [](const auto& p, auto image, auto label) {
  auto h = tl::relu(tl::conv2d<tl::conv{.stride = 2, .padding = 1}>(image, p.w1) + tl::channel(p.b1));
  return tl::mean(tl::softmax_cross_entropy(tl::matmul(tl::flatten(h), p.w2) + p.b2, label));
};
constexpr auto step = tl::jit(tl::value_and_grad<0>(loss));
constexpr int capacity = 12;

template <class... Option> auto bind_step(Option... option) {
  return step.bind<params, images, labels>(tl::dim<'n'>(capacity), option...);
}

template <class Tree> std::vector<float> elements(const Tree& tree) {
  std::vector<float> all;
  tl::for_each_leaf(tree, [&](const auto& leaf) {
    for (const float x : leaf) all.push_back(x);
  });
  return all;
}

struct data {
  tl::owned<params> p;
  std::vector<float> x;
  std::vector<std::int32_t> y;

  explicit data(std::uint64_t seed)
      : x(support::random_values<float>(capacity * 36, seed)),
        y(support::random_integers(capacity, seed, 0, 5)) {
    tl::detail::for_each_leaf(*p, [&](const auto& leaf) {
      const std::vector<float> values =
          support::random_values<float>(static_cast<std::size_t>(leaf.size()), ++seed, -0.5, 0.5);
      for (std::size_t i = 0; i < values.size(); ++i) leaf.data()[i] = values[i];
    });
  }
  images x_of(int n, int first = 0) { return images{x.data() + first * 36, n}; }
  labels y_of(int n, int first = 0) { return labels{y.data() + first, n}; }
};

template <class Run> std::vector<float> result_of(Run& run, data& d, int n, int first = 0) {
  return elements(run(*d.p, d.x_of(n, first), d.y_of(n, first)));
}

} // namespace

TEST_CASE("bind allocates once for the arena; run and run.into do not allocate") {
  data d(1);
  auto run = bind_step();
  tl::owned<params> gradient;
  float value = 0;
  const std::tuple<tl::scalar<float>, params> out{tl::scalar<float>{&value}, *gradient};
  float sum = 0;
  const auto runs = [&] {
    for (const int n : {capacity, 5, 1, capacity}) {
      sum += std::get<0>(run(*d.p, d.x_of(n), d.y_of(n)))[0];
      run.into(out)(*d.p, d.x_of(n), d.y_of(n));
      sum += value;
    }
  };
  CHECK(support::allocations_of(runs) == 0);
  CHECK(std::isfinite(sum));
  CHECK(run.arena_bytes() > 0);
  // Called as a function: a compiler may leave out the allocation of a new-expression or of a container
  if (support::counts_allocations)
    CHECK(support::allocations_of([] { ::operator delete(::operator new(28)); }) == 1);
}

TEST_CASE("load allocates once; runs of the loaded program and further loads do not allocate") {
  data d(1);
  auto loaded = bind_step().load(*d.p);
  float sum = 0;
  const auto runs = [&] {
    for (const int n : {capacity, 5, 1, capacity}) {
      sum += std::get<0>(loaded(d.x_of(n), d.y_of(n)))[0];
      loaded.load(*d.p);
    }
  };
  CHECK(support::allocations_of(runs) == 0);
  CHECK(std::isfinite(sum));
}

TEST_CASE(
    "run does not allocate on a thread whose last team had the same size, be it of bind or of another object") {
  using long_vector = tl::tensor<float, 300000>; // many chunks: every member has work
  constexpr auto total = tl::jit([](auto x) { return tl::sum(tl::exp(x)); });
  std::vector<float> x = support::random_values<float>(300000, 21);
  const long_vector v{x.data()};
  float sum = 0;
  const auto count = [&](auto&... run) {
    return support::allocations_of([&] {
      for (int i = 0; i < 5; ++i) ((sum += run(v)[0]), ...);
    });
  };
  auto three = total.bind<long_vector>(tl::threads(3));
  CHECK(count(three) == 0);
  auto two = total.bind<long_vector>(tl::threads(2)), again = total.bind<long_vector>(tl::threads(2));
  CHECK(count(two, again) == 0);
  CHECK(count(three, two, again) == 0); // teams of several sizes share their threads
  std::int64_t elsewhere = -1;
  std::thread other([&] {
    sum += three(v)[0]; // a thread's threads are made here
    elsewhere = count(three, two, again);
  });
  other.join();
  CHECK(elsewhere == 0);
  CHECK(std::isfinite(sum));
}

TEST_CASE(
    "the same arguments give the same bits: in every run, in every bound object, in the arena or in buffers") {
  data d(2);
  auto run = bind_step();
  const std::vector<float> expected = result_of(run, d, capacity);
  result_of(run, d, 3); // leaves other values behind
  CHECK(result_of(run, d, capacity) == expected);
  auto again = bind_step();
  CHECK(result_of(again, d, capacity) == expected);

  tl::owned<params> gradient;
  float value = 0;
  const auto out =
      run.into(std::tuple{tl::scalar<float>{&value}, *gradient})(*d.p, d.x_of(capacity), d.y_of(capacity));
  CHECK(std::get<0>(out).data() == &value);
  std::vector<float> got{value};
  for (const float e : elements(*gradient)) got.push_back(e);
  CHECK(got == expected);
}

namespace {
std::atomic<int> step_of_two_threads = 2; // 0: the op waits; 1: it does; 2: it may end
struct waits {
  static constexpr tl::shape result(tl::shape s) { return s; }
  static void primal(auto y, auto x) {
    if (step_of_two_threads.load() == 0) {
      step_of_two_threads = 1;
      while (step_of_two_threads.load() != 2) std::this_thread::yield();
    }
    for (tl::extent_t i = 0; i < x.size(); ++i) y[i] = 2 * x[i];
  }
  static constexpr auto vjp(auto, auto, auto y_bar) { return y_bar * 2.0f; }
};
} // namespace

TEST_CASE("a bound object in use by one thread is refused to another, and is free again behind the run") {
  using three = tl::tensor<float, 3>;
  float x[] = {1, 2, 3}, y[3] = {};
  auto run = tl::jit([](auto v) { return tl::custom<waits>(v) + 1.0f; }).bind<three>();
  auto other = run.load(three(x));
  step_of_two_threads = 0;
  float result = 0;
  std::thread first([&] { result = run(three(x))[2]; });
  while (step_of_two_threads.load() != 1) std::this_thread::yield();
  const std::string message =
      "tapeless: run: the bound object is in use by another thread: each thread binds its own, bind<...>(), or waits";
  const auto text = [](auto f) {
    try {
      f();
    } catch (const tl::usage_error& e) { return std::string(e.what()); }
    return std::string();
  };
  CHECK(text([&] { run(three(x)); }) == message);
  CHECK(text([&] { run.into(three(y))(three(x)); }) == message);
  CHECK(y[0] == 0);
  step_of_two_threads = 2;
  CHECK(text([&] { other(); }).empty()); // an object of its own
  first.join();
  CHECK(result == 7);
  CHECK(run(three(x))[0] == 3);
  CHECK_THROWS_AS(run(three(static_cast<float*>(nullptr))), tl::argument_error); // refused, and free again
  CHECK(run(three(x))[1] == 5);
}

TEST_CASE("the last partial batch: a run of n < capacity is the run of a program bound for n") {
  data d(3);
  auto run = bind_step();
  for (const int n : {1, 2, 5, 7, 11}) {
    auto exact = step.bind<params, images, labels>(tl::dim<'n'>(n));
    CHECK(result_of(run, d, n) == result_of(exact, d, n));
    CHECK(exact.arena_bytes() <= run.arena_bytes());
  }
}

TEST_CASE("the mean over a batch is the mean of its parts") {
  data d(4);
  auto run = bind_step();
  const std::vector<float> whole = result_of(run, d, 12), first = result_of(run, d, 8),
                           second = result_of(run, d, 4, 8);
  for (std::size_t i = 0; i < whole.size(); ++i)
    CHECK(whole[i] == doctest::Approx((8.0 * first[i] + 4.0 * second[i]) / 12).epsilon(1e-4).scale(0.1));
}

TEST_CASE("a bound object moves, with its last results") {
  data d(5);
  auto run = bind_step();
  const auto [value, gradient] = run(*d.p, d.x_of(9), d.y_of(9));
  const std::vector<float> expected = elements(gradient);
  const float expected_value = value[0];

  auto moved = std::move(run);
  CHECK_THROWS_WITH_AS(result_of(run, d, 9), "tapeless: run: the bound object has been moved from",
                       tl::argument_error);
  CHECK(value[0] == expected_value);
  CHECK(elements(gradient) == expected);
  std::vector<float> again = result_of(moved, d, 9);
  CHECK(again[0] == expected_value);

  auto assigned = bind_step();
  result_of(assigned, d, 4);
  assigned = std::move(moved);
  CHECK_THROWS_AS(result_of(moved, d, 4), tl::argument_error);
  again = result_of(assigned, d, 9);
  CHECK(std::vector<float>(again.begin() + 1, again.end()) == expected);

  std::vector<decltype(bind_step())> many; // moves as it grows
  for (int i = 0; i < 5; ++i) many.push_back(bind_step());
  for (auto& one : many) CHECK(result_of(one, d, 9)[0] == expected_value);
}

TEST_CASE("two bound programs side by side do not touch each other's results") {
  data d(6), e(7);
  auto run = bind_step(), other = bind_step();
  auto scaled = tl::jit([](auto x, auto s) { return x * s; }).bind<images, float>(tl::dim<'n'>(capacity));

  const auto mine = run(*d.p, d.x_of(capacity), d.y_of(capacity));
  const auto twice = scaled(d.x_of(2), 2.0f);
  const std::vector<float> expected = elements(mine), expected_twice = elements(twice);
  other(*e.p, e.x_of(7), e.y_of(7));
  CHECK(elements(mine) == expected);
  CHECK(elements(twice) == expected_twice);
  CHECK(expected_twice.size() == 72);
  CHECK(expected_twice[40] == d.x[40] * 2);

  // one program's results are another one's arguments
  auto norm = tl::jit([](auto x) { return tl::sum(tl::square(x)); }).bind<images>(tl::dim<'n'>(capacity));
  double sum = 0;
  for (const float v : expected_twice) sum += static_cast<double>(v) * static_cast<double>(v);
  CHECK(norm(twice)[0] == doctest::Approx(sum).epsilon(1e-5));
}

TEST_CASE("bound objects run on two threads at the same time") {
  constexpr int runs = 40;
  data d[2] = {data(8), data(9)};
  std::vector<float> expected[2];
  for (int k = 0; k < 2; ++k) {
    auto run = bind_step(tl::threads(1));
    expected[k] = result_of(run, d[k], capacity);
  }
  CHECK(expected[0] != expected[1]);
  int equal[2] = {0, 0};
  const auto work = [&](int k) {
    auto run = bind_step(tl::threads(1));
    for (int i = 0; i < runs; ++i) equal[k] += result_of(run, d[k], capacity) == expected[k];
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  CHECK(equal[0] == runs);
  CHECK(equal[1] == runs);
}

TEST_CASE("results do not depend on the number of threads, bit for bit") {
  // large enough that every kind of kernel divides its work
  using x_type = tl::tensor<float, tl::dyn<'n'>, 8, 24, 24>;
  struct weights {
    tl::tensor<float, 16, 8, 3, 3> w1;
    tl::tensor<float, 2304, 10> w2;
  };
  constexpr auto net = [](const auto& p, auto x) {
    auto h = tl::max_pool2d<tl::pool{.kernel = 2}>(tl::relu(tl::conv2d<tl::conv{.padding = 1}>(x, p.w1)));
    auto y = tl::matmul(tl::flatten(h), p.w2);
    return tl::mean(tl::logsumexp<1>(y)) + tl::mean(tl::square(y));
  };
  constexpr int n = 13;
  const tl::owned<weights> p;
  std::uint64_t seed = 10;
  tl::detail::for_each_leaf(*p, [&](const auto& leaf) {
    const std::vector<float> values =
        support::random_values<float>(static_cast<std::size_t>(leaf.size()), ++seed, -0.1, 0.1);
    for (std::size_t i = 0; i < values.size(); ++i) leaf.data()[i] = values[i];
  });
  std::vector<float> x = support::random_values<float>(n * 8 * 24 * 24, 20);
  const auto result = [&](int threads) {
    auto run =
        tl::jit(tl::value_and_grad<0, 1>(net)).bind<weights, x_type>(tl::dim<'n'>(16), tl::threads(threads));
    return elements(run(*p, x_type{x.data(), n}));
  };
  const std::vector<float> one = result(1);
  CHECK(one == result(2));
  CHECK(one == result(3));
}

TEST_CASE("owned: zeros, aligned, one view for each leaf, extents as given; it moves with its memory") {
  struct batch {
    images x;
    std::array<tl::tensor<float, tl::dyn<'m'>, 3>, 2> rows;
    std::tuple<labels, tl::scalar<double>> rest;
  };
  tl::owned<batch> own(tl::dim<'n'>(5), tl::dim<'m'>(7));
  const batch& b = own.view();
  CHECK(b.x.size() == 5 * 36);
  CHECK(b.rows[0].size() == 21);
  CHECK(b.rows[1].extent(0) == 7);
  CHECK(std::get<0>(b.rest).extent(0) == 5);
  CHECK(std::get<1>(b.rest).size() == 1);
  std::vector<const void*> starts;
  tl::detail::for_each_leaf(b, [&](const auto& leaf) {
    starts.push_back(leaf.data());
    CHECK(reinterpret_cast<std::uintptr_t>(leaf.data()) % 64 == 0);
    for (const auto e : leaf) CHECK(e == 0);
    for (auto& e : leaf) e = 1; // every element may be written
  });
  CHECK(starts.size() == 5);
  double sum = 0;
  tl::detail::for_each_leaf(b, [&](const auto& leaf) {
    for (const auto e : leaf) sum += static_cast<double>(e);
  });
  CHECK(sum == 5 * 36 + 21 + 21 + 5 + 1);

  const tl::owned<batch> moved = std::move(own);
  CHECK(moved->x.data() == starts[0]);
  CHECK(moved->x[179] == 1);
  CHECK((*moved).rows[1](6, 2) == 1);
}
TEST_CASE(
    "three named extents meet in one product: every buffer is large enough, the flops count all of them") {
  using left = tl::tensor<const double, tl::dyn<'m'>, tl::dyn<'k'>>;
  using right = tl::tensor<const double, tl::dyn<'n'>, tl::dyn<'k'>, 3>; // the adjoint holds an (n, m, k)
  constexpr auto gradient =
      tl::jit(tl::grad<0>([](auto a, auto b) { return tl::sum(tl::square(tl::matmul(a, b))); }));
  constexpr tl::cost cost = gradient.cost<left, right>();
  static_assert(cost.primal.flops.at(tl::dim<'m'>(2), tl::dim<'k'>(3), tl::dim<'n'>(5)) >= 2 * 2 * 3 * 5 * 3);
  constexpr int m = 7, k = 11, n = 13;
  auto run = gradient.bind<left, right>(tl::dim<'m'>(m), tl::dim<'k'>(k), tl::dim<'n'>(n));
  const std::vector<double> a(m * k, 1.0), b(n * k * 3, 1.0);
  const auto a_bar = run(left(a.data(), m, k), right(b.data(), n, k));
  for (const double x : a_bar) CHECK(x == 2.0 * n * 3 * k); // 2 (a b) b^T with ones
}
TEST_CASE("ops and transforms outside a program are an exception, not a crash") {
  double data[3] = {1, 2, 3};
  const tl::tensor<double, 3> x(data);
  CHECK_THROWS_AS(static_cast<void>(x * x), std::logic_error);
  CHECK_THROWS_AS(static_cast<void>(tl::sum(x)), std::logic_error);
  CHECK_THROWS_AS(static_cast<void>(tl::grad<0>([](auto y) { return tl::sum(y * y); })(x)), std::logic_error);
}

#ifndef TAPELESS_WITHOUT_THREADS
TEST_CASE("threads that cannot be made are an argument_error of bind") {
  if (!support::counts_allocations) return; // a sanitizer's address space has no limit
  const pid_t child = fork();
  if (child == 0) {
    const rlimit little{1u << 28, 1u << 28}; // of a stack of a thread are 8 MB
    setrlimit(RLIMIT_AS, &little);
    try {
      auto run = bind_step(tl::threads(200));
    } catch (const tl::argument_error& e) {
      _exit(std::strstr(e.what(), "tl::threads(1)") != nullptr ? 0 : 1);
    }
    _exit(2);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}
#endif
