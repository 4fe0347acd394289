// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// A program: nodes in topological order, and which of them are its results. raw_program while passes rewrite it, of any size;
// program<N, O> when it is a constant; made_program turns what a pass returns into one.
#pragma once
#include "graph.hpp" // IWYU pragma: export

namespace tapeless::detail {

inline constexpr int no_second_pass = 0, second_pass_of_axes = 1, second_pass_of_zeros = -1;
struct raw_program {
  block_list<node> nodes;
  vec<int> outputs;
  broken_rule broken;
  // What is left to a second rewriting of its rows (plan/rewrite/choose_rows.hpp): nothing; masks of several axes; the masks of so
  // many losses; all of it, of the program in which what masks weigh is zero.
  int second_pass = no_second_pass;
};

// The program as a constant: nodes in topological order, nothing dead.
template <int N, int O> struct program {
  node nodes[N > 0 ? N : 1];
  int outputs[O > 0 ? O : 1];
  static constexpr int size = N;
  static constexpr int output_count = O;
};

// A program whose size is known when it has been made: what of it has room.
template <int Room, int Outputs> struct roomy_program {
  node nodes[Room]{};
  int outputs[Outputs + 1]{}; // + 1: no array is empty
  int size = 0, output_count = 0;
  broken_rule broken;
  int second_pass;

  constexpr explicit roomy_program(const raw_program& r)
      : size(r.nodes.size()), output_count(r.outputs.size()), broken(r.broken), second_pass(r.second_pass) {
    for (int i = 0; i < size && i < Room; ++i) nodes[i] = r.nodes[i];
    for (int i = 0; i < output_count && i < Outputs; ++i) outputs[i] = r.outputs[i];
  }
  constexpr bool is_whole() const { return size <= Room && output_count <= Outputs; }
};
// A program, which has no node where a rule is broken.
template <int N, int O> struct checked_program {
  program<N, O> value;
  broken_rule broken;
  int second_pass;
};
// What Make{}() returns, as a constant. To make it takes long: it is made once if it has room, and else again.
template <class Make, int Room, int Outputs> struct made_program {
  static constexpr auto checked = [] {
    constexpr roomy_program<Room, Outputs> roomy{Make{}()}; // automatic: a static one would be data at -O0
    checked_program<roomy.size, roomy.output_count> r{{}, roomy.broken, roomy.second_pass};
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
