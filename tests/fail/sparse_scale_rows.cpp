// expect: tapeless: scale_rows(s, a): s is (m), m the rows of a
// extents: {7}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using matrix = tl::csr<float, 5, 7, 11>;
#ifdef TAPELESS_BAD
using factors = tl::tensor<float, 7>;
#else
using factors = tl::tensor<float, 5>;
#endif
constexpr auto loss = [](auto s, auto a) { return tl::sum(tl::scale_rows(s, a)); };
constexpr tl::cost cost = tl::jit(tl::grad(loss)).cost<factors, matrix>();
