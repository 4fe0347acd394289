// expect: tapeless: adam_update(p, gradient, state, options): beta1 and beta2 lie in [0, 1)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using params = tl::tensor<float, 4>;
constexpr auto train = tl::jit([](auto p, auto state, auto gradient) {
#ifdef TAPELESS_BAD
  return tl::adam_update(p, gradient, state, tl::adam_options{.beta1 = 9});
#else
  return tl::adam_update(p, gradient, state, tl::adam_options{.beta1 = 0.8});
#endif
});
constexpr tl::cost cost = train.cost<params, tl::adam_state<params>, params>();
