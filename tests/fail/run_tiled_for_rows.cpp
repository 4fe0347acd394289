// expect: tapeless: run(x...): each argument has the element types and extents it was bound for, as *p of an owned p, X(v.data(), n) of a vector v
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/run/csr_tiled.hpp>
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using matrix = tl::csr<float, 4, 8, 5>;

void use(const matrix& a, tl::tensor<float, 8> x) {
  auto run = tl::jit([](auto m, auto v) { return tl::matmul(m, v); }).bind<matrix, tl::tensor<float, 8>>();
#ifdef TAPELESS_BAD
  run(*tl::csr_tiled(a), x);
#else
  run(a, x);
#endif
}
