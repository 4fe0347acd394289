// expect: tapeless: copy(from, to): no leaf of to is const
// extents: const float
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using vector = tl::tensor<float, 8>;

void use(vector x, tl::tensor<const float, 8> read_only) {
#ifdef TAPELESS_BAD
  tl::copy(x, read_only);
#else
  tl::copy(read_only, x);
#endif
}
