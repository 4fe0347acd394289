// expect: tapeless: where<'k'>(mask): mask has fewer than 2^31 elements, for positions are int32
// extents: positions_are_int32
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using values = tl::tensor<bool, 2147483648>;
#else
using values = tl::tensor<bool, 2147483647>;
#endif
constexpr auto f = [](auto x) { return tl::where<'k'>(x); };
constexpr tl::cost cost = tl::jit(f).cost<values>();
