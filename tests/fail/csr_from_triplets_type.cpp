// expect: tapeless: csr_from_triplets<A>(rows, cols, triplets): a vector, array or span of tl::triplet<T>, T the element type of A
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/run/csr_build.hpp>
#include <vector>
namespace tl = tapeless;

using matrix = tl::csr<double, 2, 3, 4>;
#ifdef TAPELESS_BAD
using entry = tl::triplet<float>;
#else
using entry = tl::triplet<double>;
#endif
tl::owned<matrix> made(const std::vector<entry>& entries) {
  return tl::csr_from_triplets<matrix>(2, 3, entries);
}
