// expect: tapeless: save_npy(folder, tree): a tree of the host; of a device tl::copy(tree, here, stream) first
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/cuda/on.hpp>
#include <tapeless/io/tree.hpp>
namespace tl = tapeless;

using X = tl::tensor<float, 4>;
void use(const tl::cuda::on<X>& there, const X& here) {
#ifdef TAPELESS_BAD
  tl::save_npy("folder", there);
  static_cast<void>(here);
#else
  tl::save_npy("folder", here);
  static_cast<void>(there);
#endif
}
