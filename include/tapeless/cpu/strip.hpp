// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// A strip of fused steps: all of them pass over some rows before the next rows come. code_of: a step's kernel as a
// template argument.
#pragma once
#include <algorithm>
#include "chunks.hpp"
#include "unmade_gathers.hpp"

namespace tapeless::cpu {

// Of step s: the dense stores of such results, floating point, that no step reads. Bit mask.
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
    const tapeless::detail::store y(p.store_[s.store0 + k]);
    const location& at = p.slot_[s.slot0 + y.slot].at;
    if (y.k != store_kind::dense || !is_float(y.t) || n * size_of(y.t) < larger_than_caches) continue;
    bool read = at.where != place::result;
    for (int i = 0; i < p.steps && !read; ++i)
      for (int j = 0; j < p.step_[i].loads; ++j) read = read || p.slot_[p.step_[i].slot0 + j].at == at;
    if (!read) mask |= 1u << k;
  }
  return mask;
}

// While the loops of a strip read an operand in cache, the next strip of it comes from memory: of the loops that read it,
// each fetches as much of a row as its work is of theirs, in 1 / 128. Where two strips are too much for a cache near by,
// the last one fetches all.
struct fetched_part {
  index_t from = 0, to = 0;
};
// of step s: instructions of a vector, for a function as many as exp has
template <class Plan> constexpr index_t work_of(const Plan& p, const step& s) {
  using tapeless::detail::op;
  index_t n = 0;
  for (int k = s.code0; k < s.code0 + s.codes; ++k) {
    const op o = tapeless::detail::instruction(p.code[k]).o;
    const bool function = o == op::exp || o == op::log || o == op::tanh || o == op::erf || o == op::sigmoid;
    n += function ? 9 : 1;
  }
  return n;
}
// of load k of step i
template <class Plan> constexpr fetched_part fetched_ahead(const Plan& p, int i, int k) {
  using namespace tapeless::detail;
  const slot& q = p.slot_[p.step_[i].slot0 + k];
  int first = i, readers = 0, last = i;
  while (p.step_[first].strip) --first;
  if (!p.step_[first].fused || q.at.where == place::strip || !is_float(q.t) || q.stride[0] == 0 ||
      q.stride[p.step_[i].axes - 1] != 1)
    return {};
  index_t before = 0, mine = 0, all = 0;
  for (int j = first; j == first || (j < p.steps && p.step_[j].strip); ++j) {
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
  if (readers < 2) return {};
  index_t row = 1;
  for (int a = 1; a < p.step_[first].axes; ++a) row *= p.step_[first].loop[a];
  if (row > strip_grain) return {0, i == last ? 128 : 0};
  return {128 * before / all, 128 * (before + mine) / all};
}

template <const auto& P, int I> constexpr auto code_of() {
  constexpr step s = P.step_[I];
  fused_code<s.codes, s.konsts, s.stores, s.customs> k;
  for (int i = 0; i < s.codes; ++i) k.code[i] = P.code[s.code0 + i];
  for (int i = 0; i < s.konsts; ++i) k.konst[i] = P.konst[s.konst0 + i];
  for (int i = 0; i < s.stores; ++i) k.store[i] = P.store_[s.store0 + i];
  for (int i = 0; i < s.customs; ++i) k.custom[i] = P.custom[s.custom0 + i];
  k.slots = s.loads + s.stores;
  k.axes = s.axes;
  k.past_caches = stores_past_caches(P, P.step_[I]);
  for (int i = 0; i < s.loads && i < k.most_ahead; ++i) {
    const fetched_part part = fetched_ahead(P, I, i);
    k.ahead_from[i] = static_cast<std::uint8_t>(part.from);
    k.ahead_to[i] = static_cast<std::uint8_t>(part.to);
  }
  return k;
}

template <const auto& P> constexpr int steps_of_strip(int first) {
  int n = 1;
  while (first + n < P.steps && P.step_[first + n].strip) ++n;
  return n;
}
template <const auto& P, int I> using lanes_of_step = std::conditional_t<P.step_[I].wide, double, float>;
template <const auto& P, int I> using stores_of_step = stores_of<code_of<P, I>(), lanes_of_step<P, I>>;

// The rows at hand.
struct strip_rows {
  index_t lo, hi, chunk;
  bool past_first;    // of its chunk
  std::byte* scratch; // of the member that is at it
  index_t strip = 0;  // from one strip to the next
};
// Where operand or result k of step I has row 0.
template <const auto& P, int I> void* base_of(const frame<P>& f, int k, const strip_rows& r) {
  const tapeless::detail::slot& q = P.slot_[P.step_[I].slot0 + k];
  const frame_slot& s = f.step[I].slot[k];
  if (q.at.where != tapeless::detail::place::strip) return s.data();
  return before(r.scratch + q.at.offset, r.lo * s.stride[0] * tapeless::detail::size_of(q.t));
}

// Arch is in the name, so that objects built with other flags do not clash.
template <class Arch, const auto& P> struct strip {
  template <int I> [[gnu::always_inline]] static inline void run_rows(const frame<P>& f,
                                                                      const strip_rows& r) {
    constexpr step s = P.step_[I];
    const frame_step& g = f.step[I];
    void* base[s.loads + s.stores];
    for (int k = 0; k < s.loads + s.stores; ++k) base[k] = base_of<P, I>(f, k, r);
    if constexpr (s.partials > 0) stores_of_step<P, I>::redirect(g, r.chunk, base);
    using kernel = fused_kernel<code_of<P, I>(), simd<lanes_of_step<P, I>>>;
    const auto loop = loop_of<P, listed_loads_of<P>(I)>(f, kernel{});
    loop.run({base, g.slot, g.loop, g.extent, r.strip}, r.lo, r.hi, r.past_first);
  }
  // The strip that begins with step First. Chunks are strips, or of many of them where sums pass over rows.
  // each: bytes of a member's scratch
  template <int First, class Team, int... K> [[gnu::always_inline]] static inline void run(
      const Team& team, const frame<P>& f, index_t each, std::integer_sequence<int, K...>) {
    constexpr bool sums = ((P.step_[First + K].partials > 0) || ...);
    const index_t rows = f.step[First].loop[0];
    if (rows == 0) {
      if constexpr (sums) (stores_of_step<P, First + K>::clear(f.step[First + K]), ...);
      return;
    }
    index_t row = 1;
    for (int a = 1; a < P.step_[First].axes; ++a) row *= f.step[First].loop[a];
    const index_t size = tapeless::detail::strip_size(row), chunk = sums ? f.step[First].chunk : size;
    const index_t chunks = (rows + chunk - 1) / chunk;
    team.run(chunks, [&](index_t c, int member) {
      const index_t begin = c * chunk, end = std::min(rows, begin + chunk);
      std::byte* const mine = f.scratch + member * each;
      for (index_t lo = begin; lo < end; lo += size) {
        const strip_rows r{lo, std::min(end, lo + size), c, lo > begin, mine, size};
        (run_rows<First + K>(f, r), ...);
      }
    });
    if constexpr (sums) (stores_of_step<P, First + K>::combine(f.step[First + K], chunks), ...);
  }
};

} // namespace tapeless::cpu
