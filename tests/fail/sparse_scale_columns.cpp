// expect: tapeless: scale_columns(a, s): s is (n), n the columns of a
// extents: {5}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using matrix = tl::csr<float, 5, 7, 11>;
#ifdef TAPELESS_BAD
using factors = tl::tensor<float, 5>;
#else
using factors = tl::tensor<float, 7>;
#endif
constexpr auto loss = [](auto s, auto a) { return tl::sum(tl::scale_columns(a, s)); };
constexpr tl::cost cost = tl::jit(tl::grad(loss)).cost<factors, matrix>();
