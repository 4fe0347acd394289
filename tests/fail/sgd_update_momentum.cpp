// expect: tapeless: sgd_update(p, gradient, state, rate, options): momentum lies in [0, 1)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using params = tl::tensor<float, 4>;
constexpr auto train = tl::jit([](auto p, auto state, auto gradient) {
#ifdef TAPELESS_BAD
  return tl::sgd_update(p, gradient, state, 0.1f, tl::sgd_options{.momentum = 1});
#else
  return tl::sgd_update(p, gradient, state, 0.1f, tl::sgd_options{.momentum = 0.9});
#endif
});
constexpr tl::cost cost = train.cost<params, tl::sgd_state<params>, params>();
