// expect: tapeless: cuda::prepare<arguments...>(program, path, archs): the program is that of jit, the path a string
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/cuda.hpp>
namespace tl = tapeless;

using X = tl::tensor<float, 4>;
constexpr auto f = tl::jit([](auto x) { return tl::sum(x); });
void use() {
#ifdef TAPELESS_BAD
  tl::cuda::prepare<tl::cuda::on<X>>(f, "kernels", "sm_90");
#else
  tl::cuda::prepare<tl::cuda::on<X>>(f, "kernels", {"sm_90"});
#endif
}
