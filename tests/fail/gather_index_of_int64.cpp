// expect: tapeless: gather<axis>(x, index): index is int32, as cast<std::int32_t>(index) is; of a mask, where<'k'>(mask)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x, auto i) {
#ifdef TAPELESS_BAD
  return tl::gather(x, i);
#else
  return tl::gather(x, tl::cast<std::int32_t>(i));
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 10>, tl::tensor<std::int64_t, 5>>();
