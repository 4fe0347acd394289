// expect: tapeless: bind<...>: an argument on a device is a cuda::on<tree>, not the cuda::owned<tree> that owns it
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/cuda.hpp>
namespace tl = tapeless;

using X = tl::tensor<float, 4>;
constexpr auto f = tl::jit([](auto x) { return tl::sum(x); });
void use(const tl::cuda::stream& s) {
#ifdef TAPELESS_BAD
  f.bind<tl::cuda::owned<X>>(s);
#else
  f.bind<tl::cuda::on<X>>(s);
#endif
}
