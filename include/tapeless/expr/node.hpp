// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// node = op(a, b, c; attributes) : dtype, shape
//
// The meaning of an op is in ops/<family>.hpp: the family whose rule table has the op.
#pragma once
#include <cstdint>
#include "../core/dtype.hpp" // IWYU pragma: export
#include "../core/shape.hpp" // IWYU pragma: export
#include "op.hpp"            // IWYU pragma: export

namespace tapeless::detail {

inline constexpr int op_count = static_cast<int>(op::count_);
inline constexpr int no_node = -1;

struct custom_op; // ops/custom_op.hpp

struct node {
  op o = op::input;
  dtype t = dtype::f32;
  // not part of the node's identity:
  bool adjoint = false;        // made by a vjp, for the cost report
  bool active = false;         // a leaf by which a transform differentiates
  bool is_loss_weight = false; // an argument that is a loss weight (trace/loss_weights.hpp)
  int in[3] = {-1, -1, -1};
  std::uint64_t attr = 0, attr2 = 0;
  const custom_op* custom = nullptr;
  shape s{};
};

// A selection whose extent is a name: each run counts its rows.
constexpr bool has_data_dependent_rows(const node& v) { return v.o == op::select && !is_static(v.s.d[0]); }
// The names of the extents that v has or reads, as a set.
constexpr std::uint64_t names_read(const node& v) {
  std::uint64_t r = v.o == op::extent ? set_of_names(static_cast<extent_t>(v.attr)) : 0;
  for (int a = 0; a < v.s.rank; ++a)
    if (v.s.d[a] >> name_shift != 0) r |= set_of_names(v.s.d[a]);
  return r;
}
constexpr bool is_pattern_leaf(const node& v) { return v.o == op::input && v.attr2 != 0; }
constexpr bool moves_elements(op o) {
  return o == op::copy || o == op::stop_gradient || o == op::expand || o == op::transpose || o == op::slice ||
         o == op::reshape || o == op::pad || o == op::concat || o == op::flip || o == op::gather;
}
// Products too: their sums are float.
constexpr bool takes_bf16(op o) {
  return moves_elements(o) || o == op::widen || o == op::matmul || o == op::conv_fprop ||
         o == op::conv_dgrad || o == op::conv_wgrad || o == op::unfold;
}
// uint8, int64: an index that is cast is checked ahead of the cast. Patterns of sparse matrices have row ends.
constexpr bool takes_stored_integers(op o) {
  return moves_elements(o) || o == op::cast || o == op::checked_index || o == op::pattern;
}
// Does op o take elements of t?
constexpr bool takes(op o, dtype t) {
  return t == dtype::bf16 ? takes_bf16(o) : !is_stored_integer(t) || takes_stored_integers(o);
}
constexpr bool is_custom(op o) { return o == op::custom_elementwise || o == op::custom_tensor; }

constexpr bool equal(const node& x, const node& y) {
  return x.o == y.o && x.in[0] == y.in[0] && x.in[1] == y.in[1] && x.in[2] == y.in[2] && x.attr == y.attr &&
         x.attr2 == y.attr2 && x.t == y.t && x.s == y.s && (!is_custom(x.o) || x.custom == y.custom);
}
constexpr std::uint32_t hash(const node& v) {
  const std::uint64_t h =
      (static_cast<std::uint64_t>(v.o) * 0x9E3779B97F4A7C15u + static_cast<std::uint32_t>(v.in[0])) *
          0xBF58476D1CE4E5B9u +
      (static_cast<std::uint32_t>(v.in[1]) * 0x94D049BB133111EBu ^
       static_cast<std::uint32_t>(v.in[2]) * 0xD6E8FEB86659FD93u) +
      v.attr * 0xA0761D6478BD642Fu;
  return static_cast<std::uint32_t>((h ^ (h >> 29)) * 0x9E3779B97F4A7C15u >> 32);
}

} // namespace tapeless::detail
