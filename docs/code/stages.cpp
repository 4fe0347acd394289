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

// The nodes of a program as the graph holds them. For this page: detail is private.
template <class Program> void print(const char* title, const Program& p) {
  std::printf("%s\n", title);
  for (int i = 0; i < p.size; ++i) {
    const tl::detail::node& v = p.nodes[i];
    std::printf("  %2d %-8s %-14s %-8s", i, v.adjoint ? "adjoint" : "", tl::detail::text_of(v).c_str(), tl::detail::text_of(v.s).c_str());
    for (const int k : v.in)
      if (k >= 0) std::printf(" %d", k);
    std::printf("\n");
  }
  std::printf("  results:");
  for (const int k : p.outputs) std::printf(" %d", k);
  std::printf("\n\n");
}

int main() {
  constexpr auto primal = tl::jit(loss);
  constexpr auto gradient = tl::jit(tl::value_and_grad<1>(loss));
  print("trace of loss:", tl::detail::traced<decltype(loss), X, W>::value);
  print("trace of value_and_grad<1>(loss):", tl::detail::traced<decltype(tl::value_and_grad<1>(loss)), X, W>::value);
  std::printf("plan of loss:\n%s\n", primal.explain<X, W>().c_str());
  std::printf("plan of value_and_grad<1>(loss):\n%s", gradient.explain<X, W>().c_str());
}
