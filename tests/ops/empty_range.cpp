// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Indices into an axis of a named extent that is 0 at run time.
#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>

namespace tl = tapeless;

namespace {

using X = tl::tensor<double, tl::dyn<'n'>, 3>;
using I = tl::tensor<std::int32_t, 2>;
using D = tl::tensor<double, 2, 3>;

// x[j] for the first and the last row, and d added to rows of zeros: indices that the program computes
constexpr auto computed = [](auto x, auto j, auto d) {
  const auto far = j * 1000;
  return std::tuple{tl::gather<0>(x, far), tl::scatter_add<0, tl::dyn<'n'>>(far, d),
                    tl::grad([&](auto a) { return tl::sum(tl::square(tl::gather<0>(a, far))); })(x)};
};

} // namespace

TEST_CASE("a computed index into an empty axis reads 0 and adds nothing") {
  auto run = tl::jit(computed).bind<X, I, D>(tl::dim<'n'>(4));
  std::array<double, 12> x{};
  std::array<std::int32_t, 2> j{0, 1};
  std::array<double, 6> d{};
  for (std::size_t k = 0; k < 12; ++k) x[k] = static_cast<double>(k + 1);
  for (std::size_t k = 0; k < 6; ++k) d[k] = 1;
  {
    const auto [rows, added, x_bar] = run(X{x.data(), 4}, I{j.data()}, D{d.data()}); // fills the arena
    CHECK((rows(0, 0) == 1 && rows(1, 2) == 12 && added(0, 0) == 1 && added(3, 2) == 1 && x_bar(3, 2) == 24));
  }
  const auto [rows, added, x_bar] = run(X{x.data(), 0}, I{j.data()}, D{d.data()});
  CHECK((added.size() == 0 && x_bar.size() == 0));
  for (const double y : rows) CHECK(y == 0);
}
TEST_CASE("an index argument into an empty axis is refused, unless there is none") {
  auto run = tl::jit([](auto x, auto j) {
               return tl::gather<0>(x, j);
             }).bind<X, tl::tensor<std::int32_t, tl::dyn<'k'>>>(tl::dim<'n'>(4), tl::dim<'k'>(2));
  std::array<double, 3> x{};
  std::array<std::int32_t, 2> j{};
  using K = tl::tensor<std::int32_t, tl::dyn<'k'>>;
  CHECK_THROWS_AS(run(X{x.data(), 0}, K{j.data(), 2}), tl::argument_error);
  CHECK(run(X{x.data(), 0}, K{j.data(), 0}).size() == 0);
}
