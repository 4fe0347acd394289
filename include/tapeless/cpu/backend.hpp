// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The CPU as a back end: runs the steps of a plan with the kernels of this folder. A step is a direct call with
// constants. Kernels are keyed on their code alone, so equal steps of different layers share one.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include "../core/tensor.hpp"
#include "../expr/node.hpp"
#include "../plan/ir/step.hpp"
#include "base/simd.hpp"
#include "base/thread_team.hpp"
#include "cost_model.hpp"
#include "exec/csr/sweep.hpp"
#include "exec/csr/form.hpp"
#include "exec/frame.hpp"
#include "exec/kernel_step.hpp"
#include "exec/sweep.hpp"
#include "fused/lanes.hpp"
#include "fused/loop.hpp"

namespace tapeless::cpu {

// Arch is in the name of every SIMD kernel that is called here, so objects built with other flags do not clash.
template <team Team, class Arch = simd<float>> struct backend {
  using team_type = Team;
  using kernels = kernel_steps<Arch>;
  using space = host;
  template <const auto& P> using frame_type = frame<P>;

  using cost_model = cpu::cost_model<Arch>;

  // For optimizers: see optim/optimizer.hpp. The last group may have fewer elements.
  template <class T> using lanes = simd<T>;
  template <class T, class F> [[gnu::always_inline]] static void each_group(index_t n, F&& body) {
    using V = simd<T>;
    index_t i = 0;
    for (; i + width<T> <= n; i += width<T>)
      body([i](const T* p) { return load<V>(p + i); }, [i](T* p, const V& v) { store(p + i, v); });
    if (const index_t rest = n - i; rest > 0)
      body([=](const T* p) { return load_n<V>(p + i, rest); },
           [=](T* p, const V& v) { store_n(p + i, v, rest); });
  }

  // Kernel scratch in bytes, for each member and shared. It does not depend on named extents.
  template <const auto& P> static constexpr scratch_need scratch() {
    scratch_need most;
    if constexpr (has_kernel_steps<P>()) { // else no kernel is instantiated
      for (int i = 0; i < P.steps; ++i) {
        if (P.step_[i].fused || is_sparse(P.step_[i].o)) continue;
        scratch_need n = kernels::template need_of<P>(i);
        const bool images = kernels::template is_conv_of_sweep<P>(i);
        if (images) n.each += std::exchange(n.shared, 0); // each member runs it by itself
        else if (kernels::template followed_by_epilogue<P>(i))
          n.each += n.shared; // by each member, or by all of them
        const index_t size = kernels::scratch_unit(P.step_[i]);
        const index_t ahead = images ? detail::aligned(P.sweep_bytes) + batch_sweep<Arch, P>::sums(i) : 0;
        most.each = std::max(most.each, ahead + n.each * size);
        most.shared = std::max(most.shared,
                               kernels::template packed_in_sweep_before<P>(i) + (n.packed + n.shared) * size);
      }
      most.packed = kernels::template packed_before<P>(P.steps);
    }
    most.each = std::max<index_t>(most.each, P.sweep_bytes);
    if constexpr (has_csr_sweeps<P>())
      most.each = std::max(most.each, scratch_of_csr_sweeps<P>(std::make_integer_sequence<int, P.steps>{}));
    most.each = detail::aligned(most.each);
    most.shared = detail::aligned(most.shared);
    return most;
  }

  template <const auto& P, int I> [[gnu::always_inline]] static inline void run_step(const Team& team,
                                                                                     frame<P>& f) {
    if constexpr (!P.step_[I].at_load) execute<P, I>(team, f);
  }
  template <const auto& P, int I> [[gnu::always_inline]] static inline void load_step(const Team& team,
                                                                                      frame<P>& f) {
    if constexpr (P.step_[I].at_load) execute<P, I>(team, f);
    else if constexpr (P.step_[I].packs_ahead) kernels::template pack_step<P, I>(team, f);
  }

private:
  template <const auto& P, int I> [[gnu::always_inline]] static inline void execute(const Team& team,
                                                                                    frame<P>& f) {
    if constexpr (P.step_[I].sweep || is_elided<P>(I) || is_made_with_positions<P>(I))
      return; // run by the first step of the sweep; copies nothing; run by the step before it
    else if constexpr (P.step_[I].o == op::select) {
      constexpr step s = P.step_[I];
      const index_t count = run_select<typename kernels::template element_of<P, I>>(s, f.step[I]);
      if constexpr (has_recycled_slots<P>)
        if (recycled_slots_of<P>.select == I) list_recycled_slots<P>(f, count);
      constexpr auto e = P.slot_[s.slot0 + s.loads].s.d[0];
      if constexpr (!detail::is_static(e)) f.set_count(detail::name_of(detail::names(e)), count);
    } else if constexpr (is_sparse(P.step_[I].o)) csr_sweep<Arch, P, I>::run(team, f, scratch_of_member<P>());
    else if constexpr (I + 1 < P.steps && P.step_[I + 1].sweep)
      sweep<Arch, P>::template run<I>(team, f, scratch_of_member<P>(),
                                      std::make_integer_sequence<int, steps_of_sweep<P>(I)>{});
    else if constexpr (P.step_[I].fused) run_fused_step<P, I>(team, f);
    else if constexpr (!kernels::template followed_by_epilogue<P>(I)) run_kernel_step<P, I>(team, f);
  }
  // evaluated once, at compile time
  template <const auto& P> static constexpr index_t scratch_of_member() {
    constexpr index_t each = scratch<P>().each;
    return each;
  }
  template <const auto& P> static constexpr bool has_csr_sweeps() {
    for (int i = 0; i < P.steps; ++i)
      if (is_sparse(P.step_[i].o)) return true;
    return false;
  }
  template <const auto& P, int I> static constexpr index_t scratch_of_csr_sweep() {
    if constexpr (is_sparse(P.step_[I].o) && !P.step_[I].sweep) return csr_sweep_form<P, I>::scratch();
    else return 0;
  }
  template <const auto& P, int... I> static constexpr index_t scratch_of_csr_sweeps(
      std::integer_sequence<int, I...>) {
    return std::max({index_t{0}, scratch_of_csr_sweep<P, I>()...});
  }
  template <const auto& P> static constexpr bool has_kernel_steps() {
    for (int i = 0; i < P.steps; ++i)
      if (!P.step_[i].fused && !is_sparse(P.step_[i].o)) return true;
    return false;
  }
  template <const auto& P, int I> [[gnu::always_inline]] static inline void run_kernel_step(
      const Team& team, const frame<P>& f) {
    using T = typename kernels::template element_of<P, I>;
    const frame_slot* const slot = f.step[I].slot;
    if constexpr (is_made_with_positions<P>(I + 1))
      run_argmax_and_max<T>(team, P.step_[I], slot[0], slot[1], f.step[I + 1].slot[1]);
    else {
      constexpr auto K = kernels::template kernel_of_step<P, I>();
      constexpr scratch_need need = kernels::template need_of<P>(I);
      if constexpr (!P.step_[I].packs_ahead && !is_small(K)) kernels::template pack_step<P, I>(team, f);
      run_kernel<P.step_[I].o, K, T>(team, P.step_[I], f.step[I],
                                     {kernels::template packed_of<P, I>(f), reinterpret_cast<T*>(f.scratch),
                                      reinterpret_cast<T*>(f.shared) + need.packed},
                                     f.names, indexed_operands_of<P>(f, I));
    }
  }
  template <const auto& P, int I> [[gnu::always_inline]] static inline void run_fused_step(
      const Team& team, const frame<P>& f) {
    using T = std::conditional_t<P.step_[I].wide, double, float>;
    constexpr auto code = code_of<P, I>();
    const auto loop = loop_of<P, indexed_loads_of<P>(I)>(f, fused_kernel<code, simd<T>>{});
    if constexpr (!P.step_[I].epilogue) run_fused<code, T>(team, f.step[I], loop, no_rows{});
    else if (constexpr auto K = kernels::template kernel_of_step<P, I - 1>();
             is_small(K) || f.step[I].chunks <= 1) {
      run_kernel_step<P, I - 1>(team, f);
      run_fused<code, T>(team, f.step[I], loop, no_rows{});
    } else if constexpr (!is_small(K)) {
      constexpr index_t own = kernels::template need_of<P>(I - 1).each;
      if constexpr (!P.step_[I - 1].packs_ahead) kernels::template pack_step<P, I - 1>(team, f);
      run_fused<code, T>(team, f.step[I], loop,
                         rows_of<P.step_[I - 1].o, K, typename kernels::template element_of<P, I - 1>>{
                             P.step_[I - 1], f.step[I - 1], f.scratch, scratch_of_member<P>(), own,
                             kernels::template packed_of<P, I - 1>(f), f.names, producer_loads<P>(I),
                             overwriting_slot<P>(I, code.past_caches),
                             // one place for each member, where there are more chunks than members
                             team.size() < f.step[I].chunks ? f.step[I].chunk : 0});
    }
  }
  // The loads of epilogue i that read the result of the step before it, as a bit mask; 0: another step reads it, too.
  template <const auto& P> static constexpr unsigned producer_loads(int i) {
    const step &s = P.step_[i], &w = P.step_[i - 1];
    unsigned loads = 0;
    for (int k = 0; s.fuses_producer && k < s.loads; ++k)
      if (P.slot_[s.slot0 + k].at == P.slot_[w.slot0 + w.loads].at) loads |= 1u << k;
    return loads;
  }

  // The slot of a result of epilogue i that may overwrite that result, element by element; -1: none.
  template <const auto& P> static constexpr int overwriting_slot(int i, unsigned past_caches) {
    const step& s = P.step_[i];
    const unsigned loads = producer_loads<P>(i);
    const auto alike = [&](const detail::slot& a, const detail::slot& b) {
      bool r = a.t == b.t;
      for (int x = 0; x < s.axes; ++x) r = r && a.stride[x] == b.stride[x];
      return r;
    };
    for (int y = 0; loads != 0 && y < s.stores; ++y) {
      const detail::store out(P.store_[s.store0 + y]);
      bool fits = out.k == detail::store_kind::dense && ((past_caches >> y) & 1u) == 0;
      for (int k = 0; k < s.loads; ++k)
        if ((loads >> k) & 1u) fits = fits && alike(P.slot_[s.slot0 + k], P.slot_[s.slot0 + out.slot]);
      if (fits) return out.slot;
    }
    return -1;
  }

  struct no_rows {
    void operator()(index_t, index_t, int, void**) const {}
  };
  // The rows of the step before an epilogue. If only the epilogue reads them, they go where it writes, or all chunks
  // of a member use one place: so they stay in its cache.
  template <op O, auto K, class T> struct rows_of {
    const step& s;
    const frame_step& f;
    std::byte* scratch;
    index_t each, own; // bytes of a member; elements before its `shared`
    T* packed;
    const detail::name_values& names;
    unsigned only_loads; // the epilogue's loads of them, as a bit mask, if nothing else reads them
    int overwritten_by;  // slot of the epilogue's result in their place; -1: none
    index_t chunk;       // rows of a member's own place; 0: it has none
    void operator()(index_t lo, index_t hi, int member, void** base) const {
      T* const mine = reinterpret_cast<T*>(scratch + member * each);
      const shape& result = f.slot[s.loads].s;
      void* rows = f.slot[s.loads].data(); // address of row 0
      // a shallow product would wait for cache lines of another place
      if (O == op::matmul && overwritten_by >= 0 && f.matmul.k >= 128) rows = base[overwritten_by];
      else if (only_loads != 0 && chunk != 0)
        rows = before(rows, (lo - member * chunk) * product(result, 1, result.rank) * bytes_of_result<T>());
      run_rows<O, K, T>(s, f, lo, hi, rows, {packed, mine, mine + own}, names);
      for (int k = 0; only_loads >> k != 0; ++k)
        if ((only_loads >> k & 1u) != 0) base[k] = rows;
    }
  };
};

#if defined(TAPELESS_WITH_OPENMP)
using default_team = openmp_team;
#elif defined(TAPELESS_WITHOUT_THREADS)
using default_team = serial_team;
#else
using default_team = thread_team;
#endif

} // namespace tapeless::cpu

template <> struct tapeless::detail::backend_for<tapeless::host> {
  using type = tapeless::cpu::backend<tapeless::cpu::default_team>;
};
