// expect: tapeless: slice<axis, length>(a, start), at<axis>(a, i): start and i are integers that are known while tracing, as those of a for loop; of an int32 tensor it is tl::gather<axis>(a, index)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x, auto i) {
#ifdef TAPELESS_BAD
  return tl::at<0>(x, i) * 2.0f;
#else
  return tl::gather<0>(x, i) * 2.0f;
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 8>, int>();
