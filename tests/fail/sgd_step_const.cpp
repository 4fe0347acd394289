// expect: tapeless: sgd.step(p, gradient): p has the leaves of params, and none is const
// extents: const float
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using params = tl::tensor<float, 8>;

void use(params p, tl::tensor<const float, 8> read_only) {
  tl::sgd<params> opt;
#ifdef TAPELESS_BAD
  opt.step(read_only, p);
#else
  opt.step(p, read_only);
#endif
}
