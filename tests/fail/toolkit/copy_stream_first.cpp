// expect: tapeless: copy(from, to, stream): the stream comes last
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/transfer/trees.hpp>
namespace tl = tapeless;

using X = tl::tensor<float, 4>;
void use(const tl::cuda::stream& s, const tl::cuda::owned<X>& there, const X& here) {
#ifdef TAPELESS_BAD
  tl::copy(s, there, here);
#else
  tl::copy(there, here, s);
#endif
}
