// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// strided_view: how a fused loop reads a node. The views (expand, transpose, slice, reshape) are followed down to a
// dense block, with a stride for each axis.
//   element (i_0, i_1, ..) of the node = block[offset[0] + offset[1] + sum_a i_a * stride_a]
#pragma once
#include "../../expr/program.hpp" // IWYU pragma: export
#include "../../ops/all.hpp"      // IWYU pragma: export

namespace tapeless::detail {

struct strided_view {
  int root = no_node;          // the node with the dense block: an argument, or stored
  extent_t offset[2]{};        // a sum of two monomials with different named extents
  extent_t stride[max_rank]{}; // for each axis of the node that is read
};

constexpr void add_offset(strided_view& v, extent_t d) {
  if (d == 0) return;
  for (extent_t& o : v.offset)
    if (o == 0 || names(o) == names(d)) {
      o += o == 0 ? d : coefficient(d);
      return;
    }
  misuse(
      "tapeless: slice<axis, begin, end>(a): at most two different products of named extents in one offset");
}

// The strides of `outer` from those of `inner`. Both have the same axes but for those of extent 1.
constexpr void unsqueeze(const shape& inner, const extent_t (&si)[max_rank], const shape& outer,
                         extent_t (&so)[max_rank]) {
  int k = 0;
  for (int i = 0; i < outer.rank; ++i) {
    so[i] = 0;
    if (outer.d[i] == 1) continue;
    while (inner.d[k] == 1) ++k;
    so[i] = si[k++];
  }
}

constexpr strided_view strides_through_views(const node* nodes, int x) {
  const node& v = nodes[x];
  strided_view r;
  if (rule(v.o).k != kind::view) {
    r.root = x;
    strides(v.s, r.stride);
    return r;
  }
  const strided_view a = strides_through_views(nodes, v.in[0]);
  const shape& s = nodes[v.in[0]].s;
  r.root = a.root;
  r.offset[0] = a.offset[0];
  r.offset[1] = a.offset[1];
  switch (v.o) {
    case op::expand:
      for (int i = 0; i < v.s.rank; ++i) {
        const int k = i - (v.s.rank - s.rank);
        r.stride[i] = k < 0 || s.d[k] == 1 ? 0 : a.stride[k];
      }
      break;
    case op::transpose:
      for (int i = 0; i < v.s.rank; ++i) r.stride[i] = a.stride[perm_axis(v.attr, i)];
      break;
    case op::slice: {
      const int axis = static_cast<int>(v.attr);
      for (int i = 0; i < v.s.rank; ++i) r.stride[i] = a.stride[i];
      add_offset(r, times(static_cast<extent_t>(v.attr2), a.stride[axis]));
      break;
    }
    default: // reshape, checked_index
      if (squeezed(v.s) == squeezed(s)) unsqueeze(s, a.stride, v.s, r.stride);
      else strides(v.s, r.stride); // the operand is dense: see ops/shape.hpp
      break;
  }
  return r;
}

} // namespace tapeless::detail
