// expect: tapeless: parameter tree: a leaf is a tensor; a node is a std::array, std::tuple or aggregate of trees, without constructors, so no std::vector and no pointer
// within: 25
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
#include <array>
#include <vector>
namespace tl = tapeless;

struct params {
#ifdef TAPELESS_BAD
  std::vector<tl::tensor<float, 4>> layers;
#else
  std::array<tl::tensor<float, 4>, 2> layers;
#endif
};
constexpr auto f = [](const params& p) { return tl::sum(p.layers[0]); };
void use() { auto run = tl::jit(tl::value_and_grad(f)).bind<params>(); }
