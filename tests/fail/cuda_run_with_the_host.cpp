// expect: tapeless: run(x...): each argument lives where it was bound for: on a device as cuda::on<tree>, of an owner p as *p, or on the host
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>

#include <tapeless/cuda/backend.hpp>
#include <tapeless/cuda/emulated.hpp>
namespace tl = tapeless;
template <> struct tl::detail::backend_for<tl::cuda_space> {
  using type = tl::cuda::backend<tl::cuda::emulated_device>;
};

constexpr auto f = [](auto x) { return tl::sum(x); };
using X = tl::tensor<float, 4>;
void run(const X& x) {
  auto run = tl::jit(f).bind<tl::cuda::on<X>>();
#ifdef TAPELESS_BAD
  run(x);
#else
  run(tl::cuda::on{x});
#endif
}
