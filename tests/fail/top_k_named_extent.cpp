// expect: tapeless: top_k<k>(values): for values of a named extent the selection has a name
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::sum(tl::gather(x, tl::top_k<3>(x)));
#else
  return tl::sum(tl::gather(x, tl::top_k<3, 'k'>(x)));
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, tl::dyn<'n'>>>();
