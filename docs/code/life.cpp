// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include "print_program.hpp"

namespace tl = tapeless;

// [program]
using X = tl::tensor<float, 100>;
constexpr auto loss = [](auto x) { return tl::sum(exp(x)); };
constexpr auto both = tl::value_and_grad(loss);
// [/program]

int main() {
  print("loss", tl::detail::traced<decltype(loss), X>::value);
  print("value_and_grad(loss)", tl::detail::traced<decltype(both), X>::value);
  std::fputs(tl::jit(both).explain<X>().c_str(), stdout);
}
