// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include <tapeless/tapeless.hpp>

#include <cstdio>

namespace tl = tapeless;

// [program]
using X = tl::tensor<float, 100>;
constexpr auto loss = [](auto x) { return tl::sum(exp(x)); };
constexpr auto both = tl::value_and_grad(loss);
// [/program]

int main() {
  std::printf("loss\n%s", tl::detail::program_text(tl::detail::traced<decltype(loss), X>::value).c_str());
  std::printf("value_and_grad(loss)\n%s", tl::detail::program_text(tl::detail::traced<decltype(both), X>::value).c_str());
  std::fputs(tl::jit(both).explain<X>().c_str(), stdout);
}
