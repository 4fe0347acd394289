// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The code of a fused group for one vector of lanes: loads, elementwise ops and casts over registers. loop.hpp runs it
// over loops and stores what it computes.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include "../../core/bf16.hpp"
#include "../../core/element_type.hpp"
#include "../../core/saturated.hpp"
#include "../../expr/op.hpp"
#include "../../ops/custom.hpp"
#include "../../plan/ir/step.hpp"
#include "../base/bf16.hpp"
#include "../base/math/arithmetic.hpp"
#include "../base/operand.hpp"
#include "functions.hpp"
#include "integers.hpp"

namespace tapeless::cpu {

using detail::access;
using detail::instruction;
using detail::op;
using detail::store_kind;

// The template argument of a kernel: content only, so that equal groups share one instantiation.
template <int Codes, int Constants, int Stores, int Customs> struct fused_code {
  std::uint64_t code[Codes > 0 ? Codes : 1]{};
  std::uint64_t constant[Constants > 0 ? Constants : 1]{};
  std::uint64_t store[Stores]{};
  const detail::custom_op* custom[Customs > 0 ? Customs : 1]{};
  int slots = 0, axes = 1;
  // bit mask: dense stores of results that are larger than caches and not read again
  unsigned past_caches = 0;
  // for the first operands: the part of the next block's row that is prefetched meanwhile, in 1 / 128
  static constexpr int most_ahead = 8;
  std::uint8_t ahead_from[most_ahead]{}, ahead_to[most_ahead]{};
  static constexpr int codes = Codes, constants = Constants, stores = Stores, customs = Customs;
};

// The register class of t. f32 stands for both floating-point types: the kernel's T decides. In registers
// bf16 is a float and uint8 an int32.
constexpr dtype register_class(dtype t) {
  return t == dtype::f64 || t == dtype::bf16 ? dtype::f32 : t == dtype::u8 ? dtype::i32 : t;
}

// Is t a float in lanes of so many bytes, of doubles? Each is rounded, so that a loop computes what one of floats would.
constexpr bool is_float_of_doubles(dtype t, std::size_t bytes) { return bytes == 8 && t == dtype::f32; }

// V names the architecture, so that objects built with other flags have kernels of other names.
template <auto Code, class V> class fused_lanes {
  using T = typename V::value_type;
  using I = int_of<V>;
  using M = mask_of<V>;
  static constexpr int W = static_cast<int>(V::size), slots = Code.slots;
  static constexpr instruction at(int k) { return instruction(Code.code[k]); }
  static constexpr int registers(dtype t) {
    int n = 1;
    for (int k = 0; k < Code.codes; ++k)
      if (result_class(at(k)) == t && at(k).dst + 1 > n) n = at(k).dst + 1;
    return n;
  }
  static constexpr dtype result_class(const instruction& q) {
    if (detail::compares(q.o) || q.o == op::logical_and || q.o == op::logical_or || q.o == op::logical_not)
      return dtype::boolean;
    return register_class(q.o == op::cast ? static_cast<dtype>(q.imm) : q.t);
  }
  // Is the result of instruction k the same in every lane of a row? So are constants, extents, elements that do not
  // move, and quotients of these.
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
      r.is[k] =
          q.o == op::constant || q.o == op::extent ||
          (q.o == op::input && static_cast<access>(q.imm) == access::splat) ||
          (q.o == op::div && register_class(q.t) == dtype::f32 && made_by_one(k, q.a) && made_by_one(k, q.b));
    }
    return r;
  }();

public:
  struct registers_t {
    V f[registers(dtype::f32)];
    I i[registers(dtype::i32)];
    M b[registers(dtype::boolean)];
    std::int64_t l[registers(dtype::i64)][W];
    template <dtype C> [[gnu::always_inline]] auto& get(int k) {
      if constexpr (C == dtype::boolean) return b[k];
      else if constexpr (C == dtype::i64) return l[k];
      else if constexpr (C == dtype::i32) return i[k];
      else return f[k];
    }
  };
  static constexpr index_t ahead_from(int slot) { return slot < Code.most_ahead ? Code.ahead_from[slot] : 0; }
  static constexpr index_t fetched_ahead(int slot) {
    return slot < Code.most_ahead ? Code.ahead_to[slot] - Code.ahead_from[slot] : 0;
  }
  // What a row needs, in a local variable: SIMD stores may alias anything, so pointers read from memory would be read
  // again after each store.
  struct row_state {
    void* base[slots];
    index_t at[slots], stride[slots];
    const index_t* extent;
    index_t ahead[slots]; // distance, in elements, to the part of the next block that is prefetched
  };

  template <class E> [[gnu::always_inline]] static E* element(const row_state& w, int slot, index_t c) {
    return static_cast<E*>(w.base[slot]) + w.at[slot] + c;
  }

