// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// A fused step as chunks of its outermost axis: one call of the kernel for each, then the sums over the chunks in
// their order. The cut depends on extents alone, so results do not depend on the number of threads.
#pragma once
#include <algorithm>
#include "../../plan/ir/instruction.hpp"
#include "../base/operand.hpp"
#include "../base/team.hpp"
#include "lanes.hpp"
#include "loop.hpp"

namespace tapeless::cpu {

// y = combination of `chunks` partial results of n elements each, in the order of the chunks
template <class T> void combine_partials(int f, const T* partial, index_t chunks, index_t n, T* y) {
  for (index_t i = 0; i < n; ++i) {
    T x = partial[i];
    for (index_t k = 1; k < chunks; ++k) x = joined(f, x, partial[k * n + i]);
    y[i] = x;
  }
}

// What a fused step stores if it is cut into chunks.
template <auto Code, class T> struct stores_of {
  static constexpr int slots = Code.slots;
  static constexpr detail::store at(int k) { return detail::store(Code.store[k]); }
  static T* partial(const frame_step& f, int part) { return static_cast<T*>(f.slot[slots + part].data()); }
  static index_t size(const frame_step& f, int part) {
    return product(f.slot[slots + part].s, 0, f.slot[slots + part].s.rank);
  }
  // base: where the stores of chunk `chunk` go
  static void redirect(const frame_step& f, index_t chunk, void** base) {
    int part = 0;
    for (int k = 0; k < Code.stores; ++k)
      if (at(k).has_partials) {
        base[at(k).slot] = partial(f, part) + chunk * size(f, part);
        ++part;
      }
  }
  static constexpr int carries() {
    int n = 0;
    for (int k = 0; k < Code.stores; ++k) n += at(k).carries;
    return n;
  }
  // Where the carrying sums of a chunk keep what they carry.
  struct carried {
    void* of[carries() > 0 ? carries() : 1];
    carried(const frame_step& f, index_t chunk) {
      int n = slots;
      for (int k = 0; k < Code.stores; ++k) n += at(k).has_partials;
      for (int k = 0; k < carries(); ++k) {
        const frame_slot& s = f.slot[n + k];
        of[k] = static_cast<T*>(s.data()) + chunk * 2 * s.s.d[0];
      }
    }
  };
  // The result of no terms.
  static constexpr T identity(int k) { return neutral<T>(at(k).f); }
  // Chunk `chunk` visits nothing.
  static void clear_partial(const frame_step& f, index_t chunk) {
    void* base[slots];
    redirect(f, chunk, base);
    for (int k = 0, part = 0; k < Code.stores; ++k)
      if (at(k).has_partials) std::fill_n(static_cast<T*>(base[at(k).slot]), size(f, part++), identity(k));
  }
  static void combine(const frame_step& f, index_t chunks) {
    int part = 0;
    for (int k = 0; k < Code.stores; ++k)
      if (at(k).has_partials) {
        combine_partials(at(k).f, partial(f, part), chunks, size(f, part),
                         static_cast<T*>(f.slot[at(k).slot].data()));
        ++part;
      }
  }
  // Nothing is visited. Maxima are -infinity, which only selected rows allow.
  static void clear(const frame_step& f) {
    for (int k = 0; k < Code.stores; ++k) {
      if (at(k).k == store_kind::dense) continue;
      index_t n = 1;
      for (int a = 0; a < Code.axes; ++a)
        if (!((at(k).reduced >> a) & 1u)) n *= f.loop[a];
      std::fill_n(static_cast<T*>(f.slot[at(k).slot].data()), n, identity(k));
    }
  }
};

// One fused step: its chunks, then the sums over chunks. The number of chunks is known at bind.
// loop.run(arguments, lo, hi): indices [lo, hi) of the outermost axis, as fused_kernel::run; loop.finish as its finish
// before(lo, hi, member, base) runs ahead of rows [lo, hi): the kernel step whose epilogue this is. It may move the
// bases of slots.   @pre f.chunks > 1 where it does anything
template <auto Code, class T, class Team, class Loop, class Before>
void run_fused(const Team& team, const frame_step& f, const Loop& loop, const Before& before) {
  using stores = stores_of<Code, T>;
  if (f.empty) return stores::clear(f);
  fused_arguments all{nullptr, f.slot, f.loop, f.extent};
  const auto run = [&](fused_arguments& a, index_t chunk, index_t lo, index_t hi) {
    if constexpr (stores::carries() == 0) loop.run(a, lo, hi);
    else {
      const typename stores::carried carry(f, chunk);
      a.carry = carry.of;
      loop.run(a, lo, hi);
      a.done = hi - lo;
      loop.finish(a);
    }
  };
  if (f.chunks == 1) return run(all, 0, 0, f.loop[0]);
  team.run(f.chunks, [&](index_t chunk, int member) {
    void* base[Code.slots];
    for (int k = 0; k < Code.slots; ++k) base[k] = f.slot[k].data();
    stores::redirect(f, chunk, base);
    fused_arguments a = all;
    a.base = base;
    const index_t lo = chunk * f.chunk, hi = lo + f.chunk < f.loop[0] ? lo + f.chunk : f.loop[0];
    before(lo, hi, member, base);
    run(a, chunk, lo, hi);
  });
  stores::combine(f, f.chunks);
}

} // namespace tapeless::cpu
