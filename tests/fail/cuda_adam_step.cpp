// expect: tapeless: adam.step(p, gradient): p lives on the host: on a device a step is a part of the program, adam_update
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>

#include <tapeless/cuda/on.hpp>
namespace tl = tapeless;

using X = tl::tensor<float, 4>;
void use(tl::adam<X>& opt, const X& p, const X& g) {
#ifdef TAPELESS_BAD
  opt.step(tl::cuda::on{p}, tl::cuda::on{g});
#else
  opt.step(p, g);
#endif
}
