// expect: tapeless: group_norm<groups>(x, gamma, beta): x is (N, C, ...), groups divides the static extent C
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using signals = tl::tensor<float, 2, tl::dyn<'c'>, 4>;
#else
using signals = tl::tensor<float, tl::dyn<'c'>, 2, 4>;
#endif
constexpr auto f = [](auto x) { return tl::group_norm<2>(x); };
constexpr tl::cost cost = tl::jit(f).cost<signals>();
