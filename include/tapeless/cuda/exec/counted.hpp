// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Extents that the device counts. A value has room for all rows that can be counted; those that are there come first, and
// the others are 0. So a counted extent is that of the first axis, and no kernel mixes rows along it.
#pragma once
#include "../../core/extent.hpp"
#include "../../core/shape.hpp"
#include "../../expr/op.hpp"
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
template <const auto& P> constexpr bool has_counted_rows(const shape& s) {
  return s.rank > 0 && counted_names<P>(s.d[0]) > 0;
}
// Do the rows that are there come first in this block?
template <const auto& P> constexpr bool has_rows_first(const detail::slot& q) {
  bool r =
      counted_names<P>(q.s.d[0]) < 2 && counted_names<P>(q.offset[0]) + counted_names<P>(q.offset[1]) == 0;
  for (int a = 0; a < max_rank; ++a)
    r = r && counted_names<P>(q.stride[a]) == 0 &&
        (a == 0 || a >= q.s.rank || counted_names<P>(q.s.d[a]) == 0);
  return r;
}
// Does a kernel step put rows elsewhere, or read those that are not there as if they were? An axis that is padded or
// concatenated is static.
template <const auto& P> constexpr bool mixes_counted_rows(const detail::step& s) {
  using detail::op;
  const bool mixes =
      s.o == op::select || (s.o == op::flip && s.attr == 0) || (s.o == op::argmax && (s.attr & 1u) != 0);
  return mixes && has_counted_rows<P>(P.slot_[s.slot0].s);
}
template <const auto& P> constexpr bool keeps_counted_rows_first() {
  if (P.counted == 0) return true;
  for (int i = 0; i < P.steps; ++i) {
    const detail::step& s = P.step_[i];
    for (int a = 0; a < s.axes; ++a)
      if (counted_names<P>(s.loop[a]) > 1) return false;
    if (!s.fused && mixes_counted_rows<P>(s)) return false;
  }
  for (int k = 0; k < P.slots; ++k)
    if (!has_rows_first<P>(P.slot_[k])) return false;
  for (int k = 0; k < P.extents; ++k)
    if (counted_names<P>(P.extent[k]) > 1) return false;
  return true;
}
template <const auto& P>
concept counted_rows_come_first = keeps_counted_rows_first<P>();

} // namespace tapeless::cuda
