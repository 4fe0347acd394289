// expect: tapeless: parameter tree: a leaf is a tensor; a node is a std::array, std::tuple or aggregate of trees
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

struct params {
  tl::tensor<float, 3> w;
#ifdef TAPELESS_BAD
  params() {}
#endif
};
constexpr auto loss = [](const auto& p) { return tl::sum(p.w); };
constexpr tl::cost cost = tl::jit(tl::grad(loss)).cost<params>();
