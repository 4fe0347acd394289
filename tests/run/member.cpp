// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <string>
#include <type_traits>
#include <vector>

#include "run/member.hpp"
#include "support/refusal.hpp"

namespace tl = tapeless;
using namespace member_test;

TEST_CASE("bound_t: a bound object is a member of a class that two files share, without a warning") {
  static_assert(std::is_same_v<tl::bound_t<step, weights, rows>, decltype(step.bind<weights, rows>())>);
  const std::vector<float> x(12, 0.5f);
  model m = made_elsewhere(4);
  CHECK(m.value(rows(x, 4)) == 3);
  CHECK(value_elsewhere(m, rows(x, 4)) == 3);
}

TEST_CASE("bind_for: the capacities are the extents of the arguments, and the types theirs") {
  const std::vector<float> x(12, 0.5f);
  tl::owned<weights> p;
  for (float& w : p->w) w = 2;
  tl::bound_t<step, weights, rows> run = step.bind_for(*p, rows(x, 4));
  CHECK(std::get<0>(run(*p, rows(x, 4)))[0] == 3);
  CHECK(std::get<0>(run(*p, rows(x.data(), 2)))[0] == 3);
  CHECK(run.arena_bytes() == step.bind<weights, rows>(tl::dim<'n'>(4)).arena_bytes());
  const std::vector<float> more(15, 0.5f);
  CHECK(support::refusal([&] { run(*p, rows(more, 5)); }) ==
        "tapeless: run: argument 1 has n = 5, but the capacity at bind is n = 4");
  auto of_two = step.bind_for(tl::threads(2), *p, rows(x, 4));
  CHECK(std::get<0>(of_two(*p, rows(x, 4)))[0] == 3);
  auto of_none = step.bind_for(*p, rows(x.data(), 0)); // a capacity is at least 1
  CHECK(std::get<0>(of_none(*p, rows(x.data(), 1)))[0] == 3);

  constexpr auto scaled = tl::jit([](auto a, auto b, auto s) { return tl::sum(a * b) * s; });
  using numbers = tl::tensor<const float, tl::dyn<'n'>>;
  auto with_number = scaled.bind_for(numbers(x, 12), numbers(x, 12), 2.0f);
  CHECK(with_number(numbers(x, 12), numbers(x, 12), 2.0f)[0] == 6);
  CHECK(support::refusal([&] { scaled.bind_for(numbers(x, 12), numbers(x.data(), 3), 1.0f); }) ==
        "tapeless: bind_for(x...): argument 1 has n = 3, but argument 0 has another one");
  CHECK(support::refusal([&] { scaled.bind_for(numbers(x.data(), -2), numbers(x, 12), 1.0f); }) ==
        "tapeless: bind_for(x...): argument 0 has n = -2: an extent is not negative");
  CHECK(support::refusal([&] { scaled.bind_for(tl::threads(0), numbers(x, 12), numbers(x, 12), 1.0f); }) ==
        "tapeless: bind: threads(0): a team has at least 1");
}
