// expect: tapeless: cuda::owned<tree> q(stream, from), q(stream, dims...): the stream comes first
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/transfer/trees.hpp>
namespace tl = tapeless;

using X = tl::tensor<float, 4>;
void use(const tl::cuda::stream& s, const X& here) {
#ifdef TAPELESS_BAD
  const tl::cuda::owned<X> q(here, s);
#else
  const tl::cuda::owned<X> q(s, here);
#endif
}
