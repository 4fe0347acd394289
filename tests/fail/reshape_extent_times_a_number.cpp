// expect: tapeless: tensor<T, extents...>: an extent is a number of at most 39 bits, a name, or an extent_product of such, which 24 * dyn<'b'> is not
// extents: number_or_product_of_names
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::reshape<24 * tl::dyn<'b'>, 8>(x);
#else
  return tl::reshape<tl::extent_product<24, tl::dyn<'b'>>, 8>(x);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, tl::dyn<'b'>, 24, 8>>();
