// expect: tapeless: bind<...>(options...): an option is tl::dim<'n'>(64) or tl::threads(2), on a device a tl::cuda::stream or tl::cuda::options
// extents: is_option_v
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto twice = tl::jit([](auto x) { return x * 2.0f; });
using vector = tl::tensor<float, tl::dyn<'n'>>;

void use(vector x) {
#ifdef TAPELESS_BAD
  auto run = twice.bind<vector>(4);
#else
  auto run = twice.bind<vector>(tl::dim<'n'>(4));
#endif
  static_cast<void>(run);
  static_cast<void>(x);
}
