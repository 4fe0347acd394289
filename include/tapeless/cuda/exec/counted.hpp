// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Extents that the device counts. A value has room for all rows that can be counted; those that are there come first, and
// the others are 0. So no kernel mixes rows along a counted axis, and in a result it is the first one.
#pragma once
#include "../../core/extent.hpp"
#include "../../core/shape.hpp"
#include "../../expr/op.hpp"
#include "../../ops/select_node.hpp"
#include "../../plan/ir/step.hpp"

namespace tapeless::cuda {

// The number, among the counted extents of P, of the name of e; -1: none.
template <const auto& P> constexpr int counted_name(extent_t e) {
  for (extent_t packed = detail::names(e); packed != 0; packed >>= detail::name_bits)
    for (int k = 0; k < P.counted; ++k)
      if (P.count[k].name == detail::name_of(packed & 63)) return k;
  return -1;
}

// The number of counted names in e.
template <const auto& P> constexpr int counted_names(extent_t e) {
  int n = 0;
  for (extent_t packed = detail::names(e); packed != 0; packed >>= detail::name_bits)
    for (int k = 0; k < P.counted; ++k) n += P.count[k].name == detail::name_of(packed & 63) ? 1 : 0;
  return n;
}
// Has the block a counted axis that is not its first one?
template <const auto& P> constexpr bool is_across(const detail::slot& q) {
  bool r = false;
  for (int a = 0; a < max_rank; ++a)
    r = r || counted_names<P>(q.stride[a]) > 0 || (a > 0 && a < q.s.rank && counted_names<P>(q.s.d[a]) > 0);
  return r;
}
// Does a kernel step put rows elsewhere, or take those that are not there for zeros that count? An axis that is padded or
// concatenated is static.
template <const auto& P> constexpr bool mixes_counted_rows(const detail::step& s) {
  using detail::op;
  const shape& x = P.slot_[s.slot0].s;
  for (int k = 0; s.o == op::custom_tensor && k <= s.loads;
       ++k) // the user's kernel sees views of all that can be counted
    for (int a = 0; a < max_rank; ++a)
      if (counted_names<P>(P.slot_[s.slot0 + k].s.d[a]) > 0) return true;
  if (const shape& at = P.slot_[s.slot0 + 1].s; s.o == op::gather)
    for (int a = 1; a < at.rank; ++a)
      if (counted_names<P>(at.d[a]) > 0) return true;
  for (int a = 0; a < x.rank; ++a) {
    const bool along = (s.o == op::select && detail::attributes_of_select(s).by_order()) ||
                       (s.o == op::flip && static_cast<int>(s.attr) == a) ||
                       (s.o == op::argmax && ((s.attr >> a) & 1u) != 0);
    if (along && counted_names<P>(x.d[a]) > 0) return true;
  }
  return false;
}
// Within a program a block may be across: places are for all rows that can be counted. But no result is, for the caller sees
// as many as there are.
template <const auto& P> constexpr bool keeps_counted_rows_first() {
  if (P.counted == 0) return true;
  bool kept = !P.counted_rows_join;
  for (int k = 0; k < P.slots; ++k) {
    const detail::slot& q = P.slot_[k];
    kept = kept && counted_names<P>(q.s.d[0]) < 2 &&
           counted_names<P>(q.offset[0]) + counted_names<P>(q.offset[1]) == 0;
  }
  for (int i = 0; i < P.steps; ++i) {
    const detail::step& s = P.step_[i];
    for (int a = 0; a < s.axes; ++a) kept = kept && counted_names<P>(s.loop[a]) < 2;
    kept = kept && (s.fused || !mixes_counted_rows<P>(s));
  }
  for (int k = 0; k < P.results; ++k) kept = kept && !is_across<P>(P.result[k]);
  for (int k = 0; k < P.extents; ++k) kept = kept && counted_names<P>(P.extent[k]) < 2;
  return kept;
}
template <bool Holds>
concept counted_rows_come_first = Holds;

} // namespace tapeless::cuda
