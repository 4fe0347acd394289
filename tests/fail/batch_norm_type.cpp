// expect: tapeless: normalisation(x, gamma, beta): all are float, or all are double
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using scale = tl::tensor<double, 16>;
#else
using scale = tl::tensor<float, 16>;
#endif
constexpr auto f = [](auto x, auto g, auto b) { return tl::batch_norm(x, g, b); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 2, 16, 4, 4>, scale, scale>();
