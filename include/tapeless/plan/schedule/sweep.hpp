// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Steps that run together, some rows of their outermost axis at a time. The rows that they pass on stay in cache.
//   sweep        consecutive fused steps over the same rows, each of which reads only the current row of the others
//   batch tiles  a sweep with convolutions or pools, whose rows are images (batch_tiles.hpp)
//   CSR sweep    a sweep that a product with a sparse matrix opens; further products with it may join (csr_sweeps.hpp)
//   epilogue     a fused step behind a matmul or convolution whose result it reads row by row
#pragma once
#include "../../core/csr_tiles.hpp"
#include "../../core/vec.hpp"
#include "../../expr/node.hpp"
#include "../analysis/batch_tiles.hpp"
#include "../ir/step.hpp"
#include "csr_sweeps.hpp"
#include "loop_nodes.hpp"
#include "order_groups.hpp"

namespace tapeless::detail {

inline constexpr int sweep_steps = 8; // rows of a longer sweep would leave the cache
// at least, of a row and of the tensor: shorter rows and smaller tensors gain nothing
inline constexpr extent_t sweep_row = 64, sweep_elements = 1 << 16;

constexpr bool rows_worth_a_sweep(const shape& it) {
  const extent_t row = row_of(it);
  return row >= sweep_row && (!is_static(it.d[0]) || it.d[0] * row >= sweep_elements);
}

// Does a loop over `it` read only row i of y through x, at index i of its outermost axis?
constexpr bool reads_own_row(const slot& x, const slot& y, const shape& it) {
  extent_t last = 0; // of a row
  for (int a = 1; a < it.rank; ++a) {
    if (!is_static(x.stride[a])) return false;
    last += (it.d[a] - 1) * x.stride[a];
  }
  return x.stride[0] == y.stride[0] && x.offset[0] == 0 && x.offset[1] == 0 && last < x.stride[0];
}

// The sweep that is open while steps are made.
// A value that only its steps read has no buffer: each member of the team keeps the current rows in its scratch.
// Which values these are is known when the sweep ends. Until then the place of any value that its steps store is
// `unsettled`.
struct sweep {
  plan_rules may{};
  extent_t rows = 0;        // its outermost extent; 0: none is open
  int begin = 0;            // its first step
  extent_t row = 1;         // elements of a row of the first step; of batch tiles the most of a step
  int pattern = no_node;    // of the matrix, where it is a CSR sweep
  int first_group = 0;      // of a CSR sweep
  int mask_room = 0;        // slots for its masks, behind those of its first step
  bool batch_tiles = false; // its rows are images
  struct value {
    int node, group, last;          // the group that stores it, and the last one that reads it
    extent_t offset = 0, bytes = 0; // of its scratch
  };
  vec<value> values;
  struct traffic { // of a slot that may be in memory in the end
    int slot;
    shape visited;
    bool adjoint;
  };
  vec<traffic> slots;

  static constexpr location unsettled(int node) { return {place::sweep, node, -1}; }
  static constexpr bool is_unsettled(const location& l) { return l.where == place::sweep && l.offset < 0; }

  // Is there room for a step behind `steps`, and for `more` behind that?
  constexpr bool has_room(int steps, int more = 0) const {
    return may.sweeps && rows != 0 && steps - begin + more < (batch_tiles ? batch_sweep_steps : sweep_steps);
  }

  // Does the loop of a group over `it` allow it to join? If it does, no buffer is freed: an earlier step may still read
  // other rows of it.
  constexpr bool takes(const shape& it, int steps) const {
    if (!has_room(steps)) return false;
    // wider rows leave the cache
    return is_loop_over_rows(it, rows, pattern >= 0 ? widest_row : longest_row * row);
  }
  // Does the matrix of a sparse op allow it to take part?
  constexpr bool takes_product(const node* nodes, int i, int steps) const {
    return has_room(steps) && pattern == nodes[i].in[0] && opens_csr_sweep(nodes, i);
  }
  // Does step s, the last of r, read only the current rows of what earlier steps of the sweep write?
  // it: the loop, of a fused step
  template <class Plan> constexpr bool joins(const Plan& r, const step& s, const shape& it) const {
    if (!may.sweeps || rows == 0) return false;
    for (int k = s.slot0; k < s.slot0 + s.loads; ++k)
      for (int w = begin; w + 1 < r.steps; ++w) {
        const step& before = r.step_[w];
        for (int y = before.slot0 + before.loads; y < before.slot0 + before.loads + before.stores; ++y) {
          const slot &read = r.slot_[k], &made = r.slot_[y];
          if (read.at == made.at && !(s.fused ? reads_own_row(read, made, it)
                                              : read.stride[0] > 0 && read.stride[0] == made.stride[0]))
            return false;
        }
      }
    return true;
  }
  // May a convolution or pool over n images take part? One that makes images needs room for their reader, too.
  constexpr bool takes_batch(op o, extent_t n, int steps) const {
    return n == rows && pattern < 0 && has_room(steps, writes_batch_rows(o) ? 1 : 0);
  }
  constexpr void join_batch(const batch_tiling& of) {
    row = batch_tiles && row > of.row ? row : of.row;
    batch_tiles = true;
  }
  // The number of rows that pass together.
  constexpr extent_t at_once() const { return batch_tiles ? images_of_tile(row) : sweep_size(row); }

