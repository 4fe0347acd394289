// expect: tapeless: jit(f): a whole argument lives on the host, or on a device as cuda::on<tree>, with tapeless/cuda.hpp included
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x, auto y) { return tl::sum(x * y); };
using X = tl::tensor<float, 4>;
#ifdef TAPELESS_BAD
struct device {};
using Y = tl::basic_tensor<float, X::extents, device>;
#else
using Y = X;
#endif
constexpr tl::cost cost = tl::jit(f).cost<X, Y>();
