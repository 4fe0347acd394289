// expect: tapeless: slice<axis, length>(a, start), at<axis>(a, i): 0 <= length <= extent
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::slice<1, 9>(x, 0);
#else
  return tl::slice<1, 7>(x, 1);
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 8>>();
