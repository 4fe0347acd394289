// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include <tapeless/tapeless.hpp>

#include <cstdio>

namespace tl = tapeless;

// [program]
using X = tl::tensor<float, 4, 8>;
using W = tl::tensor<float, 8, 3>;
constexpr auto loss = [](auto x, auto w) { return tl::sum(tl::relu(tl::matmul(x, w))); };
// [/program]

int main() {
  constexpr auto primal = tl::jit(loss);
  constexpr auto gradient = tl::jit(tl::value_and_grad<1>(loss));
  std::printf("trace of loss\n%s", tl::detail::program_text(tl::detail::traced<decltype(loss), X, W>::value).c_str());
  std::printf("\ntrace of value_and_grad<1>(loss)\n%s",
              tl::detail::program_text(tl::detail::traced<decltype(tl::value_and_grad<1>(loss)), X, W>::value).c_str());
  std::printf("\nplan of loss\n%s\n", primal.explain<X, W>().c_str());
  std::printf("plan of value_and_grad<1>(loss)\n%s", gradient.explain<X, W>().c_str());
}
