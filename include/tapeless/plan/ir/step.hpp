// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// plan: the steps of a program, with the place of every buffer and the code of every fused group. All of it is a
// constant. A run adds the pointers of its arguments and the values of named extents.
#pragma once
#include "../../ops/index.hpp"
#include "arena.hpp"       // IWYU pragma: export
#include "cost.hpp"        // IWYU pragma: export
#include "instruction.hpp" // IWYU pragma: export

namespace tapeless::detail {

// The ways of running steps that a back end has. The planner uses no others.
struct plan_rules {
  bool layouts = true;   // images as its cost model likes them, NCHW or NHWC; else all NCHW
  bool sweeps = true;    // steps that pass some rows at a time: loops, batch tiles, CSR sweeps
  bool epilogues = true; // a loop after every few rows of a matmul or convolution
  extent_t chunks = 16;  // of a fused step, each with partial results; 0: the back end keeps these elsewhere
  bool sorts = false;    // columns of sparse matrices, by a step op::pattern; indices of a scatter_add
  bool host_counts =
      true; // the host knows how many rows a selection has before the next step; else they come first in loops
};

enum class place : std::uint8_t { none, input, arena, result, sweep };

// A block of elements: input[index], result[index], arena part `index` at `offset` bytes per unit of the part, or the
// current rows of a sweep at `offset` bytes in the scratch of a team's member.
struct location {
  place where = place::none;
  int index = 0;
  extent_t offset = 0;
  friend constexpr bool operator==(const location&, const location&) = default;
};

// One operand of a step: a block, and how the step's loop walks it.
struct slot {
  location at;
  dtype t = dtype::f32;
  extent_t offset[2]{};        // elements, to be added
  extent_t stride[max_rank]{}; // fused: elements for each loop axis
  shape s{};                   // kernel step: the operand's shape
};

// How a loop of `outer` x `inner` elements is cut for threads and for partial sums. It depends on extents alone.
inline constexpr extent_t chunk_grain = 16384;
inline constexpr extent_t max_chunks = 16;
struct chunking {
  extent_t size, count; // in units of the outermost axis
};
constexpr chunking chunks_of(extent_t outer, extent_t inner, bool vector_axis) {
  if (outer <= 0) return {1, 0};
  extent_t size = inner > 0 ? (chunk_grain + inner - 1) / inner : outer;
  if (const extent_t least = (outer + max_chunks - 1) / max_chunks; size < least) size = least;
  if (vector_axis) size = (size + 63) / 64 * 64;
  if (size < 1) size = 1;
  return {size, (outer + size - 1) / size};
}

// The most terms that a sum adds in one chain.
inline constexpr extent_t short_sum = 40;

// The number of rows, of `row` elements each, that a sweep takes at once.
inline constexpr extent_t sweep_grain = 16384;
constexpr extent_t sweep_size(extent_t row) { return row < sweep_grain ? sweep_grain / row : 1; }

// The most chunks of a sparse matrix's rows, for threads and partial sums. At run time the entries decide how many.
inline constexpr extent_t max_row_chunks = 16, max_row_chunks_of_matrices = 4;
// csr_sweep_rows: a CSR sweep takes at most so many rows at once. mask_block: it reads the masks of so many at once.
inline constexpr extent_t csr_sweep_rows = 1024, mask_block = 1024;
// + 16: so that values do not lie whole pages apart
inline constexpr extent_t room_of_csr_sweep_rows = csr_sweep_rows + 16;

struct step {
  op o = op::copy; // fused groups: op::copy
  bool fused = false, adjoint = false, wide = false;
  bool bf16 = false;           // kernel step: its first operand is
  bool epilogue = false;       // fused: runs row by row with the kernel step before it, see is_epilogue
  bool fuses_producer = false; // an epilogue that alone reads the result of that step
  bool sweep = false;          // runs with the step before it, some rows at a time, see sweep::joins
  bool at_load = false;        // runs when arguments are loaded, not in each run
  bool packs_ahead = false;    // a convolution or matmul whose weights are packed then
  int code0 = 0, codes = 0, constant0 = 0, constants = 0, slot0 = 0, loads = 0, stores = 0, store0 = 0;
  int extent0 = 0, extents = 0, custom0 = 0, customs = 0;
  int partial0 = 0; // slots of partial results, one for each store that has them
  int partials = 0;
  int carries = 0; // slots behind them, one for each store that carries: chains, and what high sums have lost
  // first step of a CSR sweep: slots from slot0 + mask on of its masks. It visits the rows that all masks let pass. Without
  // sweeps: a product A x; in other rows it is 0
  int mask = 0, masks = 0;
  unsigned passes_where_zero = 0; // bit k: mask k lets rows pass where it is 0, not where it is not
  int axes = 0; // fused: loop axes, collapsed; a convolution or pool in batch tiles: images and the rest
  extent_t loop[max_rank]{};
  extent_t at_once = 0; // first step of a sweep, but no CSR sweep: rows that pass together
  std::uint64_t attr = 0, attr2 = 0;
  const custom_op* custom = nullptr;
  int node = no_node; // kernel step: its node; fused: the last node of the group
};

// A named extent that a step counts: at most `most` of `rows` rows.
struct counted_extent {
  char name = 0;
  extent_t most = 0, rows = 0;
};

struct index_check {
  int input = 0;
  extent_t bound = 0, passes = no_index; // passes: a number outside [0, bound) that is valid
};

// An extent that may not be 0, for a maximum is taken of it; or not beyond int32, for such numbers count it.
struct extent_limit {
  extent_t of = 0;
  bool is_int32 = false;
};

// The size of each part of a plan.
struct plan_counts {
  int steps = 0, codes = 0, constants = 0, slots = 0, stores = 0, extents = 0, customs = 0, checks = 0,
      limits = 0, results = 0;
};
// Of a program of n nodes, at most
inline constexpr int most_slots_of_node = 6;
constexpr plan_counts most_of_plan(int n, int results) {
  return {n, 6 * n, 3 * n, most_slots_of_node * n, n, 3 * n, n, n, n, results};
}

// The part of a plan whose size does not depend on the program.
struct plan_facts : plan_counts {
  bool bf16 = false; // is any step?
  int counted = 0;
  bool counted_rows_join = false; // does a reshape join counted rows with an axis ahead of them?
  counted_extent count[max_counted_names]{};
  int parts = 0;
  extent_t part_names[max_parts]{};
  extent_t part_size[max_parts]{}; // bytes per unit
  extent_t sweep_bytes = 0;        // scratch of a team's member for values that live within a sweep
  struct cost cost{};
};

template <plan_counts Room> struct plan : plan_facts {
  // + 1: no array is empty
  step step_[Room.steps + 1]{};
  std::uint64_t code[Room.codes + 1]{};
  std::uint64_t constant[Room.constants + 1]{};
  slot slot_[Room.slots + 1]{};
  std::uint64_t store_[Room.stores + 1]{};
  extent_t extent[Room.extents + 1]{};
  const custom_op* custom[Room.customs + 1]{};
  index_check check[Room.checks + 1]{}; // arguments of integers that are scanned before the first step
  extent_limit limit[Room.limits + 1]{};
  slot result[Room.results + 1]{};

  constexpr plan_counts counts() const { return *this; }
  // The same without unused room: a program keeps its plan at run time.   @pre Used is counts()
  template <plan_counts Used> constexpr plan<Used> trimmed() const {
    plan<Used> r{};
    static_cast<plan_facts&>(r) = *this;
    const auto copy = [](const auto& from, auto& to, int n) {
      for (int i = 0; i < n; ++i) to[i] = from[i];
    };
    copy(step_, r.step_, steps);
    copy(code, r.code, codes);
    copy(constant, r.constant, constants);
    copy(slot_, r.slot_, slots);
    copy(store_, r.store_, stores);
    copy(extent, r.extent, extents);
    copy(custom, r.custom, customs);
    copy(check, r.check, checks);
    copy(limit, r.limit, limits);
    copy(result, r.result, results);
    return r;
  }
};

} // namespace tapeless::detail
