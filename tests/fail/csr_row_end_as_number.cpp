// expect: tapeless: op(a.row_end()): row ends of std::int64_t are read by sparse ops only
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using row_end = std::int64_t;
#else
using row_end = std::int32_t;
#endif
using matrix = tl::csr<float, 5, 7, 11, row_end>;
constexpr auto ends = [](auto a) { return tl::sum(tl::cast<float>(a.row_end())); };
constexpr tl::cost cost = tl::jit(ends).cost<matrix>();
