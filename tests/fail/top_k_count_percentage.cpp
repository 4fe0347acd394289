// expect: tapeless: top_k<k, 'k'>(values, count): k is a number, the most that count may be
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x, auto count) {
#ifdef TAPELESS_BAD
  return tl::top_k<tl::percent{50}, 'k'>(x, count);
#else
  return tl::top_k<4, 'k'>(x, count);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 8>, tl::tensor<std::int32_t>>();
