// expect: tapeless: tensor<T, extents...>: an extent is a number of at most 39 bits, a name, or an extent_product of such, which 24 * dyn<'b'> is not
// extents: number_or_product_of_names
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using rows = tl::tensor<float, 24 * tl::dyn<'b'>, 8>;
#else
using rows = tl::tensor<float, tl::extent_product<24, tl::dyn<'b'>>, 8>;
#endif
constexpr rows none{};
