// expect: tapeless: keep<axis, mask>(a): the mask has the extent of the axis
// extents: 4
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <array>
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
constexpr std::array<bool, 3> mask{true, false, true};
#else
constexpr std::array<bool, 4> mask{true, false, true, false};
#endif
constexpr auto f = [](auto w) { return tl::keep<0, mask>(w); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 8>>();
