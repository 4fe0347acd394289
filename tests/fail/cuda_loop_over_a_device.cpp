// expect: tapeless: cuda::on<tree>: the host reads no element of a device: copy(from, to, stream) brings them
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
#include <tapeless/cuda/on.hpp>
namespace tl = tapeless;

using X = tl::tensor<float, 4>;
float use(const tl::cuda::on<X>& there, const X& here) {
  float sum = 0;
#ifdef TAPELESS_BAD
  for (const float x : there) sum += x;
  static_cast<void>(here);
#else
  for (const float x : here) sum += x;
  static_cast<void>(there);
#endif
  return sum;
}
