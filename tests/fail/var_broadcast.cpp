// expect: tapeless: elementwise op(a, b): the shapes broadcast
// extents: {5}
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using bias = tl::tensor<float, 5>;
#else
using bias = tl::tensor<float, 8>;
#endif
constexpr auto f = [](auto x, auto b) {
  tl::var h = x;
  h = h + b;
  return h.template as<float, 4, 8>();
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 8>, bias>();
