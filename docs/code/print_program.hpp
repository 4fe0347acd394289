// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// print("title", program): the nodes of a program as the graph holds them: number, half, op, shape, operands.
// For the pages that explain the inside; detail is private.
#include <tapeless/tapeless.hpp>

#include <cstdio>

template <class Program> void print(const char* title, const Program& p) {
  std::printf("%s\n", title);
  for (int i = 0; i < p.size; ++i) {
    const tapeless::detail::node& v = p.nodes[i];
    std::printf("  %2d %-8s %-12s %-7s", i, v.adjoint ? "adjoint" : "", tapeless::detail::text_of(v).c_str(), tapeless::detail::text_of(v.s).c_str());
    for (const int k : v.in)
      if (k >= 0) std::printf(" %d", k);
    std::printf("\n");
  }
  std::printf("  results:");
  for (const int k : p.outputs) std::printf(" %d", k);
  std::printf("\n");
}
