// expect: tapeless: op(a): bf16, uint8 and int64 are for storage; cast<float>(a) first, or cast<std::int32_t>(a) of integers
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
constexpr auto ends = [](auto a) { return a.row_end() + a.row_end(); };
constexpr tl::cost cost = tl::jit(ends).cost<matrix>();
