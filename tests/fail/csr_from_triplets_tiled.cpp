// expect: tapeless: csr_from_..<A>(rows, cols, ...): A is not tiled; csr_tiled(a) makes a tiled matrix of one in rows
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/run/csr_build.hpp>
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using matrix = tl::csr<float, 5, 7, 11, tl::tiled>;
#else
using matrix = tl::csr<float, 5, 7, 11>;
#endif
void build(const std::vector<tl::triplet<float>>& t) {
  static_cast<void>(tl::csr_from_triplets<matrix>(5, 7, t));
}
