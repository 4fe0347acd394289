// expect: tapeless: sgd_update(p, gradient, rate), sgd_update(p, gradient, state, rate, options): in this order
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using params = tl::tensor<float, 4>;
constexpr auto train = tl::jit([](auto p, auto gradient) {
#ifdef TAPELESS_BAD
  return tl::sgd_update(p, 0.1f, gradient);
#else
  return tl::sgd_update(p, gradient, 0.1f);
#endif
});
constexpr tl::cost cost = train.cost<params, params>();
