// expect: tapeless: sampled_matmul(a, l, r): all are float or all are double
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using matrix = tl::csr<float, 5, 7, 11>;
#ifdef TAPELESS_BAD
using left = tl::tensor<double, 5>;
#else
using left = tl::tensor<float, 5>;
#endif
constexpr auto product = [](auto l, auto r, auto a) { return tl::sampled_matmul(a, l, r); };
constexpr tl::cost cost = tl::jit(product).cost<left, tl::tensor<float, 7>, matrix>();
