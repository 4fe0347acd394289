// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// node = op(a, b, c; attributes) : dtype, shape
//
// The list of ops stands here, grouped by kind. What an op means stands in ops/<family>.hpp: an op belongs to the
// family whose table of rules holds it.
#pragma once
#include <cstdint>
#include "../core/dtype.hpp"
#include "../core/shape.hpp"

namespace tapeless::detail {

enum class op : std::uint8_t {
  // leaves
  input,    // leaf of the user's arguments; attr: its position, attr2: 1 for the pattern of a sparse matrix
  argument, // fresh argument of a transform, replaced by the actual one afterwards; attr: serial number
  konst,    // rank-0 constant; attr: bits of the double
  extent,   // rank-0 value of a named extent; attr: the monomial
  iota,     // row-major position within its shape
  // elementwise, one operand
  neg,
  square,
  sqrt,
  exp,
  log,
  tanh,
  erf,
  sigmoid,
  relu,
  logical_not,
  copy,
  cast,
  narrow, // float to bf16
  widen,  // bf16 to float
  stop_gradient,
  // elementwise, two operands
  add,
  sub,
  mul,
  div,
  pow,
  max,
  min,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  logical_and,
  logical_or,
  straight_through, // value of the first, derivatives of the second; in no program, see trace/trace.hpp
  // elementwise, three operands
  where,
  custom_elementwise,
  // reductions over the axes in attr, which stay as extent 1
  sum,
  max_reduce,
  // views: no step of their own
  expand,
  transpose,
  slice,
  reshape,
  checked_index,
  pattern,        // of a sparse matrix: its columns and row_end, as one operand
  tiles,          // the same of a matrix in tiles
  three_patterns, // of spgemm, as one operand
  // whole-tensor ops
  argmax,
  select, // rows: the positions of what is chosen, ascending; attr, attr2: see ops/select.hpp
  pad,
  concat,
  gather,
  scatter_add,
  matmul,
  conv_fprop,
  conv_dgrad,
  conv_wgrad,
  unfold,
  fold,
  window_max,
  window_argmax,
  window_gather,
  window_scatter,
  window_sum,
  window_spread,
  spmm,
  sddmm,
  sparse_solve,
  spgemm,
  entries_of,
  dense_of,
  custom_tensor,
  count_ // not an op: their number
};
inline constexpr int op_count = static_cast<int>(op::count_);
inline constexpr int no_node = -1;

struct custom_op; // ops/custom.hpp

struct node {
  op o = op::input;
  dtype t = dtype::f32;
  // no part of the node's identity:
  bool adjoint = false; // made by a vjp, for the cost report
  bool active = false;  // a leaf by which a transform differentiates
  bool weighs = false;  // an argument that weighs losses (trace/weights.hpp)
  int in[3] = {-1, -1, -1};
  std::uint64_t attr = 0, attr2 = 0;
  const custom_op* custom = nullptr;
  shape s{};
};

// A selection whose extent is a name, for a run counts it.
constexpr bool is_counted(const node& v) { return v.o == op::select && !is_static(v.s.d[0]); }
// The names of the extents that v has or reads, as a set.
constexpr std::uint64_t names_read(const node& v) {
  std::uint64_t r = v.o == op::extent ? set_of_names(static_cast<extent_t>(v.attr)) : 0;
  for (int a = 0; a < v.s.rank; ++a)
    if (v.s.d[a] >> name_shift != 0) r |= set_of_names(v.s.d[a]);
  return r;
}
constexpr bool is_pattern_leaf(const node& v) { return v.o == op::input && v.attr2 != 0; }
// Ops that move elements, and products, whose sums are float.
constexpr bool takes_bf16(op o) {
  return o == op::widen || o == op::matmul || o == op::conv_fprop || o == op::conv_dgrad ||
         o == op::conv_wgrad || o == op::unfold || o == op::copy || o == op::stop_gradient ||
         o == op::expand || o == op::transpose || o == op::slice || o == op::reshape || o == op::pad ||
         o == op::concat || o == op::gather;
}
constexpr bool is_custom(op o) { return o == op::custom_elementwise || o == op::custom_tensor; }

constexpr bool equal(const node& x, const node& y) {
  return x.o == y.o && x.in[0] == y.in[0] && x.in[1] == y.in[1] && x.in[2] == y.in[2] && x.attr == y.attr &&
         x.attr2 == y.attr2 && x.t == y.t && x.s == y.s && (!is_custom(x.o) || x.custom == y.custom);
}
constexpr std::uint32_t hash(const node& v) {
  std::uint32_t h = static_cast<std::uint32_t>(v.o) * 0x9E3779B1u;
  h = (h ^ static_cast<std::uint32_t>(v.in[0])) * 0x85EBCA6Bu;
  h = (h ^ (h >> 15) ^ static_cast<std::uint32_t>(v.in[1])) * 0xC2B2AE35u;
  h = (h ^ (h >> 13) ^ static_cast<std::uint32_t>(v.in[2])) * 0x27D4EB2Fu;
  h = (h ^ (h >> 16) ^ static_cast<std::uint32_t>(v.attr ^ (v.attr >> 32))) * 0x9E3779B1u;
  return h ^ (h >> 15);
}

} // namespace tapeless::detail
