// expect: tapeless: adam_update(p, gradient, state), (p, gradient, state, rate), either with options behind: in this order
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using params = tl::tensor<float, 4>;
constexpr auto train = tl::jit([](auto p, auto state, auto gradient) {
#ifdef TAPELESS_BAD
  return tl::adam_update(p, state, gradient, 0.1f);
#else
  return tl::adam_update(p, gradient, state, 0.1f);
#endif
});
constexpr tl::cost cost = train.cost<params, tl::adam_state<params>, params>();
