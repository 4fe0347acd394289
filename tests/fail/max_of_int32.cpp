// expect: tapeless: reduction<axes...>(a): the element type is float or double; of a mask or int32 it is that of cast<float>(a)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::min<1>(x);
#else
  return tl::min<1>(tl::cast<float>(x));
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<std::int32_t, 4, 9>>();
