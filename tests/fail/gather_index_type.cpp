// expect: tapeless: gather<axis>(x, index): index is int32, as cast<std::int32_t>(index) is; of a mask, where<'k'>(mask)
// extents: index_type
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using indices = tl::tensor<float, 5>;
#else
using indices = tl::tensor<std::int32_t, 5>;
#endif
constexpr auto f = [](auto x, auto i) { return tl::gather<0>(x, i); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 10>, indices>();
