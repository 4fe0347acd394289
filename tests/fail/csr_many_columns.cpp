// expect: tapeless: csr<T, rows, cols, nnz>: at most 2147483647 rows and columns
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/core/csr.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using matrix = tl::csr<float, 5, 2147483648, 11, std::int64_t>;
#else
using matrix = tl::csr<float, 5, 2147483647, 11, std::int64_t>;
#endif
constexpr matrix none{};
