// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// print("title", program): the nodes of a program as the graph holds them: number, half, op, shape, operands.
// For the pages that explain the inside; detail is private.
#include <tapeless/tapeless.hpp>

#include <cstdio>
#include <string>

template <class Program> void print(const char* title, const Program& p) {
  std::printf("%s\n", title);
  for (int i = 0; i < p.size; ++i) {
    const tapeless::detail::node& v = p.nodes[i];
    std::string line = tapeless::detail::text_of(v.s);
    for (const int k : v.in)
      if (k >= 0) line += (line.size() < 8 ? std::string(8 - line.size(), ' ') : " ") + std::to_string(k);
    std::printf("  %2d %-8s %-12s %s\n", i, v.adjoint ? "adjoint" : "", tapeless::detail::text_of(v).c_str(), line.c_str());
  }
  std::printf("  results:");
  for (const int k : p.outputs) std::printf(" %d", k);
  std::printf("\n");
}
