// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// grouping: which nodes of a program share a loop, and what follows from it. make_groups fills it (fuse_loops.hpp).
#pragma once
#include "../../core/shape.hpp"
#include "../../core/vec.hpp"

namespace tapeless::detail {

inline constexpr int max_group_nodes = 32;

struct group {
  bool fused = false;
  bool wide = false, narrow = false;  // lanes of 64 or 32 bits; a group has one kind
  bool loaded = false;                // runs when arguments are loaded, see of_loaded
  bool behind = false, ahead = false; // of a product that opens a CSR sweep; see sides_of_csr_sweeps
  shape it{};
  int outermost = 0; // the axis of `it` that is outermost, see loop_order.hpp
  int nodes = 0;
};

struct grouping {
  vec<group> groups;
  vec<int> of;       // node -> group, no_node for leaves and views
  vec<char> stored;  // node has a buffer
  vec<int> last;     // the last group that reads the buffer
  vec<shape> loop;   // node -> its iteration space
  vec<int> through;  // node -> the node that has the same values in the same order
  vec<int> root;     // node -> the dense block below its views
  vec<char> loaded;  // node -> is it computed when arguments are loaded?
  vec<char> inlined; // node -> is it a number that each loop that reads it computes?
  struct recomputed {
    int node, group;
  };
  vec<recomputed> again; // the node is computed in that group too
};

} // namespace tapeless::detail
