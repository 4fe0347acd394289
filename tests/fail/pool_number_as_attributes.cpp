// expect: tapeless: pool2d<pool>(x): the attributes are a template argument, as in max_pool2d<pool{.kernel = 2}>(x)
// within: 25
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using images = tl::tensor<float, 2, 3, 8, 8>;
using filters = tl::tensor<float, 5, 3, 3, 3>;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::max_pool2d<2>(x);
#else
  return tl::max_pool2d<tl::pool{.kernel = 2}>(x);
#endif
};
void use() { auto run = tl::jit(f).bind<images>(); }
