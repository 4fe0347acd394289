// expect: tapeless: bind_for(option, x...): the option is tl::threads, or a stream or cuda::options; the capacities are the extents of x, and tl::plain is an option of bind
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using X = tl::tensor<float, tl::dyn<'n'>>;
constexpr auto f = [](auto x) { return tl::sum(x); };
void use(const X& x) {
#ifdef TAPELESS_BAD
  auto run = tl::jit(f).bind_for(tl::dim<'n'>(4), x);
#else
  auto run = tl::jit(f).bind_for(tl::threads(1), x);
#endif
  run(x);
}
