// expect: tapeless: bind<...>(options...): one stream and one cuda::options at most
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/cuda.hpp>
namespace tl = tapeless;

using X = tl::tensor<float, 4>;
constexpr auto f = tl::jit([](auto x) { return tl::sum(x); });
void use(const tl::cuda::stream& s, const tl::cuda::stream& another) {
#ifdef TAPELESS_BAD
  f.bind<tl::cuda::on<X>>(s, another);
#else
  f.bind<tl::cuda::on<X>>(s, tl::cuda::options{});
  another.wait();
#endif
}