private:
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
      const std::uint8_t* const x = element<const std::uint8_t>(w, q.a, where);
      if constexpr (how == access::splat) r.b[q.dst] = M(*x != 0);
      else if constexpr (how == access::dense && !Partial) r.b[q.dst] = load_bool<V>(x);
      else if constexpr (how == access::dense) r.b[q.dst] = load_bool_n<V>(x, n);
      else {
        std::uint8_t t[W] = {};
        for (int k = 0; k < (Partial ? n : W); ++k) t[k] = x[k * stride];
        r.b[q.dst] = load_bool<V>(t);
      }
    } else if constexpr (q.t == dtype::u8) {
      const std::uint8_t* const x = element<const std::uint8_t>(w, q.a, where);
      if constexpr (how == access::splat) r.i[q.dst] = I(static_cast<typename I::value_type>(*x));
      else if constexpr (how == access::dense && !Partial) r.i[q.dst] = load_byte<V>(x);
      else r.i[q.dst] = load_byte_n<V>(x, stride, Partial ? n : W);
    } else if constexpr (q.t == dtype::i64) {
      const std::int64_t* const x = element<const std::int64_t>(w, q.a, where);
      for (int k = 0; k < W; ++k)
        r.l[q.dst][k] = how == access::splat ? *x : !Partial || k < n ? x[k * stride] : 0;
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
    } else if constexpr (is_float_of_doubles(q.t, sizeof(T))) {
      const float* const x = element<const float>(w, q.a, where);
      if constexpr (how == access::splat) r.f[q.dst] = V(static_cast<T>(*x));
      else if constexpr (how == access::dense && !Partial) r.f[q.dst] = load_floats<V>(x);
      else r.f[q.dst] = load_floats_n<V>(x, stride, Partial ? n : W);
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
    constexpr dtype C = register_class(q.t);
    auto& dst = r.template get<result_class(q)>(q.dst);
    if constexpr (C == dtype::i64 && q.o == op::constant) {
      constexpr auto x = detail::saturated<std::int64_t>(std::bit_cast<double>(Code.constant[q.imm]));
      std::fill_n(dst, W, x);
    } else if constexpr (C == dtype::i64 && q.o != op::cast) { // copy, stop_gradient
      std::copy_n(r.l[q.a], W, dst);
    } else if constexpr (q.o == op::constant) {
      constexpr double x = std::bit_cast<double>(Code.constant[q.imm]);
      if constexpr (C == dtype::boolean) dst = M(x != 0);
      else if constexpr (C == dtype::i32) dst = I(static_cast<typename I::value_type>(x));
      else if constexpr (is_float_of_doubles(q.t, sizeof(T))) dst = V(static_cast<T>(static_cast<float>(x)));
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
      const auto mask = [](const auto& m) {
        if constexpr (C == dtype::i32) return mask_cast<T>(m);
        else return m;
      };
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
      else if constexpr (q.o == op::copy || q.o == op::stop_gradient || q.o == op::widen ||
                         q.o == op::convert)
        dst = x;
      else if constexpr (C == dtype::i32 && detail::takes_two(q.o)) dst = of_ints<q.o>(x, bank[q.b]);
      else if constexpr (C == dtype::i32) dst = of_ints<q.o>(x, x);
      else if constexpr (detail::takes_two(q.o)) dst = function_for<q.o>::of(x, bank[q.b]);
      else dst = function_for<q.o>::of(x);
      if constexpr (C == dtype::i32 && leaves_int32(q.o)) dst = wrapped(dst);
    }
    if constexpr (result_class(q) == dtype::f32 && q.o != op::constant &&
                  is_float_of_doubles(q.o == op::cast || q.o == op::convert ? static_cast<dtype>(q.imm) : q.t,
                                      sizeof(T)))
      dst = round_to_floats(dst);
  }
  template <int K> [[gnu::always_inline]] static void custom_lanes(registers_t& r, V& dst) {
    constexpr instruction q = at(K);
    constexpr const detail::custom_op* custom = Code.custom[q.imm];
    alignas(64) T x[3][W], y[W];
    r.f[q.a].store_aligned(x[0]);
    r.f[q.b].store_aligned(x[1]);
    r.f[q.c].store_aligned(x[2]);
    const T* const in[3] = {x[0], x[1], x[2]};
    if constexpr (std::is_same_v<T, float>) custom->lanes_f32(in, y, W);
    else custom->lanes_f64(in, y, W);
    dst = V::load_aligned(y);
  }
  // Lanes of int64 are not vectors: a cast goes through memory.
  template <dtype To, class D> [[gnu::always_inline]] static void from_int64(const std::int64_t (&x)[W],
                                                                             D& dst) {
    const auto each = [&](auto* t, auto f) __attribute__((always_inline)) {
      for (int k = 0; k < W; ++k) t[k] = f(x[k]);
    };
    if constexpr (To == dtype::i64) std::copy_n(x, W, dst);
    else if constexpr (register_class(To) == dtype::f32) {
      alignas(64) T t[W];
      each(t, [](std::int64_t e) { return static_cast<T>(e); });
      dst = V::load_aligned(t);
    } else if constexpr (To == dtype::i32) {
      std::int32_t t[W];
      each(t, detail::saturated<std::int32_t, std::int64_t>);
      dst = load_int<V>(t);
    } else {
      std::uint8_t t[W];
      if constexpr (To == dtype::u8) {
        each(t, detail::saturated<std::uint8_t, std::int64_t>);
        dst = load_byte<V>(t);
      } else {
        each(t, [](std::int64_t e) { return static_cast<std::uint8_t>(e != 0); });
        dst = load_bool<V>(t);
      }
    }
  }
  template <dtype From> [[gnu::always_inline]] static void to_int64(registers_t& r, int a,
                                                                    std::int64_t (&dst)[W]) {
    const auto each = [&](const auto* t) __attribute__((always_inline)) {
      for (int k = 0; k < W; ++k) dst[k] = detail::saturated<std::int64_t>(t[k]);
    };
    if constexpr (From == dtype::f32) {
      alignas(64) T t[W];
      r.f[a].store_aligned(t);
      each(t);
    } else if constexpr (From == dtype::i32) {
      std::int32_t t[W];
      store_int(t, r.i[a]);
      each(t);
    } else {
      bool t[W];
      store_bool(t, r.b[a]);
      each(t);
    }
  }
  template <int K, class D> [[gnu::always_inline]] static void cast(registers_t& r, D& dst) {
    constexpr instruction q = at(K);
    constexpr dtype type = static_cast<dtype>(q.imm), from = register_class(q.t), to = register_class(type);
    if constexpr (from == dtype::i64) from_int64<type>(r.l[q.a], dst);
    else if constexpr (to == dtype::i64) to_int64<from>(r, q.a, dst);
    else if constexpr (type == dtype::u8 && from == dtype::f32) { // NaN is not above 0
      const V x = r.f[q.a], top(T(255));
      dst = float_to_int(select(x > V(T(0)), select(x < top, x, top), V(T(0))));
    } else if constexpr (type == dtype::u8 && q.t == dtype::i32) {
      const I x = r.i[q.a], low(typename I::value_type(0)), top(typename I::value_type(255));
      dst = select(x > low, select(x < top, x, top), low);
    } else if constexpr (from == to) dst = r.template get<from>(q.a);
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

public:
  // The instructions that are the same in every lane of a row, or those that are not.
  template <bool Invariant, bool Partial, int... K>
  [[gnu::always_inline]] static void execute_all(registers_t& r, const row_state& w, index_t c, int n,
                                                 std::integer_sequence<int, K...>) {
    (execute<K, Invariant, Partial>(r, w, c, n), ...);
  }
  using all_codes = std::make_integer_sequence<int, Code.codes>;
};

} // namespace tapeless::cpu
