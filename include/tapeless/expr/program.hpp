// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// A program: nodes in topological order, and which of them are its results. Passes rewrite a raw_program, which has any
// size. A constant is a program<N, O>. made_program turns the result of a pass into a constant.
#pragma once
#include "graph.hpp" // IWYU pragma: export

namespace tapeless::detail {

struct raw_program {
  block_list<node> nodes;
  vec<int> outputs;
  broken_rule broken;
  int unfinished = 0; // work for another pass, as the pass that made it numbers this; 0: none
};

// A constant program without dead nodes.
template <int N, int O> struct program {
  node nodes[N > 0 ? N : 1];
  int outputs[O > 0 ? O : 1];
  static constexpr int size = N;
  static constexpr int output_count = O;
};

// The shapes of the operands of v.
struct operand_shapes {
  shape of[3]{};

  constexpr operand_shapes(const raw_program& p, const node& v) {
    for (int k = 0; k < 3; ++k)
      if (v.in[k] >= 0) of[k] = p.nodes[v.in[k]].s;
  }
  using three = shape[3];
  constexpr operator const three&() const { return of; }
};

// The part of a program that has room here. Its size is known once it has been made.
template <int Room, int Outputs> struct roomy_program {
  node nodes[Room]{};
  int outputs[Outputs + 1]{}; // + 1: no array is empty
  int size = 0, output_count = 0;
  broken_rule broken;
  int unfinished;

  constexpr explicit roomy_program(const raw_program& r)
      : size(r.nodes.size()), output_count(r.outputs.size()), broken(r.broken), unfinished(r.unfinished) {
    for (int i = 0; i < size && i < Room; ++i) nodes[i] = r.nodes[i];
    for (int i = 0; i < output_count && i < Outputs; ++i) outputs[i] = r.outputs[i];
  }
  constexpr bool is_whole() const { return size <= Room && output_count <= Outputs; }
};
// A program, without nodes if a rule is broken.
template <int N, int O> struct checked_program {
  program<N, O> value;
  broken_rule broken;
  int unfinished;
};
// What Make{}() returns, as a constant. Making it takes long: it is made once if it has room, else twice.
template <class Make, int Room, int Outputs> struct made_program {
  static constexpr auto checked = [] {
    constexpr roomy_program<Room, Outputs> roomy{Make{}()}; // automatic: a static one would be data at -O0
    checked_program<roomy.size, roomy.output_count> r{{}, roomy.broken, roomy.unfinished};
    const auto fill = [](auto& to, const auto& from) {
      for (int i = 0; i < to.size; ++i) to.nodes[i] = from.nodes[i];
      for (int i = 0; i < to.output_count; ++i) to.outputs[i] = from.outputs[i];
    };
    if constexpr (roomy.is_whole()) fill(r.value, roomy);
    else fill(r.value, Make{}());
    return r;
  }();
  static constexpr const auto& value = checked.value;
};

} // namespace tapeless::detail
