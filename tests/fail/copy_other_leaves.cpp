// expect: tapeless: copy(from, to): two trees of the same leaves
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using vector = tl::tensor<float, 8>;

void use(const tl::owned<vector>& x, vector y, tl::tensor<float, 9> z) {
#ifdef TAPELESS_BAD
  tl::copy(x, z);
#else
  tl::copy(x, y);
#endif
  static_cast<void>(y);
  static_cast<void>(z);
}
