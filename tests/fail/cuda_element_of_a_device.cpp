// expect: tapeless: cuda::on<tree>: the host reads no element of a device: copy(from, to, stream) brings them
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>

#include <tapeless/cuda/on.hpp>
namespace tl = tapeless;

float use(const tl::cuda::on<tl::tensor<float, 4>>& x, const tl::tensor<float, 4>& there) {
#ifdef TAPELESS_BAD
  return x[0];
#else
  static_cast<void>(x);
  return there[0];
#endif
}
