// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// graph: the nodes of one program in topological order. It is hash-consed: equal nodes are one node, so common
// subexpressions cost nothing. It exists in constant evaluation only.
// Invariant: every operand of node i has a number below i.
#pragma once
#include <bit>
#include "../core/block_list.hpp" // IWYU pragma: export
#include "../core/rules.hpp"      // IWYU pragma: export
#include "../core/vec.hpp"        // IWYU pragma: export
#include "node.hpp"               // IWYU pragma: export

namespace tapeless::detail {

struct graph : rule_watch {
  block_list<node> nodes;
  bool in_adjoint = false; // marks the nodes made while a vjp runs

  constexpr const node& operator[](int id) const {
    return nodes.block_[id >> block_list<node>::shift]->element[id & (block_list<node>::length - 1)];
  }
  constexpr int size() const { return nodes.size(); }

  // Equal nodes become one. Exception: a cotangent that is zero by construction in places, and an equal node of the
  // user's.
  constexpr int intern(node v) {
    if (v.in[0] < 0 || !(v.s == nodes[v.in[0]].s)) { // the shape of an operand is checked already
      require(numel_representable(v.s),
              "tapeless: a tensor has at most 2^39 elements and four named extents, intermediate results too",
              v.s);
      require(knows_names(v.s), "tapeless: a named extent is that of an argument", v.s);
    }
    if (has_storage_) require_elements(v);
    has_storage_ = has_storage_ || is_for_storage(v.t);
    int* const slot = table_.begin();
    std::uint32_t mask = static_cast<std::uint32_t>(table_.size() - 1), at = hash(v) & mask;
    for (; slot[at] >= 0; at = (at + 1) & mask)
      if (node& n = nodes[slot[at]]; equal(n, v) && (n.adjoint == in_adjoint || !has_zeros(v))) {
        if (v.t == dtype::boolean && !in_adjoint) n.adjoint = false; // it is a condition of the user's too
        return slot[at];
      }
    const int id = nodes.size();
    v.adjoint = in_adjoint;
    nodes.push_back(v);
    slot[at] = id;
    if (nodes.size() * 2 > table_.size()) rehash();
    return id;
  }

  // of_pattern: a leaf of a sparse matrix that is not its values
  constexpr int input(int position, dtype t, const shape& s, bool of_pattern = false) {
    node v;
    v.o = op::input;
    v.t = t;
    v.attr = static_cast<std::uint64_t>(position);
    v.attr2 = of_pattern ? 1 : 0;
    v.s = s;
    learn_names(s);
    return intern(v);
  }
  // A new leaf, equal to no other: an argument of the function that a transform differentiates.
  constexpr int fresh(dtype t, const shape& s) {
    node v;
    v.o = op::argument;
    v.t = t;
    v.attr = serial_++;
    v.s = s;
    learn_names(s);
    return intern(v);
  }
  constexpr int constant(double x, dtype t) {
    return intern({.o = op::constant, .t = t, .attr = std::bit_cast<std::uint64_t>(x)});
  }
  // the value of extent e: a constant, or a leaf that is read at run time
  constexpr int extent_value(extent_t e, dtype t) {
    if (is_static(e)) return constant(static_cast<double>(e), t);
    require(knows_names(shape{1, {e}}), "tapeless: a named extent is that of an argument", shape{1, {e}});
    return intern({.o = op::extent, .t = t, .attr = static_cast<std::uint64_t>(e)});
  }
  // Registers the extent of a selection, which a run counts.   @pre e is a name
  constexpr void learn_count(extent_t e) {
    const char n = name_of(names(e) & 63);
    require(names_.find(n) < 0, "tapeless: selection: its name is no extent of an argument", shape{1, {e}});
    require(counted_.add(n) >= 0 && counted_.count <= max_counted_names,
            "tapeless: selection: at most eight names of selections in one program", shape{1, {e}});
  }
  // Is e known only after a selection has been made?
  constexpr bool has_data_dependent_rows(extent_t e) const {
    for (extent_t packed = names(e); packed != 0; packed >>= name_bits)
      if (counted_.find(name_of(packed & 63)) >= 0) return true;
    return false;
  }
  // Are there data-dependent rows?
  constexpr bool has_counts() const { return counted_.count > 0; }
  constexpr bool is_constant(int id) const { return nodes[id].o == op::constant; }
  constexpr double value(int id) const { return std::bit_cast<double>(nodes[id].attr); }
  constexpr bool is(int id, double x) const {
    const node& v = nodes[id];
    return v.o == op::constant && std::bit_cast<double>(v.attr) == x;
  }

private:
  // Is v, as a cotangent, zero by construction in places? In an equal node of the user's the zero is an ordinary
  // number.
  constexpr bool has_zeros(const node& v) const {
    if (v.o == op::pad || v.o == op::scatter_add) return true;
    if (v.o != op::where) return false;
    const auto is_zero = [&](int a) { return nodes[a].o == op::constant && nodes[a].attr == 0; };
    return is_zero(v.in[1]) || is_zero(v.in[2]);
  }
  // A leaf of a transform may have selected rows; their name belongs to the selection.
  constexpr void learn_names(const shape& s) {
    for (int i = 0; i < s.rank; ++i)
      for (extent_t packed = names(s.d[i]); packed != 0; packed >>= name_bits)
        if (const char n = name_of(packed & 63); counted_.find(n) < 0)
          require(names_.add(n) >= 0 && names_.count <= max_names,
                  "tapeless: jit(f): at most four named extents in one program", s);
  }
  constexpr bool knows_names(const shape& s) const {
    for (int i = 0; i < s.rank; ++i)
      for (extent_t packed = names(s.d[i]); packed != 0; packed >>= name_bits)
        if (const char n = name_of(packed & 63); names_.find(n) < 0 && counted_.find(n) < 0) return false;
    return true;
  }
  constexpr void require_elements(const node& v) { // for operands
    for (const int k : v.in)
      require(
          k < 0 || takes(v.o, nodes[k].t),
          "tapeless: op(a): bf16, uint8 and int64 are for storage; cast<float>(a) first, or cast<std::int32_t>(a) of integers",
          v.s);
  }
  constexpr void rehash() {
    table_ = vec<int>(table_.size() * 4, -1);
    int* const slot = table_.begin();
    const std::uint32_t mask = static_cast<std::uint32_t>(table_.size() - 1);
    for (int k = 0; k < nodes.size(); ++k) {
      std::uint32_t at = hash(nodes[k]) & mask;
      while (slot[at] >= 0) at = (at + 1) & mask;
      slot[at] = k;
    }
  }

  vec<int> table_{64, -1}; // open addressing over nodes
  std::uint64_t serial_ = 0;
  bool has_storage_ = false; // is any node of a type for storage?
  name_values names_;        // of the arguments
  name_values counted_;      // of selections
};

constexpr bool require(graph& g, bool holds, const char* rule, const shape& a = {}, const shape& b = {}) {
  return g.require(holds, rule, a, b);
}

} // namespace tapeless::detail