  // The last of `steps` has not joined. It may begin a new sweep, over n rows; n == 0: it may not.
  constexpr void open(extent_t n, int steps) {
    rows = n;
    begin = steps - 1;
    row = 1;
    pattern = no_node;
    batch_tiles = false;
  }
  constexpr void open_batch(const batch_tiling& of, int steps) {
    open(of.n, steps);
    join_batch(of);
  }
  constexpr void open_csr_sweep(const node* nodes, int i, int group, int steps, int room) {
    open(opens_csr_sweep(nodes, i) ? nodes[nodes[i].in[0]].s.d[0] : 0, steps);
    pattern = nodes[i].in[0];
    mask_room = room;
    first_group = group;
  }
  constexpr void open_loop(const step& s, const shape& it, int steps) {
    const bool opens = !s.epilogue && s.axes > 1 && s.loop[0] == it.d[0] && rows_worth_a_sweep(it);
    open(opens ? s.loop[0] : 0, steps);
    if (opens) row = row_of(it);
  }
  // The sweep has ended before `group`: act(value, place in scratch or none) for what the groups before it store.
  // Two values share a place where one is read last before the other is written.   -> bytes of scratch
  template <class F> constexpr extent_t settle(const node* nodes, int group, F act) {
    arena_part scratch;
    int kept = 0;
    for (int k = 0; k < values.size(); ++k) {
      value& v = values[k];
      if (v.group == group) {
        values[kept++] = v;
        continue;
      }
      location within;
      if (v.last < group) {
        for (int j = kept; j < k; ++j)
          if (values[j].last < v.group && values[j].bytes != 0) {
            scratch.give(values[j].offset, values[j].bytes);
            values[j].bytes = 0;
          }
        const extent_t of_row =
            coefficient(numel(nodes[v.node].s)) / coefficient(rows) * size_of(nodes[v.node].t);
        const extent_t together = pattern < 0                     ? at_once()
                                  : nodes[pattern].o == op::tiles ? most_rows_of_tile
                                                                  : room_of_csr_sweep_rows;
        v.bytes = aligned(together * of_row);
        v.offset = scratch.take(v.bytes);
        within = {place::sweep, 0, v.offset};
      }
      act(v, within);
    }
    values.truncate(kept);
    return scratch.top;
  }
};

// Is s an epilogue? It follows a matmul or convolution and reads its result row by row: rows are finished chunk by
// chunk, while the chunk is in cache.
template <class Plan> constexpr bool is_epilogue(const Plan& r, const node* nodes, const vec<location>& home,
                                                 const step& s, const shape& it) {
  if (r.steps < 2) return false;
  const step& w = r.step_[r.steps - 2];
  const bool by_rows =
      leads_an_epilogue(w.o) && (w.o != op::matmul || (nodes[w.node].s.rank == 2 && (w.attr & 1u) == 0));
  if (w.fused || !by_rows || w.axes > 0) return false; // axes > 0: batch tiles, which are a sweep
  const shape& out = nodes[w.node].s;
  if (!(squeezed(out) == it) || out.d[0] == 1 || it.rank < 2) return false;
  extent_t row = 1;
  for (int a = 1; a < out.rank; ++a) row = times(row, out.d[a]);
  bool reads = false;
  for (int k = 0; k < s.loads; ++k) {
    const slot& q = r.slot_[s.slot0 + k];
    if (!(q.at == home[w.node])) continue;
    if (q.stride[0] != row || q.offset[0] != 0 || q.offset[1] != 0) return false;
    reads = true;
  }
  return reads;
}

} // namespace tapeless::detail
