// budget: 78 s, 1000 MB
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The network of ../residual_100.cpp on a device, in at most 1.3 times its time
#include <tapeless/cuda.hpp>

#include "../residual.hpp"

namespace cuda = tapeless::cuda;

float run(const cuda::stream& s) {
  using params = residual::params<100>;
  auto step = tapeless::jit(tapeless::value_and_grad<0>(residual::loss_of_arrays{}))
                  .bind<cuda::on<params>, cuda::on<residual::images>>(s);
  const cuda::owned<params> p(s);
  const cuda::owned<residual::images> x(s);
  const cuda::pinned<tapeless::scalar<float>> loss;
  tapeless::copy(std::get<0>(step(*p, *x)), loss, s);
  s.wait();
  return (*loss)();
}
