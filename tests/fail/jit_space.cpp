// expect: tapeless: jit(f): a whole argument lives on the host, or on a device as cuda::on<tree>, with tapeless/cuda.hpp included
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
#include <array>
namespace tl = tapeless;

constexpr auto f = [](auto x) { return tl::sum(x[0] * x[1]); };
using X = tl::tensor<float, 4>;
#ifdef TAPELESS_BAD
struct device {};
using Y = tl::basic_tensor<float, X::extents, device>;
#else
using Y = X;
#endif
using pair = std::array<Y, 2>;
auto run() { return tl::jit(f).bind<pair>(); }
