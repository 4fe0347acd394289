// expect: tapeless: take_along_axis<axis>(a, index): index is int32, as cast<std::int32_t>(index) is
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x, [[maybe_unused]] auto i) {
#ifdef TAPELESS_BAD
  return tl::take_along_axis<1>(x, x);
#else
  return tl::take_along_axis<1>(x, i);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>, tl::tensor<std::int32_t, 4, 9>>();
