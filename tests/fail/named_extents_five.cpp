// expect: tapeless: jit(f): at most four named extents in one program
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using four = tl::tensor<float, tl::dyn<'a'>, tl::dyn<'b'>, tl::dyn<'c'>, tl::dyn<'d'>>;
#ifdef TAPELESS_BAD
using fifth = tl::tensor<float, tl::dyn<'e'>>;
#else
using fifth = tl::tensor<float, tl::dyn<'a'>>;
#endif
constexpr auto total = [](auto x, auto y) { return tl::sum(x) + tl::sum(y); };
constexpr tl::cost cost = tl::jit(total).cost<four, fifth>();
