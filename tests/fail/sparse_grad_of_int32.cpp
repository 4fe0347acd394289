// expect: tapeless: grad<i>(f): every leaf of argument i is float or double; integers and bool have no tangent
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using matrix = tl::csr<std::int32_t, 5, 7, 11>;
#else
using matrix = tl::csr<float, 5, 7, 11>;
#endif
constexpr auto loss = [](auto a) { return tl::sum(tl::cast<float>(a.values())); };
constexpr tl::cost cost = tl::jit(tl::grad(loss)).cost<matrix>();
