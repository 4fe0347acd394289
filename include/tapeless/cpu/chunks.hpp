// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// A fused step as chunks of its outermost axis: one call of the kernel for each, then the sums over the chunks in
// their order. The cut depends on extents alone, so results do not depend on the number of threads.
#pragma once
#include "fused.hpp"
#include "team.hpp"

namespace tapeless::cpu {

// y = combination of `chunks` partial results of n elements each, in the order of the chunks
template <class T> void combine_partials(bool is_max, const T* partial, index_t chunks, index_t n, T* y) {
  for (index_t i = 0; i < n; ++i) {
    T x = partial[i];
    for (index_t k = 1; k < chunks; ++k) {
      const T z = partial[k * n + i];
      x = is_max ? (x >= z || x != x ? x : z) : x + z;
    }
    y[i] = x;
  }
}

// One fused step: its chunks, and the sums over chunks. The number of chunks is known at bind.
// before(lo, hi, member) runs ahead of rows [lo, hi): what an epilogue follows.
// @pre f.chunks > 1 where it does anything
template <auto Code, class V, class Team, class Before> void run_fused(const Team& team, const frame_step& f,
                                                                       const Before& before) {
  using kernel = fused_kernel<Code, V>;
  using T = typename V::value_type;
  constexpr int slots = Code.slots;
  const fused_arguments all{nullptr, f.slot, f.loop, f.extent};
  if (f.chunks == 1 && !f.empty) return kernel::run(all, 0, f.loop[0]);
  void* base[slots];
  for (int k = 0; k < slots; ++k) base[k] = f.slot[k].data();
  const auto each_store = [](auto&& act) {
    for (int k = 0; k < Code.stores; ++k) act(tapeless::detail::store(Code.store[k]));
  };
  if (f.empty) { // nothing to visit: sums are 0
    each_store([&](const tapeless::detail::store& y) {
      if (y.k == store_kind::dense) return;
      index_t n = 1;
      for (int a = 0; a < Code.axes; ++a)
        if (!((y.reduced >> a) & 1u)) n *= f.loop[a];
      for (index_t i = 0; i < n; ++i) static_cast<T*>(base[y.slot])[i] = T(0);
    });
    return;
  }
  const auto partial = [&](int k) { return static_cast<T*>(f.slot[slots + k].data()); };
  const auto size = [&](int k) {
    index_t n = 1;
    for (int a = 0; a < f.slot[slots + k].s.rank; ++a) n *= f.slot[slots + k].s.d[a];
    return n;
  };
  team.run(f.chunks, [&](index_t chunk, int member) {
    void* mine[slots];
    for (int k = 0; k < slots; ++k) mine[k] = base[k];
    int part = 0;
    each_store([&](const tapeless::detail::store& y) {
      if (!y.splits) return;
      mine[y.slot] = partial(part) + chunk * size(part);
      ++part;
    });
    fused_arguments a = all;
    a.base = mine;
    const index_t lo = chunk * f.chunk, hi = lo + f.chunk < f.loop[0] ? lo + f.chunk : f.loop[0];
    before(lo, hi, member);
    kernel::run(a, lo, hi);
  });
  int part = 0;
  each_store([&](const tapeless::detail::store& y) {
    if (!y.splits) return;
    combine_partials(y.is_max, partial(part), f.chunks, size(part), static_cast<T*>(base[y.slot]));
    ++part;
  });
}

} // namespace tapeless::cpu
