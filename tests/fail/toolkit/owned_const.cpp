// expect: tapeless: cuda::owned<tree>: a tree of tensors, neither const nor an on<tree>; a number is tl::scalar<float>
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/transfer/trees.hpp>
namespace tl = tapeless;

using X = tl::tensor<float, 4>;
void use(const tl::cuda::stream& s) {
#ifdef TAPELESS_BAD
  const tl::cuda::owned<const X> q(s);
#else
  const tl::cuda::owned<X> q(s);
#endif
}
