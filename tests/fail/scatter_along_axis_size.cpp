// expect: tapeless: scatter_add_along_axis, .._max_.., .._min_..: a has less than 2^31 elements
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x, [[maybe_unused]] auto i) {
#ifdef TAPELESS_BAD
  return tl::scatter_add_along_axis<1>(x, i, tl::cast<float>(i));
#else
  return x;
#endif
};
constexpr tl::cost cost =
    tl::jit(f).cost<tl::tensor<float, 1, 2'147'483'648>, tl::tensor<std::int32_t, 1, 1>>();
