// expect: tapeless: matmul(a, b): both are float or both are double
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using matrix = tl::csr<std::int32_t, 5, 7, 11>;
#else
using matrix = tl::csr<float, 5, 7, 11>;
#endif
constexpr auto product = [](auto a, auto x) { return tl::matmul(a, x); };
constexpr tl::cost cost = tl::jit(product).cost<matrix, tl::tensor<matrix::value_type, 7>>();
