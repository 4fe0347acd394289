// expect: tapeless: real op(a): the element type is float or double; cast<float>(a) first
// extents: basic_tensor<int
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using image = tl::tensor<std::int32_t, 8>;
#else
using image = tl::tensor<float, 8>;
#endif
constexpr auto f = [](auto x) { return tl::sum(tl::exp(x)); };
constexpr tl::cost cost = tl::jit(f).cost<image>();
