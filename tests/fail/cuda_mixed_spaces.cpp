// expect: tapeless: jit(f): the arguments live in one space: each tree is a cuda::on<tree>, or none is
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>

#include <tapeless/cuda/emulated.hpp>
#include <tapeless/cuda/backend.hpp>
namespace tl = tapeless;
template <> struct tl::detail::backend_for<tl::cuda_space> {
  using type = tl::cuda::backend<tl::cuda::emulated_device>;
};

constexpr auto f = [](auto x, auto y) { return tl::sum(x * y); };
using X = tl::cuda::tensor<float, 4>;
#ifdef TAPELESS_BAD
using Y = tl::tensor<float, 4>;
#else
using Y = X;
#endif
constexpr tl::cost cost = tl::jit(f).cost<X, Y>();
