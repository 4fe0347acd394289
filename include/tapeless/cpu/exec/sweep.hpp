// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// A sweep: some rows go through all steps before the next rows. Steps are loops, or convolutions and pools whose rows are
// images.
#pragma once
#include <algorithm>
#include "../../core/dtype.hpp"
#include "../../plan/ir/kernel_extents.hpp"
#include "../../plan/ir/step.hpp"
#include "../conv/steps.hpp"
#include "../fused/chunks.hpp"
#include "../fused/lanes.hpp"
#include "../fused/loop.hpp"
#include "../matmul/small.hpp"
#include "dispatch.hpp"
#include "extents.hpp"
#include "frame.hpp"
#include "indexed_loops.hpp"
#include "kernel_choice.hpp"
#include "kernel_step.hpp"
#include "loop_code.hpp"
#include "recycled_slots.hpp"

namespace tapeless::cpu {

template <const auto& P> constexpr int steps_of_sweep(int first) {
  int n = 1;
  while (first + n < P.steps && P.step_[first + n].sweep) ++n;
  return n;
}
template <const auto& P, int I> using lanes_of_step = std::conditional_t<P.step_[I].wide, double, float>;
template <const auto& P, int I> using stores_of_step = stores_of<code_of<P, I>(), lanes_of_step<P, I>>;

// The rows that a sweep is at.
struct sweep_rows {
  index_t lo, hi, chunk;
  index_t done;       // rows of its chunk before lo
  std::byte* scratch; // of the member that runs them
  index_t sweep = 0;  // rows from one block to the next
  index_t place = lo; // the row in recycled slots
};
// The address of row 0 of operand or result k of step I.
template <const auto& P, int I> void* base_of(const frame<P>& f, int k, const sweep_rows& r) {
  const detail::slot& q = P.slot_[P.step_[I].slot0 + k];
  const frame_slot& s = f.step[I].slot[k];
  if constexpr (has_recycled_slots<P>)
    if (recycled_slots_of<P>.moved[P.step_[I].slot0 + k])
      return before(s.data(), (r.lo - r.place) * s.stride[0] * detail::size_of(q.t));
  if (q.at.where != detail::place::sweep) return s.data();
  return before(r.scratch + q.at.offset, r.lo * s.stride[0] * detail::size_of(q.t));
}

// The sums of a chunk of fused step I, if r.done > 0 rows of it have been visited.
template <const auto& P, int I> void finish_fused_rows(const frame<P>& f, const sweep_rows& r) {
  constexpr step s = P.step_[I];
  if constexpr (s.fused && s.carries > 0) {
    using stores = stores_of_step<P, I>;
    const frame_step& g = f.step[I];
    void* base[s.loads + s.stores];
    for (int k = 0; k < s.loads + s.stores; ++k) base[k] = base_of<P, I>(f, k, r);
    if constexpr (s.partials > 0) stores::redirect(g, r.chunk, base);
    const typename stores::carried carry(g, r.chunk);
    if (r.done > 0)
      fused_kernel<code_of<P, I>(), simd<lanes_of_step<P, I>>>::finish(
          {base, g.slot, g.loop, g.extent, 0, r.done, carry.of});
  }
}

// The convolutions and pools of a sweep: a batch sweep.
template <class Arch, const auto& P> struct batch_sweep {
  using kernels = kernel_steps<Arch>;
  // Bytes of a member's weight gradients over the images that it is at, in step i.
  static constexpr index_t sums(int i) {
    const step& s = P.step_[i];
    const detail::slot& y = P.slot_[s.slot0 + s.loads];
    return s.o == op::conv_wgrad ? detail::aligned(product(y.s, 0, y.s.rank) * kernels::scratch_unit(s)) : 0;
  }
  template <int I> using element = typename kernels::template element_of<P, I>;
  template <int I> static element<I>* chunk_sums(const frame<P>& f, index_t chunk) {
    const frame_slot& all = f.slot[P.step_[I].partial0];
    return static_cast<element<I>*>(all.data()) + chunk * product(all.s, 0, all.s.rank);
  }
  template <int I> static void run_rows(const frame<P>& f, const sweep_rows& r) {
    using T = element<I>;
    constexpr step s = P.step_[I];
    constexpr scratch_need need = kernels::template need_of<P>(I);
    constexpr bool wgrad = s.o == op::conv_wgrad;
    std::byte* const own = r.scratch + detail::aligned(P.sweep_bytes);
    T* const mine = reinterpret_cast<T*>(own + sums(I));
    const scratch_of_kernel<T> scratch{kernels::template packed_of<P, I>(f), mine, mine + need.each};
    const frame_slot* const slot = f.step[I].slot;
    shape q[3];
    T* at[3];
    indexed_operands indexed = indexed_operands_of<P>(f, I);
    if (indexed.lists.a != nullptr) indexed.lists.a += r.lo;
    if (indexed.lists.b != nullptr) indexed.lists.b += r.lo;
    for (int k = 0; k < 3; ++k) {
      q[k] = slot[k].s;
      at[k] = k < 2 && indexed.from[k] != nullptr ? static_cast<T*>(const_cast<void*>(indexed.from[k]))
                                                  : static_cast<T*>(base_of<P, I>(f, k, r));
      if (slot[k].stride[0] == 0) continue; // weights
      q[k].d[0] = r.hi - r.lo;
      const bool by_list = (k == 0 ? indexed.lists.a : k == 1 ? indexed.lists.b : nullptr) != nullptr;
      if (!by_list) at[k] += r.lo * slot[k].stride[0];
    }
    const bool adds = wgrad && r.done > 0;
    if constexpr (wgrad) at[2] = adds ? reinterpret_cast<T*>(own) : chunk_sums<I>(f, r.chunk);
    conv2d_run<pass_of(s.o), kernels::template kernel_of_step<P, I>(), simd<T>>(
        serial_team{}, conv_of(s, q), at[0], at[1], at[2], scratch, indexed.lists);
    if constexpr (wgrad) {
      T* const lost = chunk_sums<I>(f, detail::max_chunks + r.chunk); // the lost parts of the chunk's sums
      const index_t n = product(q[2], 0, q[2].rank);
      if (adds) add_compensated<simd<T>>(n, at[2], chunk_sums<I>(f, r.chunk), lost);
      else std::fill_n(lost, n, T(0));
    }
  }
  // The rows r of operand or result k of step I. at: its row 0.
  template <int I> static frame_slot rows_of(const frame<P>& f, int k, const sweep_rows& r, void*& at) {
    at = base_of<P, I>(f, k, r);
    frame_slot s = f.step[I].slot[k];
    s.source = &at;
    s.offset = r.lo * s.stride[0] * detail::size_of(P.slot_[P.step_[I].slot0 + k].t);
    s.s.d[0] = r.hi - r.lo;
    return s;
  }
  template <int I> static void run_windows(const frame<P>& f, const sweep_rows& r) {
    if constexpr (is_made_with_positions<P>(I)) return;
    constexpr step s = P.step_[I];
    constexpr int slots = s.loads + s.stores;
    frame_slot slot[slots];
    void* at[slots + 1];
    for (int k = 0; k < slots; ++k) slot[k] = rows_of<I>(f, k, r, at[k]);
    if constexpr (is_made_with_positions<P>(I + 1))
      run_argmax_and_max<element<I>>(serial_team{}, s, slot[0], slot[1], rows_of<I + 1>(f, 1, r, at[slots]));
    else {
      frame_step part;
      part.slot = slot;
      run_kernel<s.o, small_product{}, element<I>>(serial_team{}, s, part, {}, f.names);
    }
  }
  template <int I, class Team> static void combine(const Team& team, const frame<P>& f, index_t chunks) {
    const frame_slot& y = f.step[I].slot[2];
    add_slices<simd<element<I>>>(team, chunks, product(y.s, 0, y.s.rank), chunk_sums<I>(f, 0),
                                 static_cast<element<I>*>(y.data()));
  }
};

// Arch is in the name, so that objects built with other flags do not clash.
template <class Arch, const auto& P> struct sweep {
  using batch = batch_sweep<Arch, P>;
  template <int I> [[gnu::always_inline]] static inline void run_rows(const frame<P>& f,
                                                                      const sweep_rows& r) {
    constexpr step s = P.step_[I];
    if constexpr (is_conv(s.o)) batch::template run_rows<I>(f, r);
    else if constexpr (is_batch_tiled(s.o)) batch::template run_windows<I>(f, r);
    else run_fused_rows<I>(f, r);
  }
  template <int I> [[gnu::always_inline]] static inline void run_fused_rows(const frame<P>& f,
                                                                            const sweep_rows& r) {
    constexpr step s = P.step_[I];
    const frame_step& g = f.step[I];
    void* base[s.loads + s.stores];
    for (int k = 0; k < s.loads + s.stores; ++k) base[k] = base_of<P, I>(f, k, r);
    if constexpr (s.partials > 0) stores_of_step<P, I>::redirect(g, r.chunk, base);
    using kernel = fused_kernel<code_of<P, I>(), simd<lanes_of_step<P, I>>>;
    const auto loop = loop_of<P, indexed_loads_of<P>(I)>(f, kernel{});
    const typename stores_of_step<P, I>::carried carry(g, s.carries > 0 ? r.chunk : 0);
    loop.run({base, g.slot, g.loop, g.extent, r.sweep, r.done, carry.of}, r.lo, r.hi);
  }
  template <int I, class Team> static void combine(const Team& team, const frame<P>& f, index_t chunks) {
    if constexpr (P.step_[I].partials == 0) return;
    else if constexpr (is_conv(P.step_[I].o)) batch::template combine<I>(team, f, chunks);
    else stores_of_step<P, I>::combine(f.step[I], chunks);
  }
  template <int I, class Team> static void pack(const Team& team, const frame<P>& f) {
    if constexpr (is_conv(P.step_[I].o) && !P.step_[I].packs_ahead)
      kernel_steps<Arch>::template pack_step<P, I>(team, f);
  }
  // The batch sweep I... with recycled slots. A block writes to a slot of another block only after the call of
  // take() that freed it.
  template <int... I, class Team> static void run_recycled(const Team& team, const frame<P>& f,
                                                           index_t each) {
    constexpr const recycled_slots<P>& kept = recycled_slots_of<P>;
    using T = typename kernel_steps<Arch>::template element_of<P, kept.select>;
    const recycled_slots_state state = recycled_state<P>(f);
    most_extreme<T> chosen(kept.least, kept.most, static_cast<const T*>(f.step[kept.select].slot[0].data()),
                           state.heap);
    index_t used = 0; // slots handed out so far: at most as many as images seen
    index_t blocks = std::min<index_t>(team.size(), kept.images);
    if constexpr (((P.step_[I].carries > 0) || ...)) // chunk sums of each block
      blocks = std::min<index_t>(blocks, detail::max_chunks);
    team.run(blocks, [&](index_t block, int member) {
      constexpr index_t none = -1;
      index_t place = none; // a free slot
      const index_t end = kept.images * (block + 1) / blocks;
      for (index_t i = kept.images * block / blocks; i < end; ++i) {
        if (place == none) place = __atomic_fetch_add(&used, index_t{1}, __ATOMIC_RELAXED);
        state.place[i] = static_cast<std::int32_t>(place);
        const sweep_rows r{i, i + 1, block, 0, f.scratch + member * each, 1, place};
        (run_rows<I>(f, r), ...);
        const index_t gone = chosen.take(i);
        place = gone < 0 ? none : state.place[gone];
      }
    });
  }
  // The sweep that begins with step First. A chunk is one block of rows, or many blocks where steps sum over rows.
  // each: bytes of a member's scratch
  template <int First, class Team, int... K> [[gnu::always_inline]] static inline void run(
      const Team& team, const frame<P>& f, index_t each, std::integer_sequence<int, K...>) {
    constexpr bool sums = ((P.step_[First + K].partials + P.step_[First + K].carries > 0) || ...);
    constexpr bool in_batch_tiles = (is_batch_tiled(P.step_[First + K].o) || ...);
    const index_t rows = f.step[First].loop[0];
    if constexpr (!in_batch_tiles) // a batch has at least least_batch
      if (rows == 0) {
        if constexpr (sums) (stores_of_step<P, First + K>::clear(f.step[First + K]), ...);
        return;
      }
    (pack<First + K>(team, f), ...);
    if constexpr (has_recycled_slots<P>)
      if constexpr (recycled_slots_of<P>.first == First) return run_recycled<First + K...>(team, f, each);
    constexpr index_t size = P.step_[First].at_once;
    const index_t chunk = sums ? f.step[First].chunk : size;
    const index_t chunks = (rows + chunk - 1) / chunk;
    team.run(chunks, [&](index_t c, int member) {
      const index_t begin = c * chunk, end = std::min(rows, begin + chunk);
      std::byte* const mine = f.scratch + member * each;
      for (index_t lo = begin; lo < end; lo += size) {
        const sweep_rows r{lo, std::min(end, lo + size), c, lo - begin, mine, size};
        (run_rows<First + K>(f, r), ...);
      }
      (finish_fused_rows<P, First + K>(f, {begin, end, c, end - begin, mine}), ...);
    });
    (combine<First + K>(team, f, chunks), ...);
  }
};

} // namespace tapeless::cpu
