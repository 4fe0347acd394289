// expect: tapeless: argmax<axes...>(a): the axes exist
// extents: {4, 9}
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
  tl::var h = x;
#ifdef TAPELESS_BAD
  h = tl::argmax<2>(h);
#else
  h = tl::argmax<1>(h);
#endif
  return h.as<std::int32_t, 4>();
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 9>>();
