// expect: tapeless: max<axes...>(a), min<axes...>(a), logsumexp<axes...>(a): the axes are not empty
// extents: {3, 0
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
  tl::var h = x;
#ifdef TAPELESS_BAD
  h = tl::max<1>(h);
#else
  h = tl::sum<1>(h);
#endif
  return h.as<float, 3>();
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 3, 0>>();
