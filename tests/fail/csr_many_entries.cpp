// expect: tapeless: csr<T, rows, cols, nnz>: at most 2147483647 entries; csr<T, rows, cols, nnz, std::int64_t> has more
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/core/csr.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using matrix = tl::csr<float, 1000000, 1000000, 3000000000>;
#else
using matrix = tl::csr<float, 1000000, 1000000, 3000000000, std::int64_t>;
#endif
constexpr matrix none{};
