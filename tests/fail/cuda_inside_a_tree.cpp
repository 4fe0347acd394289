// expect: tapeless: jit(f): a whole argument lives on the host, or on a device as cuda::on<tree>, with tapeless/cuda.hpp included
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>

#include <tapeless/cuda/on.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto p) { return tl::sum(p.w); };
#ifdef TAPELESS_BAD
struct params {
  tl::cuda::tensor<float, 4> w;
};
#else
struct params {
  tl::tensor<float, 4> w;
};
#endif
constexpr tl::cost cost = tl::jit(f).cost<params>();
