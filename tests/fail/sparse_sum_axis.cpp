// expect: tapeless: sum<axis>(a), a sparse: the axis is 0 or 1, or none is named
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using matrix = tl::csr<float, 5, 7, 11>;
#ifdef TAPELESS_BAD
inline constexpr int axis = 2;
#else
inline constexpr int axis = 1;
#endif
constexpr auto loss = [](auto a) { return tl::sum(tl::square(tl::sum<axis>(a))); };
constexpr tl::cost cost = tl::jit(tl::grad(loss)).cost<matrix>();
