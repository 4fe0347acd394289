// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Steps of some rows of a table, against steps of all rows with the gradient scattered.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include <support/allocations.hpp>
#include <support/random.hpp>
#include <support/refusal.hpp>
#include <tapeless/tapeless.hpp>

namespace tl = tapeless;

namespace {

constexpr tl::extent_t n = 11, width = 5, few = 6;
using table = tl::tensor<double, n, width>;
using some = tl::tensor<double, few, width>;
using list = tl::tensor<std::int32_t, few>;

struct problem {
  tl::owned<table> p, all; // all: the gradient of every row
  tl::owned<some> gradient;
  tl::owned<list> rows;
  explicit problem(std::vector<std::int32_t> which) {
    const auto values = support::random_values<double>(n * width, 1),
               slopes = support::random_values<double>(few * width, 2);
    for (tl::extent_t i = 0; i < n * width; ++i) (*p)[i] = values[static_cast<std::size_t>(i)];
    for (tl::extent_t i = 0; i < few; ++i) {
      (*rows)[i] = which[static_cast<std::size_t>(i)];
      for (tl::extent_t e = 0; e < width; ++e) {
        const double g = (*gradient)(i, e) = slopes[static_cast<std::size_t>(i * width + e)];
        if ((*rows)[i] >= 0 && (*rows)[i] < n) (*all)((*rows)[i], e) += g;
      }
    }
  }
  std::vector<double> values() const { return {(*p).begin(), (*p).end()}; }
  bool has(tl::extent_t row) const {
    for (const std::int32_t r : *rows)
      if (r == row) return true;
    return false;
  }
};
const std::vector<std::int32_t> distinct{3, 0, 10, 7, 1, 5}, repeated{3, 0, 3, 10, 3, 0};

} // namespace

TEST_CASE("sgd: a step of some rows is that of all rows with zeros elsewhere; repeated rows add up") {
  for (const auto& which : {distinct, repeated}) {
    problem a(which), b(which);
    tl::sgd<table> some_rows(0.25), all_rows(0.25);
    for (int t = 0; t < 3; ++t) {
      some_rows.step_rows(*a.p, *a.rows, *a.gradient);
      all_rows.step(*b.p, *b.all);
    }
    const auto x = a.values(), y = b.values();
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(x[i] == doctest::Approx(y[i]).epsilon(1e-14));
  }
}

TEST_CASE_TEMPLATE(
    "rows that a step does not name stay as they are, with their state; the others move as in a full step",
    Optimizer, tl::adam<table>, tl::sgd<table>) {
  const auto make = [] {
    if constexpr (std::is_same_v<Optimizer, tl::adam<table>>)
      return Optimizer(tl::adam_options{.learning_rate = 0.1});
    else return Optimizer(tl::sgd_options{.learning_rate = 0.1, .momentum = 0.5, .weight_decay = 0.01});
  };
  problem a(repeated), b(repeated);
  Optimizer some_rows = make(), all_rows = make();
  const auto before = a.values();
  for (int t = 0; t < 3; ++t) {
    some_rows.step_rows(a.p, a.rows, a.gradient);
    all_rows.step(*b.p, *b.all);
  }
  const auto x = a.values(), y = b.values();
  for (tl::extent_t i = 0; i < n; ++i)
    for (tl::extent_t e = 0; e < width; ++e) {
      const auto k = static_cast<std::size_t>(i * width + e);
      if (a.has(i)) CHECK(x[k] == doctest::Approx(y[k]).epsilon(1e-13));
      else CHECK(x[k] == before[k]);
    }
}

TEST_CASE("steps of rows: what does not fit is refused before anything is written") {
  problem a({3, 0, 11, 2, 1, 4});
  const auto before = a.values();
  tl::adam<table> adam(0.1);
  tl::sgd<table> sgd(0.1);
  const std::string who = "row 11 at position 2 is outside [0, 11)";
  CHECK(support::refusal([&] { adam.step_rows(*a.p, *a.rows, *a.gradient); }).find(who) != std::string::npos);
  CHECK(support::refusal([&] { sgd.step_rows(*a.p, *a.rows, *a.gradient); }).find(who) != std::string::npos);
  (*a.rows)[2] = -1;
  CHECK_THROWS_AS(adam.step_rows(*a.p, *a.rows, *a.gradient), tl::argument_error);
  CHECK(a.values() == before);
  using named = tl::tensor<double, tl::dyn<'k'>, width>;
  using named_list = tl::tensor<std::int32_t, tl::dyn<'k'>>;
  std::vector<double> g(3 * width);
  std::vector<std::int32_t> r{0, 1};
  CHECK_THROWS_AS(adam.step_rows(*a.p, named_list(r.data(), 2), named(g.data(), 3)), tl::argument_error);
  CHECK(a.values() == before);
  adam.step_rows(*a.p, named_list(r.data(), 0), named(g.data(), 0)); // no rows
  CHECK(a.values() == before);
}

TEST_CASE("steps of rows: no allocation once they have been as many") {
  problem a(repeated);
  tl::adam<table> opt(0.1);
  opt.step_rows(*a.p, *a.rows, *a.gradient);
  CHECK(support::allocations_of([&] { opt.step_rows(*a.p, *a.rows, *a.gradient); }) == 0);
}

TEST_CASE("an embedding is trained by the rows that a batch reads") {
  constexpr auto step = [](auto e, auto ids, auto t) {
    constexpr auto loss = [](auto rows, auto target) { return tl::mean(tl::square(rows - target)); };
    return tl::value_and_grad<0>(loss)(tl::gather<0>(e, ids), t);
  };
  problem a(repeated);
  tl::owned<some> target;
  auto run = tl::jit(step).bind<table, list, some>();
  tl::adam<table> opt(0.05);
  double first = 0, last = 0;
  for (int t = 0; t < 200; ++t) {
    const auto [loss, gradient] = run(*a.p, *a.rows, *target);
    opt.step_rows(*a.p, *a.rows, gradient);
    (t == 0 ? first : last) = loss[0];
  }
  CHECK(last < 1e-3 * first);
}
