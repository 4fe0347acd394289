// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The program after each pass of the pipeline, as text: a line for each node.
#pragma once
#include <string>
#include "../expr/program.hpp"
#include "explain.hpp"

namespace tapeless::detail {

inline void append_padded(std::string& text, const std::string& s, std::size_t width) {
  text += s;
  for (std::size_t n = s.size(); n < width; ++n) text += ' ';
}
// Number, half, op, shape, operands.
inline void append_node(std::string& text, const node& v, int number) {
  text += number < 10 ? "   " : "  ";
  text += std::to_string(number);
  append_padded(text, v.adjoint ? " adjoint" : "", 10);
  append_padded(text, text_of(v), 12);
  text += ' ';
  append_padded(text, text_of(v.s), v.in[0] < 0 ? 0 : 7);
  for (const int k : v.in)
    if (k >= 0) {
      text += ' ';
      text += std::to_string(k);
    }
  text += '\n';
}
template <int N, int O> std::string program_text(const program<N, O>& p) {
  std::string text;
  for (int i = 0; i < p.size; ++i) append_node(text, p.nodes[i], i);
  const char* const results = "  results:";
  text += results;
  for (const int k : p.outputs) {
    text += ' ';
    text += std::to_string(k);
  }
  text += '\n';
  return text;
}

template <class Pipeline> std::string passes_text() {
  std::string text = "trace\n";
  text += program_text(Pipeline::traced::value);
  const auto pass = [&text](const char* name, const auto& before, const auto& after) {
    text += name;
    const bool same = static_cast<const void*>(&before) == static_cast<const void*>(&after);
    text += same ? ": nothing to do\n" : "\n";
    if (!same) text += program_text(after);
  };
  pass("rows", Pipeline::traced::value, Pipeline::rows_selected::value);
  pass("guards", Pipeline::rows_selected::value, Pipeline::guarded::value);
  pass("layouts", Pipeline::guarded::value, Pipeline::laid_out::value);
  return text;
}

} // namespace tapeless::detail
