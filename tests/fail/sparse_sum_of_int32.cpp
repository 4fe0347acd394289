// expect: tapeless: reduction<axes...>(a): the element type is float or double; of a mask or int32 it is that of cast<float>(a)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using matrix = tl::csr<std::int32_t, 5, 7, 11>;
#else
using matrix = tl::csr<float, 5, 7, 11>;
#endif
constexpr auto rows = [](auto a) { return tl::sum<1>(a); };
constexpr tl::cost cost = tl::jit(rows).cost<matrix>();
