// expect: tapeless: copy(from, to): a tree of a device is copied on a stream: copy(from, to, stream)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>

#include <tapeless/cuda/on.hpp>
namespace tl = tapeless;

using X = tl::tensor<float, 4>;
void use(const X& x, const X& y) {
#ifdef TAPELESS_BAD
  tl::copy(tl::cuda::on{x}, y);
#else
  tl::copy(x, y);
#endif
}
