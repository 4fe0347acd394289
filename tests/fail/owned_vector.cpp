// expect: tapeless: parameter tree: a leaf is a tensor; a node is a std::array, std::tuple or aggregate of trees, without constructors, so no std::vector and no pointer
// within: 40
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
void use() { tl::owned<params> p; }
