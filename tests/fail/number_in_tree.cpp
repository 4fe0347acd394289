// expect: tapeless: parameter tree: a number inside an aggregate is written tl::scalar<T>
// extents: no_number_inside
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

struct params {
  tl::tensor<float, 8> w;
#ifdef TAPELESS_BAD
  double scale;
#else
  tl::scalar<float> scale;
#endif
};
constexpr auto f = [](const auto& p) { return p.w * p.scale; };
constexpr tl::cost cost = tl::jit(f).cost<params>();
