// expect: tapeless: bind<...>(options...): a stream and cuda::options are for arguments on a device, cuda::on<tree>, tl::threads for arguments on the host
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>

#include <tapeless/cuda/backend.hpp>
#include <tapeless/cuda/emulated.hpp>
namespace tl = tapeless;

template <> struct tl::detail::backend_for<tl::cuda_space> {
  using type = tl::cuda::backend<tl::cuda::emulated_device>;
};
using X = tl::tensor<float, 4>;
constexpr auto f = [](auto x) { return tl::sum(x); };
#ifdef TAPELESS_BAD
auto run = tl::jit(f).bind<tl::cuda::on<X>>(tl::threads(2));
#else
auto run = tl::jit(f).bind<X>(tl::threads(2));
#endif
