// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Checked builds: a result that is read once its program has run again, or is gone, is an exception. Views have the same
// layout in all builds; this file is checked whatever the others are.
#ifndef TAPELESS_CHECKED
#define TAPELESS_CHECKED
#endif
#include <tapeless/run/csr_build.hpp>
#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "run/member.hpp"
#include "support/refusal.hpp"

namespace tl = tapeless;

namespace {

using rows = tl::tensor<float, tl::dyn<'n'>, 3>;
struct params {
  tl::tensor<float, 3> w;
  std::array<tl::scalar<float>, 2> b;
};
constexpr auto add_one = tl::jit([](auto x) { return x + 1.0f; });
// A tree of this file alone: functions that read other types are those of files that are not checked.
struct only {
  rows x;
};
constexpr auto add_one_to = tl::jit([](const auto& t) { return t.x + 1.0f; });
constexpr auto loss = [](const auto& p, auto x) { return tl::sum(tl::matmul(x, p.w)) * p.b[0] + p.b[1]; };

// Is reading refused?
template <class F> bool stale(F&& f) {
  try {
    f();
  } catch (const tl::usage_error& e) {
    CHECK(
        std::string(e.what()) ==
        "tapeless: a result is read whose program has run again, or is gone: a result looks at the program's "
        "memory; tl::copy(result, mine) keeps one, run.into(mine)(x...) writes there");
    return true;
  }
  return false;
}
struct data {
  std::vector<float> x = std::vector<float>(24, 0.5f);
  rows x_of(int n) { return rows(x.data(), n); }
};

} // namespace

TEST_CASE("checked: a result is read until its program runs again, in every way of reading") {
  data d;
  auto run = add_one.bind<rows>(tl::dim<'n'>(8));
  const auto first = run(d.x_of(8));
  CHECK(first[0] == 1.5f);
  const auto second = run(d.x_of(2));
  CHECK(second[5] == 1.5f);
  CHECK(stale([&] { (void)first[0]; }));
  CHECK(stale([&] { (void)first(1, 2); }));
  CHECK(stale([&] { (void)first.data(); }));
  CHECK(stale([&] { (void)first.begin(); }));
  CHECK(stale([&] { (void)first.end(); }));
  CHECK(stale([&] {
    for (const float f : first) CHECK(f == 0);
  }));
  const tl::tensor<const float, tl::dyn<'n'>, 3> as_const = first;
  CHECK(stale([&] { (void)as_const[0]; }));
  CHECK(first.extent(0) == 8); // the extents are the result's own
  CHECK(first.size() == 24);
  CHECK(!stale([&] { (void)second[0]; }));
  CHECK(!stale([&] { (void)d.x_of(8)[0]; })); // a view of the caller's memory is not of a run
}

TEST_CASE("checked: a result is read while its bound object lives, also where it has moved to") {
  data d;
  std::optional<rows> result;
  {
    auto run = add_one.bind<rows>(tl::dim<'n'>(8));
    result = run(d.x_of(8));
    auto moved = std::move(run);
    CHECK((*result)[1] == 1.5f);
    run = std::move(moved);
    CHECK((*result)[1] == 1.5f);
  }
  CHECK(stale([&] { (void)(*result)[1]; }));
  auto next = add_one.bind<rows>(tl::dim<'n'>(8)); // takes the watch of the one that is gone
  const auto fresh = next(d.x_of(8));
  CHECK(stale([&] { (void)(*result)[1]; }));
  CHECK(fresh[1] == 1.5f);
  next = add_one.bind<rows>(tl::dim<'n'>(8)); // what was there is gone
  CHECK(stale([&] { (void)fresh[1]; }));

  const auto returned = [&] { // as a function does whose bound object is local
    auto local = add_one.bind<rows>(tl::dim<'n'>(8));
    const auto r = local(d.x_of(8));
    return r;
  }();
  CHECK(stale([&] { (void)returned[0]; }));
}

