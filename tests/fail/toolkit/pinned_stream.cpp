// expect: tapeless: cuda::pinned<tree> q(dims...): without a stream
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/transfer/trees.hpp>
namespace tl = tapeless;

using X = tl::tensor<float, 4>;
void use(const tl::cuda::stream& s) {
#ifdef TAPELESS_BAD
  const tl::cuda::pinned<X> q(s);
#else
  const tl::cuda::pinned<X> q;
  s.wait();
#endif
}
