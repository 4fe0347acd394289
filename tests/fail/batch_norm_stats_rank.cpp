// expect: tapeless: batch_norm(x, gamma, beta): x is (N, C, ...)
// extents: {16}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using features = tl::tensor<float, 16>;
#else
using features = tl::tensor<float, 2, 16>;
#endif
constexpr auto f = [](auto x) { return tl::batch_norm_stats(x); };
constexpr tl::cost cost = tl::jit(f).cost<features>();
