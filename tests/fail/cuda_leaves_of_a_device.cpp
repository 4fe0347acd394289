// expect: tapeless: for_each_leaf(tree, f): a tree of the host; of a device tl::copy(tree, here, stream) first
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
#include <tapeless/cuda/on.hpp>
namespace tl = tapeless;

using X = tl::tensor<float, 4>;
constexpr auto clear = [](const auto& leaf) {
  for (auto& x : leaf) x = 0;
};
void use(const tl::cuda::on<X>& there, const X& here) {
#ifdef TAPELESS_BAD
  tl::for_each_leaf(there, clear);
  static_cast<void>(here);
#else
  tl::for_each_leaf(here, clear);
  static_cast<void>(there);
#endif
}
