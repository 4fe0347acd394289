// expect: tapeless: run.into(out): the extents of the results are known before the run
// extents: extents_known_before_a_run
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using vector = tl::tensor<float, 8>;
#ifdef TAPELESS_BAD
using rows = tl::tensor<std::int32_t, tl::dyn<'k'>>;
constexpr auto chosen = tl::jit([](auto x) { return tl::where<'k'>(x > 0.0f); });
#else
using rows = tl::tensor<std::int32_t, 3>;
constexpr auto chosen = tl::jit([](auto x) { return tl::top_k<3>(x); });
#endif

void use(vector x, rows y) {
  auto run = chosen.bind<vector>();
  run.into(y)(x);
}
