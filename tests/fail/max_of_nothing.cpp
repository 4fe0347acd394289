// expect: tapeless: max<axes...>(a), min<axes...>(a), logsumexp<axes...>(a): the axes are not empty
// extents: {4, 0}
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using rows = tl::tensor<float, 4, 0>;
#else
using rows = tl::tensor<float, 4, 1>;
#endif
constexpr auto f = [](auto x) { return tl::max<1>(x); };
constexpr tl::cost cost = tl::jit(f).cost<rows>();
