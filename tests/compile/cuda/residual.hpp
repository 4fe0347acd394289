#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The network of ../residual.hpp on a device. Budgets are 1.3 times the time of the program of the host.
#include <tapeless/cuda.hpp>

#include "../residual.hpp"

namespace residual {

template <std::size_t Blocks> float run_on_a_device(const tl::cuda::stream& s) {
  using tree = params<Blocks>;
  auto step = tl::jit(tl::value_and_grad<0>(loss_of_arrays{}))
                  .template bind<tl::cuda::on<tree>, tl::cuda::on<images>>(s);
  const tl::cuda::owned<tree> p(s);
  const tl::cuda::owned<images> x(s);
  const tl::cuda::pinned<tl::scalar<float>> loss;
  tl::copy(std::get<0>(step(*p, *x)), loss, s);
  s.wait();
  return (*loss)();
}

} // namespace residual
