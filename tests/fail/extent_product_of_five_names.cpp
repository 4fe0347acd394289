// expect: tapeless: extent_product<a, b, ...>: of numbers and names, at most four names and a number of at most 39 bits
// extents: have_a_product
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using rows =
    tl::tensor<float,
               tl::extent_product<3, tl::dyn<'a'>, tl::dyn<'b'>, tl::dyn<'c'>, tl::dyn<'d'>, tl::dyn<'e'>>>;
#else
using rows = tl::tensor<float, tl::extent_product<3, tl::dyn<'a'>, tl::dyn<'b'>, tl::dyn<'c'>, tl::dyn<'d'>>>;
#endif
constexpr rows none{};
