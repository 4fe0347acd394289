// expect: tapeless: cuda::owned<tree>: its elements are in memory of the device: fill a tl::owned<tree> h
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/transfer/trees.hpp>
namespace tl = tapeless;

using X = tl::tensor<float, 4>;
void use(const tl::cuda::owned<X>& there, const tl::owned<X>& here) {
#ifdef TAPELESS_BAD
  static_cast<void>(there->data());
  static_cast<void>(here);
#else
  static_cast<void>(here->data());
  static_cast<void>(there);
#endif
}
