// expect: tapeless: take_along_axis<axis>(a, index): a has less than 2^31 elements
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x, auto i) {
#ifdef TAPELESS_BAD
  return tl::take_along_axis<1>(x, i);
#else
  return tl::gather<1>(x, tl::reshape<1>(i));
#endif
};
constexpr tl::cost cost =
    tl::jit(f).cost<tl::tensor<float, 1, 2'147'483'648>, tl::tensor<std::int32_t, 1, 1>>();
