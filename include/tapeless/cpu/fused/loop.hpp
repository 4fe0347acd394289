// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The kernel of a fused group: one pass over up to four nested loops that loads, computes, stores and reduces.
//   for i_0, i_1, ..:  registers = code(loads at i);  store or reduce at i
// The innermost loop runs over SIMD lanes. Its last lanes use partial loads and stores, so that every element is
// computed by the same instructions wherever it stands.
#pragma once
#include <bit>
#include <cstdint>
#include "../../core/bf16.hpp"
#include "../../core/element_type.hpp"
#include "../../plan/ir/instruction.hpp"
#include "../base/long_sums.hpp"
#include "../base/operand.hpp"
#include "../base/transpose.hpp"
#include "lanes.hpp"
#include "sums.hpp" // IWYU pragma: export

namespace tapeless::cpu {

template <auto Code, class V> class fused_kernel : public fused_sums<Code, V> {
public:
  static constexpr int slots = Code.slots;

private:
  using outer_sums = fused_sums<Code, V>;
  using typename outer_sums::position, typename outer_sums::sums, typename outer_sums::arguments_in_chains;
  using lanes = fused_lanes<Code, V>;
  using registers_t = typename lanes::registers_t;
  using row_state = typename lanes::row_state;
  using T = typename V::value_type;
  static constexpr int W = static_cast<int>(V::size), axes = Code.axes;
  template <class E> [[gnu::always_inline]] static E* element(const row_state& w, int slot, index_t c) {
    return lanes::template element<E>(w, slot, c);
  }
  [[gnu::always_inline]] static V combine(int f, const V& x, const V& y) {
    return f == detail::folding::max ? nan_wins_max(x, y) : f == detail::folding::product ? x * y : x + y;
  }
  [[gnu::always_inline]] static T combine(int f, const T& x, const T& y) { return joined(f, x, y); }

  template <bool Partial, bool PastCaches>
  [[gnu::always_inline]] static void body(registers_t& r, V* acc, const sums& s, const row_state& w,
                                          index_t c, int n, unsigned moved) {
    lanes::template execute_all<false, Partial>(r, w, c, n, typename lanes::all_codes{});
    unroll<Code.stores>([&](auto k) __attribute__((always_inline)) {
      constexpr auto y = outer_sums::out(k);
      constexpr dtype C = register_class(y.t);
      if constexpr (y.k == store_kind::dense && C == dtype::boolean) {
        bool* const q = element<bool>(w, y.slot, c);
        if constexpr (Partial) store_bool_n(q, r.b[y.reg], n);
        else store_bool(q, r.b[y.reg]);
      } else if constexpr (y.t == dtype::u8) {
        static_assert(y.k == store_kind::dense);
        std::uint8_t* const q = element<std::uint8_t>(w, y.slot, c);
        if constexpr (Partial) store_byte_n(q, r.i[y.reg], n);
        else store_byte(q, r.i[y.reg]);
      } else if constexpr (y.t == dtype::i64) {
        static_assert(y.k == store_kind::dense);
        std::copy_n(r.l[y.reg], Partial ? n : W, element<std::int64_t>(w, y.slot, c));
      } else if constexpr (y.k == store_kind::dense && C == dtype::i32) {
        std::int32_t* const q = element<std::int32_t>(w, y.slot, c);
        if constexpr (Partial) store_int_n(q, r.i[y.reg], n);
        else store_int(q, r.i[y.reg]);
      } else if constexpr (y.t == dtype::bf16) {
        static_assert(y.k == store_kind::dense);
        bf16* const q = element<bf16>(w, y.slot, c);
        if constexpr (Partial) store_bf16_n(q, r.f[y.reg], n);
        else store_bf16(q, r.f[y.reg]);
      } else if constexpr (y.k == store_kind::dense && is_float_of_doubles(y.t, sizeof(T))) {
        float* const q = element<float>(w, y.slot, c);
        if constexpr (Partial) store_floats_n(q, r.f[y.reg], n);
        else store_floats(q, r.f[y.reg]);
      } else if constexpr (y.k == store_kind::dense) {
        T* const q = element<T>(w, y.slot, c);
        if constexpr (Partial) store_n(q, r.f[y.reg], n);
        else if constexpr (PastCaches && ((Code.past_caches >> k) & 1u)) store_past_caches(q, r.f[y.reg]);
        else cpu::store(q, r.f[y.reg]);
      } else if constexpr (y.k == store_kind::column) {
        T* const q = element<T>(w, y.slot, c);
        bool first;
        if constexpr (outer_sums::in_chains(k)) first = s.of[k].is_first(moved);
        else first = (moved & y.reduced) == 0;
        if constexpr (Partial) store_n(q, first ? r.f[y.reg] : combine(y.f, load_n<V>(q, n), r.f[y.reg]), n);
        else cpu::store(q, first ? r.f[y.reg] : combine(y.f, load<V>(q), r.f[y.reg]));
      } else if constexpr (Partial) {
        acc[k] = combine(y.f, acc[k], select(lane_mask<V>(n), r.f[y.reg], V(outer_sums::identity(k))));
      } else {
        acc[k] = combine(y.f, acc[k], r.f[y.reg]);
      }
    });
  }
  static T reduce_lanes(int f, const V& v) {
    alignas(64) T t[W];
    v.store_aligned(t);
    if (f == detail::folding::sum) return hsum(v);
    for (int k = 1; k < W; ++k) t[0] = combine(f, t[0], t[k]);
    return t[0];
  }

  // Within a chain `streams` vectors are summed side by side: a single one would wait for its last addition.
  static constexpr bool accumulates() {
    for (int k = 0; k < Code.stores; ++k)
      if (outer_sums::out(k).k == store_kind::row || outer_sums::out(k).k == store_kind::total) return true;
    return false;
  }
  static constexpr int streams = accumulates() && Code.codes <= 6 ? 4 : 1;
  static constexpr int vectors_in_chain = 32;
  // Elements of a row that make one chain in each lane of each stream.
  static constexpr index_t sum_block = (W * streams >= 8 ? 64 : 32) * W * streams;

  // Is the code one load that walks memory in another order than the store? Then it is a transpose along the load's
  // contiguous axis.
  static constexpr bool copies() {
    if constexpr (Code.codes != 2 || Code.stores != 1 || axes == 1) return false;
    else {
      const instruction from(Code.code[0]), to(Code.code[1]);
      return from.o == op::input && static_cast<access>(from.imm) == access::strided && to.o == op::copy &&
             from.t != dtype::bf16 && register_class(from.t) == dtype::f32 &&
             outer_sums::out(0).k == store_kind::dense;
    }
  }

  // One run of the innermost loop. moved: bit a is set when outer axis a is past its first index of this call.
  [[gnu::always_inline]] static void row(sums& s, const fused_arguments& a, const position& p, index_t c,
                                         index_t end, unsigned moved) {
    row_state w;
    for (int k = 0; k < slots; ++k) {
      w.base[k] = outer_sums::base_of(a, k);
#if defined(__GNUC__)
      asm("" : "+r"(w.base[k])); // one by one: a load of several pointers would wait for their stores
#endif
      w.at[k] = p[k];
      w.stride[k] = a.slot[k].stride[axes - 1];
      if (lanes::fetched_ahead(k) > 0)
        w.ahead[k] = a.sweep * a.slot[k].stride[0] + a.loop[axes - 1] * lanes::ahead_from(k) / 128;
    }
    w.extent = a.extent;
    if constexpr (Code.past_caches != 0)
      if (const index_t head = elements_to_whole_vectors(w, c); head >= 0 && head < end - c)
        return row_from<true>(s, w, c, c + head, end, moved);
    row_from<false>(s, w, c, c, end, moved);
  }
  // Elements from column c on until all stores past the caches are aligned. -1: they never are, or sums would depend
  // on addresses.
  [[gnu::always_inline]] static index_t elements_to_whole_vectors(const row_state& w, index_t c) {
    constexpr int first = std::countr_zero(Code.past_caches);
    const auto behind = [&](int slot) {
      return reinterpret_cast<std::uintptr_t>(element<const T>(w, slot, c)) % sizeof(V);
    };
    const std::uintptr_t n = behind(outer_sums::out(first).slot);
    for (int k = first + 1; k < Code.stores; ++k)
      if (((Code.past_caches >> k) & 1u) != 0 && behind(outer_sums::out(k).slot) != n) return -1;
    if (n == 0) return 0;
    return accumulates() || n % sizeof(T) != 0 ? -1 : static_cast<index_t>((sizeof(V) - n) / sizeof(T));
  }
  template <bool PastCaches>
  [[gnu::always_inline]] static void row_from(sums& s, const row_state& w, index_t c, index_t head,
                                              index_t end, unsigned moved) {
    registers_t r;
    lanes::template execute_all<true, false>(r, w, 0, W, typename lanes::all_codes{});
    V acc[Code.stores]; // of the row
    unroll<Code.stores>([&](auto k) __attribute__((always_inline)) {
      if constexpr (outer_sums::out(k).k == store_kind::row) acc[k] = V(outer_sums::identity(k));
    });
    if constexpr (PastCaches && !accumulates())
      if (c < head) {
        body<true, PastCaches>(r, acc, s, w, c, static_cast<int>(head - c), moved);
        c = head;
      }
    int blocks = 0; // in acc
    bool is_long = false;
    while (c < end) {
      V part[streams][Code.stores];
      unroll<streams>([&](auto u) __attribute__((always_inline)) {
        unroll<Code.stores>([&](auto k)
                                __attribute__((always_inline)) { part[u][k] = V(outer_sums::identity(k)); });
      });
      const index_t stop = end - c > sum_block ? c + sum_block : end;
      if constexpr (streams > 1)
        for (; c + streams * W <= stop; c += streams * W)
          unroll<streams>([&](auto u) __attribute__((always_inline)) {
            body<false, PastCaches>(r, part[u], s, w, c + u * W, W, moved);
          });
      for (; c + W <= stop; c += W) body<false, PastCaches>(r, part[0], s, w, c, W, moved);
      if (c < stop) body<true, PastCaches>(r, part[0], s, w, c, static_cast<int>(stop - c), moved);
      c = stop;
      unroll<Code.stores>([&](auto k) __attribute__((always_inline)) {
        constexpr auto y = outer_sums::out(k);
        if constexpr (y.k == store_kind::row || y.k == store_kind::total) {
          unroll<streams - 1>([&](auto u) __attribute__((always_inline)) {
            part[0][k] = combine(y.f, part[0][k], part[u + 1][k]);
          });
          V& to = y.k == store_kind::row ? acc[k] : s.total[k];
          to = combine(y.f, to, part[0][k]);
        }
      });
      if constexpr (sums_all<store_kind::row>())
        if (++blocks == vectors_in_chain) end_chains_of<store_kind::row>(s, acc, blocks, is_long);
      if constexpr (sums_all<store_kind::total>())
        if (++s.added == vectors_in_chain) end_chains_of<store_kind::total>(s, s.total, s.added, s.is_long);
    }
    if constexpr (sums_all<store_kind::row>())
      if (is_long) end_chains_of<store_kind::row>(s, acc, blocks, is_long);
    unroll<Code.stores>([&](auto k) __attribute__((always_inline)) {
      constexpr auto y = outer_sums::out(k);
      if constexpr (y.k == store_kind::row) {
        T* const q = element<T>(w, y.slot, 0);
        const T x =
            reduce_lanes(y.f, y.f == detail::folding::sum && is_long ? sum_of(s.high[k], s.low[k]) : acc[k]);
        bool first;
        if constexpr (outer_sums::in_chains(k)) first = s.of[k].is_first(moved);
        else first = (moved & (y.reduced & ~(1u << (axes - 1)))) == 0;
        *q = first ? x : combine(y.f, *q, x);
      }
    });
  }
  template <store_kind Kind> static constexpr bool sums_all() {
    for (int k = 0; k < Code.stores; ++k)
      if (outer_sums::out(k).k == Kind && outer_sums::out(k).f == detail::folding::sum) return true;
    return false;
  }
  // chain: that of the sums of this kind.   is_long: high and low already hold others
  template <store_kind Kind>
  [[gnu::always_inline]] static void end_chains_of(sums& s, V* chain, int& length, bool& is_long) {
    unroll<Code.stores>([&](auto k) __attribute__((always_inline)) {
      if constexpr (outer_sums::out(k).k == Kind && outer_sums::out(k).f == detail::folding::sum) {
        if (!is_long) s.high[k] = s.low[k] = V(T(0));
        end_chain(s.high[k], s.low[k], chain[k]);
      }
    });
    length = 0;
    is_long = true;
  }

  // The outer axis along which the operand is contiguous, or else the innermost one.
  static int axis_of_neighbours(const fused_arguments& a) {
    for (int k = 0; k < axes - 1; ++k)
      if (a.slot[0].stride[k] == 1) return k;
    return axes - 1;
  }
  // nest() for a copy: transposes `cols` indices of axis `along` and all of the innermost axis.
  template <int A> static void nest_transposed(const fused_arguments& a, int along, index_t cols, index_t lo,
                                               index_t hi, const T* from, T* to) {
    const index_t in = a.slot[0].stride[A], result = a.slot[1].stride[A];
    if constexpr (A == axes - 1) {
      constexpr index_t in_cache = (1 << 16) / static_cast<index_t>(sizeof(T));
      if (Code.past_caches == 0 && hi * cols <= in_cache)
        transpose<V>(hi, cols, from, in, to, a.slot[1].stride[along]);
      else transpose_blocks<V, Code.past_caches != 0>(hi, cols, from, in, to, a.slot[1].stride[along]);
    } else if (A == along)
      nest_transposed<A + 1>(a, along, cols, 0, a.loop[A + 1], from + lo * in, to + lo * result);
    else
      for (index_t i = lo; i < hi; ++i)
        nest_transposed<A + 1>(a, along, cols, 0, a.loop[A + 1], from + i * in, to + i * result);
  }

  template <int A> [[gnu::always_inline]] static void nest(sums& s, const fused_arguments& a,
                                                           const position& from, index_t lo, index_t hi,
                                                           unsigned moved) {
    position p;
    for (int k = 0; k < slots; ++k) p[k] = from[k];
    if constexpr (A == axes - 1) row(s, a, p, lo, hi, moved);
    else {
      outer_sums::template begin_axis<A>(s, p);
      for (int k = 0; k < slots; ++k) p[k] += lo * a.slot[k].stride[A];
      for (index_t i = lo; i < hi; ++i) {
        nest<A + 1>(s, a, p, 0, a.loop[A + 1], moved | (i > lo ? 1u << A : 0u));
        outer_sums::template end_step<A>(s, p, moved);
        for (int k = 0; k < slots; ++k) p[k] += a.slot[k].stride[A];
      }
      outer_sums::template end_axis<A>(s, p, moved);
    }
  }

public:
  // Runs indices [lo, hi) of the outermost axis. Its sums are complete after finish.
  // @pre every loop extent > 0, lo < hi
  [[gnu::noinline]] static void run(const fused_arguments& a, index_t lo, index_t hi) {
    if constexpr (copies())
      if (const int along = axis_of_neighbours(a); along < axes - 1) {
        nest_transposed<0>(a, along, along == 0 ? hi - lo : a.loop[along], lo, hi,
                           static_cast<const T*>(outer_sums::base_of(a, 0)) + a.slot[0].start,
                           static_cast<T*>(outer_sums::base_of(a, 1)) + a.slot[1].start);
        if constexpr (Code.past_caches != 0) end_stores_past_caches();
        return;
      }
    sums s;
    unroll<Code.stores>([&](auto k) { s.total[k] = V(outer_sums::identity(k)); });
    position p;
    for (int k = 0; k < slots; ++k) p[k] = a.slot[k].start;
    const unsigned moved = a.done > 0 ? 1u : 0u;
    if constexpr (outer_sums::has_chains()) nest<0>(s, arguments_in_chains(a, s), p, lo, hi, moved);
    else nest<0>(s, a, p, lo, hi, moved);
    if constexpr (Code.past_caches != 0) end_stores_past_caches();
    if constexpr (sums_all<store_kind::total>())
      if (s.is_long) end_chains_of<store_kind::total>(s, s.total, s.added, s.is_long);
    unroll<Code.stores>([&](auto k) __attribute__((always_inline)) {
      constexpr auto y = outer_sums::out(k);
      if constexpr (y.k == store_kind::total) {
        T* const q = static_cast<T*>(outer_sums::base_of(a, y.slot));
        const T x = reduce_lanes(
            y.f, y.f == detail::folding::sum && s.is_long ? sum_of(s.high[k], s.low[k]) : s.total[k]);
        if constexpr (y.carries) {
          T& low = *static_cast<T*>(outer_sums::carry_of(k, a));
          if (a.done == 0) {
            *q = x;
            low = 0;
          } else two_sum(*q, low, x);
        } else *q = a.done > 0 ? combine(y.f, *q, x) : x;
      }
    });
  }
};

} // namespace tapeless::cpu
