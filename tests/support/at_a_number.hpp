#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// at(f, x): f of one double, and its derivative there
#include <tapeless/tapeless.hpp>

#include <tuple>
#include <utility>

namespace support {

namespace tl = tapeless;

// f and its derivative at one number
template <class F> std::pair<double, double> at(F, double x) {
  static auto run = tl::jit([](auto a) {
                      constexpr auto sum = [](auto z) { return tl::sum(F{}(z)); };
                      return std::tuple{F{}(a), tl::grad(sum)(a)};
                    }).template bind<tl::tensor<double, 1>>();
  tl::owned<tl::tensor<double, 1>> a;
  (*a)[0] = x;
  const auto [y, d] = run(*a);
  return {y[0], d[0]};
}

} // namespace support
