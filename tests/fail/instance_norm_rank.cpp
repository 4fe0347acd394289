// expect: tapeless: instance_norm(x, gamma, beta): x is (N, C, L, ...)
// extents: {2, 16}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using signals = tl::tensor<float, 2, 16>;
#else
using signals = tl::tensor<float, 2, 16, 4>;
#endif
constexpr auto f = [](auto x) { return tl::instance_norm(x); };
constexpr tl::cost cost = tl::jit(f).cost<signals>();
