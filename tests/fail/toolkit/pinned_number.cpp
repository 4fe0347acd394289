// expect: tapeless: cuda::pinned<tree>: a tree of tensors, neither const nor an on<tree>; a number is tl::scalar<float>
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/transfer/trees.hpp>
namespace tl = tapeless;

void use() {
#ifdef TAPELESS_BAD
  const tl::cuda::pinned<float> q;
#else
  const tl::cuda::pinned<tl::scalar<float>> q;
#endif
}
