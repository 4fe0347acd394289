// expect: tapeless: copy(from, to): two trees of the same leaves
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using matrix = tl::csr<float, 4, 8, 5>;
using in_tiles = tl::csr<float, 4, 8, 5, tl::tiled>;

void use(const matrix& a, const matrix& b, const in_tiles& t) {
#ifdef TAPELESS_BAD
  tl::copy(a, t);
#else
  tl::copy(a, b);
#endif
  static_cast<void>(b);
  static_cast<void>(t);
}
