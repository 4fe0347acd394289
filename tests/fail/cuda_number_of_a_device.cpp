// expect: tapeless: cuda::on<tree>: the host reads no element of a device: copy(from, to, stream) brings them
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
#include <tapeless/cuda/on.hpp>
namespace tl = tapeless;

float use(const tl::cuda::scalar<float>& there, const tl::scalar<float>& here) {
#ifdef TAPELESS_BAD
  static_cast<void>(here);
  return there;
#else
  static_cast<void>(there);
  return here();
#endif
}