TEST_CASE("checked: every leaf of a result, results of loaded programs, and runs into buffers") {
  data d;
  tl::owned<params> p, gradient;
  auto run = tl::jit(tl::value_and_grad<0>(loss)).bind<params, rows>(tl::dim<'n'>(8));
  const auto kept = run(*p, d.x_of(8));
  CHECK(!stale([&] { tl::for_each_leaf(kept, [](const auto& leaf) { (void)leaf[0]; }); }));
  float value = 0;
  run.into(std::tuple{tl::scalar<float>(&value), *gradient})(*p, d.x_of(8));
  int refused = 0;
  tl::for_each_leaf(kept, [&](const auto& leaf) { refused += stale([&] { (void)leaf[0]; }) ? 1 : 0; });
  CHECK(refused == 4);
  CHECK(gradient->w[0] == 0);
  run(*p, d.x_of(8));
  CHECK(!stale([&] { (void)gradient->w[0]; })); // the caller's memory

  auto infer = run.load(*p);
  const auto of_loaded = infer(d.x_of(8));
  CHECK(std::get<0>(of_loaded)[0] == 0);
  infer.load(*p);
  CHECK(stale([&] { (void)std::get<0>(of_loaded)[0]; }));
  const auto again = infer(d.x_of(8));
  infer(d.x_of(8));
  CHECK(stale([&] { (void)std::get<1>(again).w[0]; }));
}

TEST_CASE("checked: a run that is refused leaves the results of the run before") {
  data d;
  auto run = add_one.bind<rows>(tl::dim<'n'>(8));
  const auto result = run(d.x_of(8));
  CHECK(support::refusal([&] { run(d.x_of(9)); }) != "");
  CHECK(support::refusal([&] { run(result); }) != "");
  CHECK(result[0] == 1.5f);
  auto other = add_one_to.bind<only>(tl::dim<'n'>(8));
  CHECK(other(only{result})[0] == 2.5f);
  run(d.x_of(8));
  CHECK(stale([&] { other(only{result}); })); // an argument is read, too
  tl::owned<rows> mine(tl::dim<'n'>(std::size_t{8}));
  CHECK(stale([&] { tl::copy(result, mine); }));
}

TEST_CASE("checked: the pattern of a matrix is the argument's; its values are the run's") {
  using matrix = tl::csr<float, 2, 3, 3>;
  const std::vector<std::int32_t> ptr = {0, 2, 3}, columns = {0, 2, 1};
  std::vector<float> values = {1, 2, 3};
  const auto a = tl::csr_from_csr<matrix>(2, 3, ptr, columns, values);
  auto run = tl::jit([](auto m) { return m.with(m.values() * 2.0f); }).bind<matrix>();
  const auto first = run(*a);
  run(*a);
  CHECK(first.columns()[1] == 2);
  CHECK(first.row_end()[1] == 3);
  CHECK(stale([&] { (void)first.values()[0]; }));
}

TEST_CASE("checked: views are trivially copyable and as large as ever") {
  static_assert(std::is_trivially_copyable_v<rows>);
  static_assert(sizeof(rows) == 2 * sizeof(void*) + sizeof(tl::extent_t) + 2 * sizeof(int));
  data d;
  std::vector<float> sum;
  for (int i = 0; i < 100; ++i) { // programs come and go
    auto a =
        std::make_unique<decltype(add_one.bind<rows>(tl::dim<'n'>(8)))>(add_one.bind<rows>(tl::dim<'n'>(8)));
    auto b = add_one.bind<rows>(tl::dim<'n'>(8));
    const auto of_a = (*a)(d.x_of(1)), of_b = b(d.x_of(1));
    a.reset();
    CHECK(stale([&] { (void)of_a[0]; }));
    CHECK(of_b[0] == 1.5f);
  }
}

TEST_CASE("checked: a program that an unchecked file has bound runs, and its results are not checked") {
  const std::array<float, 3> x{1, 2, 3};
  auto run = member_test::bound_elsewhere();
  const auto y = run(member_test::column(x));
  CHECK(y[2] == 6);
}
