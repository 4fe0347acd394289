// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The CPU as a back end: steps of a plan -> kernels of this folder. A step is a direct call with constants; kernels
// are keyed on their code alone, so that equal steps of different layers share one.
#pragma once
#include <algorithm>
#include "chunks.hpp"
#include "layout.hpp"

namespace tapeless::cpu {

// A result of so many bytes is gone from the caches before anybody reads it.
inline constexpr index_t larger_than_caches = 1 << 25;
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
  return k;
}

// Arch is in the name of every SIMD kernel that is called from here: objects built with other flags do not clash.
template <team Team, class Arch = simd<float>> struct backend {
  using team_type = Team;
  using space = host;
  template <const auto& P> using frame_type = frame<P>;

  // What plan/layout.hpp weighs: a convolution with operands a and b, and a copy of n elements in another order.
  static constexpr double conv_ns(const tapeless::detail::node& v, const shape& a, const shape& b) {
    return v.t == dtype::f64 ? ns_of_conv<double>(v, a, b) : ns_of_conv<float>(v, a, b);
  }
  static constexpr double reorder_ns(double n) { return ns_of_reorder(n); }

  // Kernel scratch in bytes, of each member and shared. It does not depend on named extents.
  template <const auto& P> static constexpr scratch_need scratch() {
    scratch_need most;
    if constexpr (has_whole_steps<P>()) // else the kernels of whole steps are not even looked at
      for (int i = 0; i < P.steps; ++i) {
        if (P.step_[i].fused) continue;
        scratch_need n = need_of<P>(i);
        if (followed_by_epilogue<P>(i)) n.each += n.shared; // members run it side by side
        const index_t size = P.step_[i].wide ? 8 : 4;
        most.each = std::max(most.each, n.each * size);
        most.shared = std::max(most.shared, (n.packed + n.shared) * size);
      }
    if constexpr (has_convolutions<P>()) most.packed = packed_before<P>(P.steps);
    most.each = tapeless::detail::aligned(std::max<index_t>(most.each, P.strip_bytes));
    most.shared = tapeless::detail::aligned(most.shared);
    return most;
  }

  template <const auto& P, int I> [[gnu::always_inline]] static inline void run_step(const Team& team,
                                                                                     const frame<P>& f) {
    if constexpr (!P.step_[I].at_load) execute<P, I>(team, f);
  }
  template <const auto& P, int I> [[gnu::always_inline]] static inline void load_step(const Team& team,
                                                                                      const frame<P>& f) {
    if constexpr (P.step_[I].at_load) execute<P, I>(team, f);
    else if constexpr (P.step_[I].packs_ahead) pack_step<P, I>(team, f);
  }

private:
  template <const auto& P, int I> [[gnu::always_inline]] static inline void execute(const Team& team,
                                                                                    const frame<P>& f) {
    if constexpr (P.step_[I].strip) return; // ran with the first step of its strip
    else if constexpr (I + 1 < P.steps && P.step_[I + 1].strip)
      run_strip<P, I>(team, f, std::make_integer_sequence<int, steps_of_strip<P>(I)>{});
    else if constexpr (P.step_[I].fused) run_fused_step<P, I>(team, f);
    else if constexpr (!followed_by_epilogue<P>(I)) run_whole_step<P, I>(team, f);
  }
  template <const auto& P> static constexpr bool has_whole_steps() {
    for (int i = 0; i < P.steps; ++i)
      if (!P.step_[i].fused) return true;
    return false;
  }
  template <const auto& P> static constexpr bool has_convolutions() {
    for (int i = 0; i < P.steps; ++i)
      if (is_conv(P.step_[i].o)) return true;
    return false;
  }
  template <const auto& P> static constexpr bool followed_by_epilogue(int i) {
    return i + 1 < P.steps && P.step_[i + 1].epilogue;
  }

  // Ops that move or compare elements work on those of their operand; kernels that compute have real ones only.
  template <const auto& P, int I> static constexpr auto zero_of() {
    constexpr step s = P.step_[I];
    constexpr dtype t = P.slot_[s.slot0].t;
    if constexpr (s.o == op::custom_tensor || tapeless::detail::is_float(t))
      return std::conditional_t<s.wide, double, float>(0);
    else return std::conditional_t < t == dtype::i32, std::int32_t, bool > (0);
  }
  template <const auto& P, int I> using element_of = decltype(zero_of<P, I>());

  template <const auto& P> static constexpr scratch_need need_of(int i) {
    const step& s = P.step_[i];
    shape q[3]{};
    for (int k = 0; k < s.loads + 1 && k < 3; ++k) q[k] = P.slot_[s.slot0 + k].s;
    constexpr bool conv = has_convolutions<P>();
    return s.wide ? scratch_of<double, conv>(s, q) : scratch_of<float, conv>(s, q);
  }
  template <const auto& P, int I> static constexpr conv_kernel kernel_of_step() {
    constexpr step s = P.step_[I];
    if constexpr (!is_conv(s.o)) return {};
    else
      return kernel_of<element_of<P, I>>(
          s, {P.slot_[s.slot0].s, P.slot_[s.slot0 + 1].s, P.slot_[s.slot0 + 2].s});
  }

  // Bytes of the weights that a load packs for the steps before step i.
  template <const auto& P> static constexpr index_t packed_before(int i) {
    index_t bytes = 0;
    for (int k = 0; k < i; ++k)
      if (P.step_[k].packs_ahead)
        bytes += tapeless::detail::aligned(need_of<P>(k).packed * (P.step_[k].wide ? 8 : 4));
    return bytes;
  }
  // Where the packed weights of a step are.
  template <const auto& P, int I> static element_of<P, I>* packed_of(const frame<P>& f) {
    constexpr index_t at = P.step_[I].packs_ahead ? packed_before<P>(I) : 0;
    return reinterpret_cast<element_of<P, I>*>(P.step_[I].packs_ahead ? f.packed + at : f.shared);
  }
  template <const auto& P, int I> [[gnu::always_inline]] static inline void pack_step(const Team& team,
                                                                                      const frame<P>& f) {
    pack_whole<P.step_[I].o, kernel_of_step<P, I>(), element_of<P, I>>(team, P.step_[I], f.step[I],
                                                                       packed_of<P, I>(f));
  }
  template <const auto& P, int I> [[gnu::always_inline]] static inline void run_whole_step(
      const Team& team, const frame<P>& f) {
    using T = element_of<P, I>;
    constexpr conv_kernel K = kernel_of_step<P, I>();
    constexpr scratch_need need = need_of<P>(I);
    if constexpr (!P.step_[I].packs_ahead) pack_step<P, I>(team, f);
    run_whole<P.step_[I].o, K, T>(
        team, P.step_[I], f.step[I],
        {packed_of<P, I>(f), reinterpret_cast<T*>(f.scratch), reinterpret_cast<T*>(f.shared) + need.packed},
        f.names);
  }
  template <const auto& P, int I> [[gnu::always_inline]] static inline void run_fused_step(
      const Team& team, const frame<P>& f) {
    using T = std::conditional_t<P.step_[I].wide, double, float>;
    constexpr auto code = code_of<P, I>();
    if constexpr (!P.step_[I].epilogue) run_fused<code, simd<T>>(team, f.step[I], no_rows{});
    else if (f.step[I].chunks <= 1) {
      run_whole_step<P, I - 1>(team, f);
      run_fused<code, simd<T>>(team, f.step[I], no_rows{});
    } else {
      constexpr conv_kernel K = kernel_of_step<P, I - 1>();
      constexpr index_t own = need_of<P>(I - 1).each;
      if constexpr (!P.step_[I - 1].packs_ahead) pack_step<P, I - 1>(team, f);
      run_fused<code, simd<T>>(
          team, f.step[I],
          rows_of<P.step_[I - 1].o, K, T>{P.step_[I - 1], f.step[I - 1], f.scratch, scratch<P>().each, own,
                                          packed_of<P, I - 1>(f), f.names});
    }
  }

  template <const auto& P> static constexpr int steps_of_strip(int first) {
    int n = 1;
    while (first + n < P.steps && P.step_[first + n].strip) ++n;
    return n;
  }
  template <const auto& P> static constexpr bool sums_over_rows(int first, int steps) {
    for (int i = first; i < first + steps; ++i)
      if (P.step_[i].partials > 0) return true;
    return false;
  }
  // All steps pass over a strip before the next one. Chunks are strips, or of many of them where sums pass over rows.
  template <const auto& P, int First, int... K> [[gnu::always_inline]] static inline void run_strip(
      const Team& team, const frame<P>& f, std::integer_sequence<int, K...>) {
    constexpr bool sums = sums_over_rows<P>(First, sizeof...(K));
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
      std::byte* const mine = f.scratch + member * scratch<P>().each;
      for (index_t lo = begin; lo < end; lo += size) {
        const strip_rows r{lo, std::min(end, lo + size), c, lo > begin, mine};
        (run_rows_of<P, First + K>(f, r), ...);
      }
    });
    if constexpr (sums) (stores_of_step<P, First + K>::combine(f.step[First + K], chunks), ...);
  }
  struct strip_rows {
    index_t lo, hi, chunk;
    bool past_first; // of its chunk
    std::byte* scratch;
  };
  template <const auto& P, int I> using lanes_of_step = std::conditional_t<P.step_[I].wide, double, float>;
  template <const auto& P, int I> using stores_of_step = stores_of<code_of<P, I>(), lanes_of_step<P, I>>;
  template <const auto& P, int I> [[gnu::always_inline]] static inline void run_rows_of(const frame<P>& f,
                                                                                        const strip_rows& r) {
    constexpr step s = P.step_[I];
    const frame_step& g = f.step[I];
    void* base[s.loads + s.stores];
    for (int k = 0; k < s.loads + s.stores; ++k) {
      const tapeless::detail::slot& q = P.slot_[s.slot0 + k];
      base[k] =
          q.at.where == tapeless::detail::place::strip
              ? before(r.scratch + q.at.offset, r.lo * g.slot[k].stride[0] * tapeless::detail::size_of(q.t))
              : g.slot[k].data();
    }
    if constexpr (s.partials > 0) stores_of_step<P, I>::redirect(g, r.chunk, base);
    fused_kernel<code_of<P, I>(), simd<lanes_of_step<P, I>>>::run({base, g.slot, g.loop, g.extent}, r.lo,
                                                                  r.hi, r.past_first);
  }
  // Where row 0 would lie; only rows of the strip are touched.
  static void* before(std::byte* rows, index_t bytes) {
    return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(rows) -
                                   static_cast<std::uintptr_t>(bytes));
  }

  struct no_rows {
    void operator()(index_t, index_t, int) const {}
  };
  template <op O, conv_kernel K, class T> struct rows_of {
    const step& s;
    const frame_step& f;
    std::byte* scratch;
    index_t each, own; // bytes of a member; elements ahead of its `shared`
    T* packed;
    const tapeless::detail::name_values& names;
    void operator()(index_t lo, index_t hi, int member) const {
      T* const mine = reinterpret_cast<T*>(scratch + member * each);
      run_rows<O, K, T>(s, f, lo, hi, {packed, mine, mine + own}, names);
    }
  };
};

#ifdef TAPELESS_WITH_OPENMP
using default_team = openmp_team;
#else
using default_team = serial_team;
#endif

} // namespace tapeless::cpu

template <> struct tapeless::detail::backend_for<tapeless::host> {
  using type = tapeless::cpu::backend<tapeless::cpu::default_team>;
};
