// expect: tapeless: selection: its name is that of no other selection
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return tl::sum(tl::gather(x, tl::where<'k'>(x > 0.0f))) + tl::sum(tl::gather(x, tl::top_k<3, 'k'>(x)));
#else
  return tl::sum(tl::gather(x, tl::where<'k'>(x > 0.0f))) + tl::sum(tl::gather(x, tl::top_k<3, 'l'>(x)));
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 8>>();
