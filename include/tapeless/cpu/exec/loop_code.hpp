// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// code_of: a loop's instructions as a template argument. It also says which stores go past the caches, and which operands
// are prefetched.
#include <algorithm>
#include "../../ops/all.hpp"
#include "../../plan/ir/step.hpp"
#include "../base/simd.hpp"
#include "../fused/lanes.hpp"
#include "liveness.hpp"
#include "recycled_slots.hpp"

namespace tapeless::cpu {

// The dense floating-point results of step s that are too large for the caches and that no step reads, as a bit mask.
template <class Plan> constexpr unsigned stores_past_caches(const Plan& p, const step& s) {
  using namespace tapeless::detail;
  index_t n = 1;
  for (int a = 0; a < s.axes; ++a) {
    if (!is_static(s.loop[a])) return 0;
    n *= s.loop[a];
  }
  unsigned mask = 0;
  if (n < larger_than_caches / 8) return mask;
  for (int k = 0; k < s.stores; ++k) {
    const detail::store y(p.store_[s.store0 + k]);
    const location& at = p.slot_[s.slot0 + y.slot].at;
    if (y.k != store_kind::dense || y.t != (s.wide ? dtype::f64 : dtype::f32) ||
        n * size_of(y.t) < larger_than_caches)
      continue;
    bool read = at.where != place::result;
    for (int i = 0; i < p.steps && !read; ++i)
      for (int j = 0; j < p.step_[i].loads; ++j) read = read || p.slot_[p.step_[i].slot0 + j].at == at;
    if (!read) mask |= 1u << k;
  }
  return mask;
}

// The loops of a sweep prefetch the next block of an operand while they read the current block. Each loop that reads
// the operand prefetches a share in proportion to its work, in 1/128. If two blocks are too large for the nearest
// caches, the last loop prefetches all.
struct fetched_part {
  index_t from = 0, to = 0;
};
// Instructions for a vector of step s; a function counts as exp.
template <class Plan> constexpr index_t work_of(const Plan& p, const step& s) {
  index_t n = 0;
  for (int k = s.code0; k < s.code0 + s.codes; ++k)
    n += detail::rule(detail::instruction(p.code[k]).o).facts.slow ? 9 : 1;
  return n;
}
// The share of load k of step i.
template <class Plan> constexpr fetched_part fetched_ahead(const Plan& p, int i, int k) {
  using namespace tapeless::detail;
  const slot& q = p.slot_[p.step_[i].slot0 + k];
  int first = i, readers = 0, last = i;
  while (p.step_[first].sweep) --first;
  if (is_sparse(p.step_[first].o) || q.at.where == place::sweep || !is_float(q.t) || q.stride[0] == 0 ||
      q.stride[p.step_[i].axes - 1] != 1)
    return {};
  index_t before = 0, mine = 0, all = 0;
  bool images = false;
  for (int j = first; j == first || (j < p.steps && p.step_[j].sweep); ++j) {
    images = images || is_batch_tiled(p.step_[j].o);
    if (!p.step_[j].fused) continue;
    bool reads = false;
    for (int l = 0; l < p.step_[j].loads; ++l) reads = reads || p.slot_[p.step_[j].slot0 + l].at == q.at;
    if (!reads) continue;
    ++readers;
    last = j;
    const index_t work = work_of(p, p.step_[j]);
    if (j < i) before += work;
    if (j == i) mine = work;
    all += work;
  }
  if (readers < 2 && !images) return {};
  index_t row = 1;
  for (int a = 1; a < p.step_[first].axes; ++a) row *= p.step_[first].loop[a];
  if (row > sweep_grain) return {0, i == last ? 128 : 0};
  return {128 * before / all, 128 * (before + mine) / all};
}

template <const auto& P, int I> constexpr auto code_of() {
  constexpr step s = P.step_[I];
  fused_code<s.codes, s.constants, s.stores, s.customs> k;
  for (int i = 0; i < s.codes; ++i) k.code[i] = P.code[s.code0 + i];
  for (int i = 0; i < s.constants; ++i) k.constant[i] = P.constant[s.constant0 + i];
  for (int i = 0; i < s.stores; ++i) k.store[i] = P.store_[s.store0 + i];
  for (int i = 0; i < s.customs; ++i) k.custom[i] = P.custom[s.custom0 + i];
  k.slots = s.loads + s.stores;
  k.axes = s.axes;
  k.past_caches = stores_past_caches(P, P.step_[I]);
  for (int i = 0; i < s.loads && i < k.most_ahead; ++i) {
    if constexpr (has_recycled_slots<P>)
      if (recycled_slots_of<P>.moved[s.slot0 + i]) continue; // the next row in memory is not the next row
    const fetched_part part = fetched_ahead(P, I, i);
    k.ahead_from[i] = static_cast<std::uint8_t>(part.from);
    k.ahead_to[i] = static_cast<std::uint8_t>(part.to);
  }
  return k;
}

} // namespace tapeless::cpu
