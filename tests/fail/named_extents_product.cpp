// expect: tapeless: a tensor has at most 2^39 elements and four named extents, intermediate results too
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using column = tl::tensor<float, 1 << 20, 1>; // the sum of a column and a row is a matrix
#else
using column = tl::tensor<float, 1 << 10, 1>;
#endif
using row = tl::tensor<float, 1 << 20>;
constexpr auto total = [](auto x, auto y) { return tl::sum(tl::var(x) + tl::var(y)).template as<float>(); };
constexpr tl::cost cost = tl::jit(total).cost<column, row>();
