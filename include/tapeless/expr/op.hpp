// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The list of ops, grouped by kind. node.hpp says what a node is.
#pragma once
#include <cstdint>

namespace tapeless::detail {

enum class op : std::uint8_t {
  // leaves
  input,    // leaf of the user's arguments; attr: its position, attr2: 1 for the pattern of a sparse matrix
  argument, // fresh argument of a transform, replaced by the actual one afterwards; attr: serial number
  constant, // rank-0 constant; attr: bits of the double
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
  abs,
  sign,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  asinh,
  acosh,
  atanh,
  exp2,
  expm1,
  log1p,
  log2,
  log10,
  rsqrt,
  cbrt,
  floor,
  ceil,
  round,
  softplus,
  erfc,
  erfinv,
  lgamma,
  digamma,
  logical_not,
  copy,
  cast,
  narrow,  // float to bf16
  widen,   // bf16 to float
  convert, // float to double, or back
  stop_gradient,
  // elementwise, two operands
  add,
  sub,
  mul,
  div,
  pow,
  atan2,
  fmod,
  remainder,
  hypot,
  polygamma, // of an order, a constant, and a number
  quotient,  // of int32, as the six below
  modulo,
  bit_and,
  bit_or,
  bit_xor,
  shift_left,
  shift_right,
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
  straight_through, // value of the first, derivatives of the second; compact.hpp removes it
  // elementwise, three operands
  where,
  custom_elementwise,
  // reductions over the axes in attr, which keep extent 1
  sum,
  max_reduce,
  prod,
  // views: no step of their own
  expand,
  transpose,
  slice,
  reshape,
  checked_index,
  pattern,        // of a sparse matrix: its columns and row_end, as one operand
  tiles,          // the same of a matrix in tiles
  three_patterns, // of spgemm, as one operand
  // ops with a kernel of their own
  argmax,
  select, // rows: the positions of the selected elements, ascending; attr, attr2: see select_node.hpp
  pad,
  concat,
  flip,
  cumsum,
  cumprod,
  cummax,
  cumargmax,
  linear_scan,
  gather,
  scatter_add,
  scatter_argmax,
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
  count_ // not an op: the number of ops
};
// elementwise, of two operands
constexpr bool takes_two(op o) { return o >= op::add && o <= op::straight_through; }
// running ops along the axis in attr
constexpr bool is_scan(op o) { return o >= op::cumsum && o <= op::linear_scan; }
constexpr bool is_scatter(op o) { return o == op::scatter_add || o == op::scatter_argmax; }
constexpr bool compares(op o) { return o >= op::eq && o <= op::ge; }

} // namespace tapeless::detail
