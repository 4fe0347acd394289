// expect: tapeless: top_k<k>(values, tag): one tag, tl::retain or tl::recompute
// extents: one_tag
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::gather(x, tl::top_k<3>(x, tl::retain, tl::recompute));
#else
  return tl::gather(x, tl::top_k<3>(x, tl::recompute));
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 8>>();
