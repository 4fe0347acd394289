// expect: tapeless: csr<T, rows, cols, nnz, row_end>: row_end is std::int32_t, std::int64_t or tl::tiled
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/core/csr.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using row_end = std::uint32_t;
#else
using row_end = std::int64_t;
#endif
using matrix = tl::csr<float, 5, 7, 11, row_end>;
constexpr matrix none{};
