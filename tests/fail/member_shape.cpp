// expect: tapeless: x.shape: a tensor has no such member: the extents are x.extent(axis), and their number x.rank(); in a trace of a var h they are h.dims()
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using X = tl::tensor<float, 16, 8>;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::sum(x) / x.shape[0];
#else
  return tl::sum(x) / x.extent(0);
#endif
};
void use() { auto run = tl::jit(f).bind<X>(); }
