// expect: tapeless: batch_norm(x, gamma, beta): gamma, beta, mean and variance are (C)
// extents: {4}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using statistic = tl::tensor<float, 4>;
#else
using statistic = tl::tensor<float, 16>;
#endif
constexpr auto f = [](auto x, auto g, auto b, auto m, auto v) { return tl::batch_norm(x, g, b, m, v); };
constexpr tl::cost cost = tl::jit(f)
                              .cost<tl::tensor<float, 2, 16, 4, 4>, tl::tensor<float, 16>,
                                    tl::tensor<float, 16>, statistic, statistic>();
