// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The kernel of a fused group: one pass over up to four nested loops that loads, computes, stores and reduces.
//   for i_0, i_1, ..:  registers = code(loads at i);  store or reduce at i
// The innermost loop runs over SIMD lanes; its last lanes are handled by partial loads and stores, so every element
// is computed by the same instructions wherever it stands.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include "bf16.hpp"
#include "frame.hpp"
#include "math.hpp"
#include "transpose.hpp"

namespace tapeless::cpu {

using tapeless::detail::access;
using tapeless::detail::instruction;
using tapeless::detail::op;
using tapeless::detail::store_kind;

// The template argument of a kernel: content only, so that equal groups share one instantiation.
template <int Codes, int Konsts, int Stores, int Customs> struct fused_code {
  std::uint64_t code[Codes > 0 ? Codes : 1]{};
  std::uint64_t konst[Konsts > 0 ? Konsts : 1]{};
  std::uint64_t store[Stores]{};
  const tapeless::detail::custom_op* custom[Customs > 0 ? Customs : 1]{};
  int slots = 0, axes = 1;
  // bit mask: dense stores of results that are larger than caches and not read again
  unsigned past_caches = 0;
  // of the first operands: which part of the next strip's row is fetched meanwhile, in 1 / 128
  static constexpr int most_ahead = 8;
  std::uint8_t ahead_from[most_ahead]{}, ahead_to[most_ahead]{};
  static constexpr int codes = Codes, konsts = Konsts, stores = Stores, customs = Customs;
};

struct fused_arguments {
  void* const* base; // of each slot; nullptr: where the slots say
  const frame_slot* slot;
  const index_t* loop;
  const index_t* extent; // values of named extents that the code reads
  index_t strip = 0;     // rows from one strip to the next
};

// V names the architecture, so that objects built with other flags have kernels of other names.
template <auto Code, class V> class fused_kernel {
public:
  static constexpr int slots = Code.slots;

private:
  using T = typename V::value_type;
  using I = int_of<V>;
  using M = mask_of<V>;
  static constexpr int W = static_cast<int>(V::size), axes = Code.axes;
  static constexpr instruction at(int k) { return instruction(Code.code[k]); }
  static constexpr tapeless::detail::store out(int k) { return tapeless::detail::store(Code.store[k]); }
  static constexpr int registers(dtype t) {
    int n = 1;
    for (int k = 0; k < Code.codes; ++k)
      if (result_class(at(k)) == t && at(k).dst + 1 > n) n = at(k).dst + 1;
    return n;
  }
  // f32 stands for both floating-point types: the kernel's T decides; bf16 is float in registers
  static constexpr dtype class_of(dtype t) { return t == dtype::f64 || t == dtype::bf16 ? dtype::f32 : t; }
  static constexpr dtype result_class(const instruction& q) {
    if (tapeless::detail::compares(q.o) || q.o == op::logical_and || q.o == op::logical_or ||
        q.o == op::logical_not)
      return dtype::boolean;
    return class_of(q.o == op::cast ? static_cast<dtype>(q.imm) : q.t);
  }
  // Is the result of instruction k the same in every lane of a row? Constants, extents, elements that do not move, and
  // quotients of these.
  struct invariants {
    bool is[Code.codes > 0 ? Code.codes : 1]{};
  };
  static constexpr invariants invariant = [] {
    invariants r;
    const auto made_by_one = [&](int k, int reg) {
      while (--k >= 0)
        if (result_class(at(k)) == dtype::f32 && at(k).dst == reg) return r.is[k];
      return false;
    };
    for (int k = 0; k < Code.codes; ++k) {
      const instruction q = at(k);
      r.is[k] = q.o == op::konst || q.o == op::extent ||
                (q.o == op::input && static_cast<access>(q.imm) == access::splat) ||
                (q.o == op::div && class_of(q.t) == dtype::f32 && made_by_one(k, q.a) && made_by_one(k, q.b));
    }
    return r;
  }();

  struct registers_t {
    V f[registers(dtype::f32)];
    I i[registers(dtype::i32)];
    M b[registers(dtype::boolean)];
    template <dtype C> [[gnu::always_inline]] auto& get(int k) {
      if constexpr (C == dtype::boolean) return b[k];
      else if constexpr (C == dtype::i32) return i[k];
      else return f[k];
    }
  };
  static constexpr index_t ahead_from(int slot) { return slot < Code.most_ahead ? Code.ahead_from[slot] : 0; }
  static constexpr index_t fetched_ahead(int slot) {
    return slot < Code.most_ahead ? Code.ahead_to[slot] - Code.ahead_from[slot] : 0;
  }
  using position = index_t[slots];
  // What a row needs, in a local of its own: SIMD stores may alias anything, so pointers that were read from memory
  // would be read again after each of them.
  struct row_state {
    void* base[slots];
    index_t at[slots], stride[slots];
    const index_t* extent;
    index_t ahead[slots]; // elements to those of the next strip that are fetched, from the row on
  };

  template <class E> [[gnu::always_inline]] static E* element(const row_state& w, int slot, index_t c) {
    return static_cast<E*>(w.base[slot]) + w.at[slot] + c;
  }
  [[gnu::always_inline]] static void* base_of(const fused_arguments& a, int k) {
    return a.base == nullptr ? a.slot[k].data() : a.base[k];
  }
  // != of xsimd 8.1 is false for a NaN on AVX
  [[gnu::always_inline]] static M is_nan(const V& x) { return !(x == x); }
  // xsimd::max(y, x) is x, or a NaN, where one of them is a NaN: only y is left to look at, which no earlier step of a
  // reduction has to wait for.
  [[gnu::always_inline]] static V nan_wins_max(const V& x, const V& y) {
    return select(y == y, xsimd::max(y, x), y);
  }

  template <class R> [[gnu::always_inline]] static R combine(bool is_max, const R& x, const R& y) {
    if constexpr (std::is_same_v<R, T>) return is_max ? (x >= y || x != x ? x : y) : x + y;
    else return is_max ? nan_wins_max(x, y) : x + y;
  }

  template <int K, bool Partial>
  [[gnu::always_inline]] static void load_slot(registers_t& r, const row_state& w, index_t c, int n) {
    constexpr instruction q = at(K);
    constexpr access how = static_cast<access>(q.imm);
    const index_t stride = how == access::strided || how == access::index ? w.stride[q.a] : 1;
    const index_t where = how == access::splat ? 0 : c * stride;
    if constexpr (how == access::index) {
      r.i[q.dst] = I(static_cast<typename I::value_type>(w.at[q.a] + where)) +
                   iota<I>() * I(static_cast<typename I::value_type>(stride));
    } else if constexpr (q.t == dtype::boolean) {
      const bool* const x = element<const bool>(w, q.a, where);
      if constexpr (how == access::splat) r.b[q.dst] = M(*x);
      else if constexpr (how == access::dense && !Partial) r.b[q.dst] = load_bool<V>(x);
      else if constexpr (how == access::dense) r.b[q.dst] = load_bool_n<V>(x, n);
      else {
        bool t[W] = {};
        for (int k = 0; k < (Partial ? n : W); ++k) t[k] = x[k * stride];
        r.b[q.dst] = load_bool<V>(t);
      }
    } else if constexpr (q.t == dtype::i32) {
      const std::int32_t* const x = element<const std::int32_t>(w, q.a, where);
      if constexpr (how == access::splat) r.i[q.dst] = I(static_cast<typename I::value_type>(*x));
      else if constexpr (how == access::dense && !Partial) r.i[q.dst] = load_int<V>(x);
      else if constexpr (how == access::dense) r.i[q.dst] = load_int_n<V>(x, n);
      else {
        std::int32_t t[W] = {};
        for (int k = 0; k < (Partial ? n : W); ++k) t[k] = x[k * stride];
        r.i[q.dst] = load_int<V>(t);
      }
    } else if constexpr (q.t == dtype::bf16) {
      const bf16* const x = element<const bf16>(w, q.a, where);
      if constexpr (how == access::splat) r.f[q.dst] = V(static_cast<float>(*x));
      else if constexpr (how == access::dense && !Partial) r.f[q.dst] = load_bf16<V>(x);
      else if constexpr (how == access::dense) r.f[q.dst] = load_bf16_n<V>(x, n);
      else r.f[q.dst] = load_bf16_strided<V>(x, stride, Partial ? n : W);
    } else {
      const T* const x = element<const T>(w, q.a, where);
      if constexpr (constexpr index_t part = fetched_ahead(q.a); how == access::dense && part > 0)
        __builtin_prefetch(element<const T>(w, q.a, w.ahead[q.a] + c * part / 128), 0, 2);
      if constexpr (how == access::splat) r.f[q.dst] = V(*x);
      else if constexpr (how == access::dense && !Partial) r.f[q.dst] = load<V>(x);
      else if constexpr (how == access::dense) r.f[q.dst] = load_n<V>(x, n);
      else if constexpr (!Partial) r.f[q.dst] = load_strided<V>(x, stride);
      else r.f[q.dst] = load_strided_n<V>(x, stride, n);
    }
  }

  template <int K> [[gnu::always_inline]] static void compute(registers_t& r, const row_state& w) {
    constexpr instruction q = at(K);
    constexpr dtype C = class_of(q.t);
    auto& dst = r.template get<result_class(q)>(q.dst);
    if constexpr (q.o == op::konst) {
      constexpr double x = std::bit_cast<double>(Code.konst[q.imm]);
      if constexpr (C == dtype::boolean) dst = M(x != 0);
      else if constexpr (C == dtype::i32) dst = I(static_cast<typename I::value_type>(x));
      else dst = V(static_cast<T>(x));
    } else if constexpr (q.o == op::extent) {
      if constexpr (C == dtype::i32) dst = I(static_cast<typename I::value_type>(w.extent[q.imm]));
      else dst = V(static_cast<T>(w.extent[q.imm]));
    } else if constexpr (q.o == op::where) {
      if constexpr (C == dtype::boolean) dst = (r.b[q.a] & r.b[q.b]) | ((!r.b[q.a]) & r.b[q.c]);
      else if constexpr (C == dtype::i32)
        dst = select(mask_cast<typename I::value_type>(r.b[q.a]), r.i[q.b], r.i[q.c]);
      else dst = select(r.b[q.a], r.f[q.b], r.f[q.c]);
    } else if constexpr (q.o == op::custom_elementwise) {
      custom_lanes<K>(r, dst);
    } else if constexpr (q.o == op::cast) {
      cast<K>(r, dst);
    } else if constexpr (C == dtype::boolean) {
      const M x = r.b[q.a];
      if constexpr (q.o == op::logical_not) dst = !x;
      else if constexpr (q.o == op::logical_and) dst = x & r.b[q.b];
      else if constexpr (q.o == op::logical_or) dst = x | r.b[q.b];
      else if constexpr (q.o == op::eq) dst = (x & r.b[q.b]) | ((!x) & (!r.b[q.b]));
      else if constexpr (q.o == op::ne) dst = (x & (!r.b[q.b])) | ((!x) & r.b[q.b]);
      else dst = x; // copy, stop_gradient
    } else {
      auto& bank = [&]() -> auto& {
        if constexpr (C == dtype::i32) return r.i;
        else return r.f;
      }();
      const auto x = bank[q.a];
      using R = std::remove_const_t<decltype(x)>;
      const auto mask = [](const auto& m) {
        if constexpr (C == dtype::i32) return mask_cast<T>(m);
        else return m;
      };
      using S = typename R::value_type;
      if constexpr (q.o == op::neg) dst = -x;
      else if constexpr (q.o == op::square) dst = x * x;
      else if constexpr (q.o == op::add) dst = x + bank[q.b];
      else if constexpr (q.o == op::sub) dst = x - bank[q.b];
      else if constexpr (q.o == op::mul) dst = x * bank[q.b];
      else if constexpr (q.o == op::eq) dst = mask(x == bank[q.b]);
      else if constexpr (q.o == op::ne) dst = !mask(x == bank[q.b]);
      else if constexpr (q.o == op::lt) dst = mask(x < bank[q.b]);
      else if constexpr (q.o == op::le) dst = mask(x <= bank[q.b]);
      else if constexpr (q.o == op::gt) dst = mask(x > bank[q.b]);
      else if constexpr (q.o == op::ge) dst = mask(x >= bank[q.b]);
      else if constexpr (q.o == op::copy || q.o == op::stop_gradient || q.o == op::widen) dst = x;
      else if constexpr (C == dtype::i32) {
        if constexpr (q.o == op::max) dst = select(x >= bank[q.b], x, bank[q.b]);
        else {
          static_assert(q.o == op::min);
          dst = select(x <= bank[q.b], x, bank[q.b]);
        }
      } else if constexpr (q.o == op::max) dst = nan_wins_max(x, bank[q.b]);
      else if constexpr (q.o == op::min) dst = select((x <= bank[q.b]) | is_nan(x), x, bank[q.b]);
      else if constexpr (q.o == op::div) dst = x / bank[q.b];
      else if constexpr (q.o == op::sqrt) dst = xsimd::sqrt(x);
      else if constexpr (q.o == op::exp) dst = cpu::exp(x);
      else if constexpr (q.o == op::log) dst = cpu::log(x);
      else if constexpr (q.o == op::tanh) dst = cpu::tanh(x);
      else if constexpr (q.o == op::erf) dst = cpu::erf(x);
      else if constexpr (q.o == op::sigmoid) dst = cpu::sigmoid(x);
      else if constexpr (q.o == op::narrow) dst = round_to_bf16(x);
      else if constexpr (q.o == op::relu) dst = select(x <= V(S(0)), V(S(0)), x); // a NaN stays
      else {
        static_assert(q.o == op::pow);
        dst = lanewise(x, bank[q.b], [](T u, T v) { return std::pow(u, v); });
      }
    }
  }
  template <class F> [[gnu::always_inline]] static V lanewise(const V& x, const V& y, F f) {
    alignas(64) T u[W], v[W];
    x.store_aligned(u);
    y.store_aligned(v);
    for (int k = 0; k < W; ++k) u[k] = f(u[k], v[k]);
    return V::load_aligned(u);
  }
  template <int K> [[gnu::always_inline]] static void custom_lanes(registers_t& r, V& dst) {
    constexpr instruction q = at(K);
    constexpr const tapeless::detail::custom_op* custom = Code.custom[q.imm];
    alignas(64) T x[3][W], y[W];
    r.f[q.a].store_aligned(x[0]);
    r.f[q.b].store_aligned(x[1]);
    r.f[q.c].store_aligned(x[2]);
    const T* const in[3] = {x[0], x[1], x[2]};
    if constexpr (std::is_same_v<T, float>) custom->lanes_f32(in, y, W);
    else custom->lanes_f64(in, y, W);
    dst = V::load_aligned(y);
  }
  template <int K, class D> [[gnu::always_inline]] static void cast(registers_t& r, D& dst) {
    constexpr instruction q = at(K);
    constexpr dtype from = class_of(q.t), to = class_of(static_cast<dtype>(q.imm));
    if constexpr (from == to) dst = r.template get<from>(q.a);
    else if constexpr (to == dtype::f32 && from == dtype::i32) dst = int_to_float<V>(r.i[q.a]);
    else if constexpr (to == dtype::f32) dst = select(r.b[q.a], V(T(1)), V(T(0)));
    else if constexpr (to == dtype::i32 && from == dtype::f32) dst = float_to_int(r.f[q.a]);
    else if constexpr (to == dtype::i32) {
      using S = typename I::value_type;
      dst = select(mask_cast<S>(r.b[q.a]), I(S(1)), I(S(0)));
    } else if constexpr (from == dtype::i32) dst = mask_cast<T>(r.i[q.a] != I(typename I::value_type(0)));
    else dst = !(r.f[q.a] == V(T(0)));
  }

  template <int K, bool Invariant, bool Partial>
  [[gnu::always_inline]] static void execute(registers_t& r, const row_state& w, index_t c, int n) {
    if constexpr (invariant.is[K] != Invariant) return;
    else if constexpr (at(K).o == op::input) load_slot<K, Partial>(r, w, c, n);
    else compute<K>(r, w);
  }
  // The instructions that are the same in every lane of a row, or those that are not.
  template <bool Invariant, bool Partial, int... K>
  [[gnu::always_inline]] static void execute_all(registers_t& r, const row_state& w, index_t c, int n,
                                                 std::integer_sequence<int, K...>) {
    (execute<K, Invariant, Partial>(r, w, c, n), ...);
  }
  using all_codes = std::make_integer_sequence<int, Code.codes>;

  template <int K> static constexpr T identity() {
    return out(K).is_max ? -std::numeric_limits<T>::infinity() : T(0);
  }

  template <bool Partial, bool PastCaches>
  [[gnu::always_inline]] static void body(registers_t& r, V* acc, const row_state& w, index_t c, int n,
                                          unsigned moved) {
    execute_all<false, Partial>(r, w, c, n, all_codes{});
    unroll<Code.stores>([&](auto k) __attribute__((always_inline)) {
      constexpr auto y = out(k);
      constexpr dtype C = class_of(y.t);
      if constexpr (y.k == store_kind::dense && C == dtype::boolean) {
        bool* const q = element<bool>(w, y.slot, c);
        if constexpr (Partial) store_bool_n(q, r.b[y.reg], n);
        else store_bool(q, r.b[y.reg]);
      } else if constexpr (y.k == store_kind::dense && C == dtype::i32) {
        std::int32_t* const q = element<std::int32_t>(w, y.slot, c);
        if constexpr (Partial) store_int_n(q, r.i[y.reg], n);
        else store_int(q, r.i[y.reg]);
      } else if constexpr (y.t == dtype::bf16) {
        static_assert(y.k == store_kind::dense);
        bf16* const q = element<bf16>(w, y.slot, c);
        if constexpr (Partial) store_bf16_n(q, r.f[y.reg], n);
        else store_bf16(q, r.f[y.reg]);
      } else if constexpr (y.k == store_kind::dense) {
        T* const q = element<T>(w, y.slot, c);
        if constexpr (Partial) store_n(q, r.f[y.reg], n);
        else if constexpr (PastCaches && ((Code.past_caches >> k) & 1u)) store_past_caches(q, r.f[y.reg]);
        else cpu::store(q, r.f[y.reg]);
      } else if constexpr (y.k == store_kind::column) {
        T* const q = element<T>(w, y.slot, c);
        const bool first = (moved & y.reduced) == 0;
        if constexpr (Partial)
          store_n(q, first ? r.f[y.reg] : combine(y.is_max, load_n<V>(q, n), r.f[y.reg]), n);
        else cpu::store(q, first ? r.f[y.reg] : combine(y.is_max, load<V>(q), r.f[y.reg]));
      } else if constexpr (Partial) {
        acc[k] = combine(y.is_max, acc[k], select(lane_mask<V>(n), r.f[y.reg], V(identity<k>())));
      } else {
        acc[k] = combine(y.is_max, acc[k], r.f[y.reg]);
      }
    });
  }
  static T reduce_lanes(bool is_max, const V& v) {
    alignas(64) T t[W];
    v.store_aligned(t);
    if (!is_max) return hsum(v);
    for (int k = 1; k < W; ++k) t[0] = combine(true, t[0], t[k]);
    return t[0];
  }

  // Sums are taken in blocks of this many elements, then over blocks: the error of a long float sum stays small.
  static constexpr index_t sum_block = 4096;
  // Within a block `streams` vectors are summed side by side: one would wait for its last addition.
  static constexpr bool accumulates() {
    for (int k = 0; k < Code.stores; ++k)
      if (out(k).k == store_kind::row || out(k).k == store_kind::total) return true;
    return false;
  }
  static constexpr int streams = accumulates() && Code.codes <= 6 ? 4 : 1;

  // One load that walks memory in another order than the store: where it has an axis of neighbours, a transpose.
  static constexpr bool copies() {
    if (Code.codes != 2 || Code.stores != 1 || axes == 1) return false;
    const instruction from = at(0), to = at(1);
    if (from.o != op::input || static_cast<access>(from.imm) != access::strided) return false;
    return to.o == op::copy && from.t != dtype::bf16 && class_of(from.t) == dtype::f32 &&
           out(0).k == store_kind::dense;
  }

  // One run of the innermost loop. moved: bit a is set when outer axis a is past its first index of this call.
  [[gnu::always_inline]] static void row(V* acc, const fused_arguments& a, const position& p, index_t c,
                                         index_t end, unsigned moved) {
    row_state w;
    for (int k = 0; k < slots; ++k) {
      w.base[k] = base_of(a, k);
#if defined(__GNUC__)
      asm("" : "+r"(w.base[k])); // one by one: a vector of pointers waits for the stores of them
#endif
      w.at[k] = p[k];
      w.stride[k] = a.slot[k].stride[axes - 1];
      if (fetched_ahead(k) > 0)
        w.ahead[k] = a.strip * a.slot[k].stride[0] + a.loop[axes - 1] * ahead_from(k) / 128;
    }
    w.extent = a.extent;
    if constexpr (Code.past_caches != 0)
      if (const index_t head = elements_to_whole_vectors(w, c); head >= 0 && head < end - c)
        return row_from<true>(acc, w, c, c + head, end, moved);
    row_from<false>(acc, w, c, c, end, moved);
  }
  // From column c on, until all stores past the caches line up; -1: they never do, or sums would depend on addresses.
  [[gnu::always_inline]] static index_t elements_to_whole_vectors(const row_state& w, index_t c) {
    constexpr int first = std::countr_zero(Code.past_caches);
    const auto behind = [&](int slot) {
      return reinterpret_cast<std::uintptr_t>(element<const T>(w, slot, c)) % sizeof(V);
    };
    const std::uintptr_t n = behind(out(first).slot);
    for (int k = first + 1; k < Code.stores; ++k)
      if (((Code.past_caches >> k) & 1u) != 0 && behind(out(k).slot) != n) return -1;
    if (n == 0) return 0;
    return accumulates() || n % sizeof(T) != 0 ? -1 : static_cast<index_t>((sizeof(V) - n) / sizeof(T));
  }
  template <bool PastCaches>
  [[gnu::always_inline]] static void row_from(V* acc, const row_state& w, index_t c, index_t head,
                                              index_t end, unsigned moved) {
    registers_t r;
    execute_all<true, false>(r, w, 0, W, all_codes{});
    unroll<Code.stores>([&](auto k) __attribute__((always_inline)) {
      if constexpr (out(k).k == store_kind::row) acc[k] = V(identity<k>());
    });
    if constexpr (PastCaches && !accumulates())
      if (c < head) {
        body<true, PastCaches>(r, acc, w, c, static_cast<int>(head - c), moved);
        c = head;
      }
    while (c < end) {
      V part[streams][Code.stores];
      unroll<streams>([&](auto s) __attribute__((always_inline)) {
        unroll<Code.stores>([&](auto k) __attribute__((always_inline)) { part[s][k] = V(identity<k>()); });
      });
      const index_t stop = end - c > sum_block ? c + sum_block : end;
      if constexpr (streams > 1)
        for (; c + streams * W <= stop; c += streams * W)
          unroll<streams>([&](auto s) __attribute__((always_inline)) {
            body<false, PastCaches>(r, part[s], w, c + s * W, W, moved);
          });
      for (; c + W <= stop; c += W) body<false, PastCaches>(r, part[0], w, c, W, moved);
      if (c < stop) body<true, PastCaches>(r, part[0], w, c, static_cast<int>(stop - c), moved);
      c = stop;
      unroll<Code.stores>([&](auto k) __attribute__((always_inline)) {
        constexpr auto y = out(k);
        if constexpr (y.k == store_kind::row || y.k == store_kind::total) {
          unroll<streams - 1>([&](auto s) __attribute__((always_inline)) {
            part[0][k] = combine(y.is_max, part[0][k], part[s + 1][k]);
          });
          acc[k] = combine(y.is_max, acc[k], part[0][k]);
        }
      });
    }
    unroll<Code.stores>([&](auto k) __attribute__((always_inline)) {
      constexpr auto y = out(k);
      if constexpr (y.k == store_kind::row) {
        T* const q = element<T>(w, y.slot, 0);
        const T x = reduce_lanes(y.is_max, acc[k]);
        *q = (moved & (y.reduced & ~(1u << (axes - 1)))) == 0 ? x : combine(y.is_max, *q, x);
      }
    });
  }

  // The outer axis along which neighbours of the operand lie, or the innermost one.
  static int axis_of_neighbours(const fused_arguments& a) {
    for (int k = 0; k < axes - 1; ++k)
      if (a.slot[0].stride[k] == 1) return k;
    return axes - 1;
  }
  // nest() for a copy: `cols` indices of axis `along` and all of the innermost one are transposed.
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

  template <int A> [[gnu::always_inline]] static void nest(V* acc, const fused_arguments& a,
                                                           const position& from, index_t lo, index_t hi,
                                                           unsigned moved) {
    position p;
    for (int k = 0; k < slots; ++k) p[k] = from[k];
    if constexpr (A == axes - 1) row(acc, a, p, lo, hi, moved);
    else {
      for (int k = 0; k < slots; ++k) p[k] += lo * a.slot[k].stride[A];
      for (index_t i = lo; i < hi; ++i) {
        nest<A + 1>(acc, a, p, 0, a.loop[A + 1], moved | (i > lo ? 1u << A : 0u));
        for (int k = 0; k < slots; ++k) p[k] += a.slot[k].stride[A];
      }
    }
  }

public:
  // Indices [lo, hi) of the outermost axis; past_first: sums over it go on where the call before left them.
  // @pre every loop extent > 0, lo < hi
  [[gnu::noinline]] static void run(const fused_arguments& a, index_t lo, index_t hi,
                                    bool past_first = false) {
    if constexpr (copies())
      if (const int along = axis_of_neighbours(a); along < axes - 1) {
        nest_transposed<0>(a, along, along == 0 ? hi - lo : a.loop[along], lo, hi,
                           static_cast<const T*>(base_of(a, 0)) + a.slot[0].start,
                           static_cast<T*>(base_of(a, 1)) + a.slot[1].start);
        if constexpr (Code.past_caches != 0) end_stores_past_caches();
        return;
      }
    V acc[Code.stores];
    unroll<Code.stores>([&](auto k) __attribute__((always_inline)) { acc[k] = V(identity<k>()); });
    position p;
    for (int k = 0; k < slots; ++k) p[k] = a.slot[k].start;
    nest<0>(acc, a, p, lo, hi, past_first ? 1u : 0u);
    if constexpr (Code.past_caches != 0) end_stores_past_caches();
    unroll<Code.stores>([&](auto k) __attribute__((always_inline)) {
      constexpr auto y = out(k);
      if constexpr (y.k == store_kind::total) {
        T* const q = static_cast<T*>(base_of(a, y.slot));
        const T x = reduce_lanes(y.is_max, acc[k]);
        *q = past_first ? combine(y.is_max, *q, x) : x;
      }
    });
  }
};

} // namespace tapeless::cpu
