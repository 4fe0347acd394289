// expect: tapeless: grad<i...>(f): every i names an argument
// extents: wrt_names_an_argument
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto loss = [](auto x, auto w) { return tl::sum(tl::matmul(x, w)); };
#ifdef TAPELESS_BAD
constexpr auto gradient = tl::grad<2>(loss);
#else
constexpr auto gradient = tl::grad<1>(loss);
#endif
constexpr tl::cost cost = tl::jit(gradient).cost<tl::tensor<float, 4, 8>, tl::tensor<float, 8>>();
