// expect: tapeless: top_k<k, 'k'>(values, count): count is an int32 of rank 0
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using count = tl::tensor<std::int32_t, 1>;
#else
using count = tl::tensor<std::int32_t>;
#endif
constexpr auto f = [](auto x, auto k) { return tl::top_k<3, 'k'>(x, k); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 8>, count>();
