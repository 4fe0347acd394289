// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <tuple>

namespace tl = tapeless;

TEST_CASE("running ops: the bits do not depend on the number of threads") {
  using X = tl::tensor<float, 3, 40, 700>;
  constexpr auto f = [](auto x) {
    return std::tuple{
        tl::cumprod<1>(x), tl::cummax<2>(x), tl::logcumsumexp<1>(x), tl::linear_scan<0>(x, x),
        tl::grad([](auto v) { return tl::sum(tl::cumprod<1>(v) + tl::prod<1>(v, tl::keepdims)); })(x)};
  };
  tl::owned<X> x;
  for (tl::extent_t i = 0; i < x->size(); ++i) (*x)[i] = 0.5f + 0.001f * static_cast<float>(i * 37 % 1001);
  auto one = tl::jit(f).bind<X>(tl::threads(1)), more = tl::jit(f).bind<X>(tl::threads(3));
  const auto y = one(*x), z = more(*x);
  const auto equal = [](const auto& p, const auto& q) { return std::equal(p.begin(), p.end(), q.begin()); };
  CHECK(equal(std::get<0>(y), std::get<0>(z)));
  CHECK(equal(std::get<1>(y), std::get<1>(z)));
  CHECK(equal(std::get<2>(y), std::get<2>(z)));
  CHECK(equal(std::get<3>(y), std::get<3>(z)));
  CHECK(equal(std::get<4>(y), std::get<4>(z)));
}
