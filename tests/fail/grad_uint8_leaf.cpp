// expect: tapeless: grad<i>(f): every leaf of argument i is float or double; integers and bool have no tangent
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using T = std::uint8_t;
#else
using T = float;
#endif
constexpr auto loss = [](auto x, auto w) { return tl::sum(tl::cast<float>(x) * w); };
constexpr tl::cost cost = tl::jit(tl::grad<0>(loss)).cost<tl::tensor<T, 8>, tl::tensor<float, 8>>();
