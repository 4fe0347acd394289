// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The program after each pass of the pipeline, as text: a line for each node.
#pragma once
#include <string>
#include "explain.hpp"
#include "pipeline.hpp"

namespace tapeless::detail {

// Number, half, op, shape, operands.
template <int N, int O> std::string program_text(const program<N, O>& p) {
  std::string text;
  const auto padded = [](std::string s, std::size_t n) {
    return s.size() < n ? s + std::string(n - s.size(), ' ') : s;
  };
  for (int i = 0; i < p.size; ++i) {
    const node& v = p.nodes[i];
    std::string line = joined(i < 10 ? "   " : "  ", i, v.adjoint ? " adjoint  " : "          ");
    line += padded(text_of(v), 12) + " " + (v.in[0] < 0 ? text_of(v.s) : padded(text_of(v.s), 7));
    for (const int k : v.in)
      if (k >= 0) line += joined(" ", k);
    text += line + "\n";
  }
  text += "  results:";
  for (const int k : p.outputs) text += " " + std::to_string(k);
  return text + "\n";
}

template <class Pipeline> std::string passes_text() {
  std::string text = "trace\n" + program_text(Pipeline::traced::value);
  const auto pass = [&text](const char* name, const auto& before, const auto& after) {
    const bool same = static_cast<const void*>(&before) == static_cast<const void*>(&after);
    text += joined(name, same ? ": nothing to do\n" : "\n");
    if (!same) text += program_text(after);
  };
  pass("rows", Pipeline::traced::value, Pipeline::rows_selected::value);
  pass("guards", Pipeline::rows_selected::value, Pipeline::guarded::value);
  pass("layouts", Pipeline::guarded::value, Pipeline::laid_out::value);
  return text;
}

} // namespace tapeless::detail
