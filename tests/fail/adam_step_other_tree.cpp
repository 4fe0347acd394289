// expect: tapeless: adam.step(p, gradient): p has the leaves of params, and none is const
// extents: {9}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using params = tl::tensor<float, 8>;
using others = tl::tensor<float, 9>;

void use(params p, others q) {
  tl::adam<params> opt;
#ifdef TAPELESS_BAD
  opt.step(q, p);
#else
  opt.step(p, p);
#endif
  static_cast<void>(q);
}
