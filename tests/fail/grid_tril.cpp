// expect: tapeless: tril<k>(a), triu<k>(a): a has at least two axes
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = tl::jit([](auto x) {
#ifdef TAPELESS_BAD
  return tl::sum(tl::tril(tl::at<0>(x, 0)));
#else
  return tl::sum(tl::tril(x));
#endif
});
constexpr tl::cost cost = f.cost<tl::tensor<float, 2, 3>>();
