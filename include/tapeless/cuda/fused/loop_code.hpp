// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The code of a fused loop as a type, and its execution for one position: registers = code(loads).
// Words are read in constant expressions alone: a compiler of the device makes a trap, without a word, of a static array that
// is read at run time. Hence the recursions over constants.
#pragma once
#include "../../core/bf16.hpp"
#include "../../core/element_type.hpp"
#include "../../core/saturated.hpp"
#include "../../expr/integer.hpp"
#include "../../expr/op.hpp"
#include "../../plan/ir/instruction.hpp"
#include "../base/block.hpp"
#include "../base/functions.hpp"

namespace tapeless::cuda {

using detail::access;
using detail::instruction;
using detail::op;
using detail::store_kind;

// axes | slots | codes | constants | stores | extents | wide | counted, a byte each; then code, constants, stores
template <std::uint64_t... W> struct words {
  static constexpr std::uint64_t word[sizeof...(W)] = {W...};
};

// f32 stands for both floating-point types. In registers bf16 is a float and uint8 an int32.
constexpr dtype register_class(dtype t) {
  return t == dtype::f64 || t == dtype::bf16 ? dtype::f32 : t == dtype::u8 ? dtype::i32 : t;
}
constexpr dtype class_of_result(const instruction& q) {
  if (detail::compares(q.o) || q.o == op::logical_and || q.o == op::logical_or || q.o == op::logical_not)
    return dtype::boolean;
  return register_class(q.o == op::cast ? static_cast<dtype>(q.imm) : q.t);
}
template <bool Wide> struct float_of {
  using type = float;
};
template <> struct float_of<true> {
  using type = double;
};

template <class W> struct loop_words {
  static constexpr int byte(int k) { return static_cast<int>((W::word[0] >> (8 * k)) & 255); }
  static constexpr int axes = byte(0), slots = byte(1), codes = byte(2), constants = byte(3),
                       stores = byte(4), extents = byte(5);
  using T = typename float_of<byte(6) != 0>::type;
  // Axes, a bit each, along which only counted rows are there: the device knows how many. The others are left out, what is
  // stored of them is 0.
  static constexpr unsigned counted = static_cast<unsigned>(byte(7));
  static constexpr instruction at(int k) { return instruction(W::word[1 + k]); }
  static constexpr std::uint64_t constant(int k) { return W::word[1 + codes + k]; }
  static constexpr detail::store out(int k) { return detail::store(W::word[1 + codes + constants + k]); }
  static constexpr bool is_sum(int k) { return out(k).k != store_kind::dense; }
  // The number of sums ahead of store k.
  static constexpr int sums_before(int k) {
    int n = 0;
    for (int j = 0; j < k; ++j) n += is_sum(j) ? 1 : 0;
    return n;
  }
  static constexpr int sums = sums_before(stores);
  // The axes that the sums are over, the same for all of them; the others are those of items.
  static constexpr unsigned terms = [] {
    for (int k = 0; k < stores; ++k)
      if (is_sum(k)) return out(k).reduced;
    return 0u;
  }();
  static constexpr bool is_term(int axis) { return ((terms >> axis) & 1u) != 0; }
  static constexpr bool is_counted(int axis) { return ((counted >> axis) & 1u) != 0; }
  static constexpr int registers(dtype c) {
    int n = 1;
    for (int k = 0; k < codes; ++k)
      if (class_of_result(at(k)) == c && at(k).dst + 1 > n) n = at(k).dst + 1;
    return n;
  }
};

// What the code reads and writes. at: the position in each slot, in elements
template <class W> struct loop_memory {
  using loop = loop_words<W>;
  void* base[loop::slots];
  index_t start[loop::slots]; // iota: the first value
  // times the count, where it is not nullptr
  index_t extent[loop::extents > 0 ? loop::extents : 1];
  const index_t* extent_count[loop::extents > 0 ? loop::extents : 1];
};

// A custom op of three numbers: exec/loop_step.hpp has that of the host.
template <auto Op, class T> TAPELESS_KERNEL T custom_function(T x, T y, T z);

template <class W, auto... Custom> class loop_code {
  using loop = loop_words<W>;

public:
  using T = typename loop::T;
  struct registers {
    T f[loop::registers(dtype::f32)];
    std::int32_t i[loop::registers(dtype::i32)];
    bool b[loop::registers(dtype::boolean)];
    std::int64_t l[loop::registers(dtype::i64)];
    template <dtype C> TAPELESS_KERNEL auto& get(int k) {
      if constexpr (C == dtype::boolean) return b[k];
      else if constexpr (C == dtype::i64) return l[k];
      else if constexpr (C == dtype::i32) return i[k];
      else return f[k];
    }
  };
  template <int K = 0>
  TAPELESS_KERNEL static void run(registers& r, const loop_memory<W>& m, const index_t* at) {
    if constexpr (K < loop::codes) {
      constexpr instruction q = loop::at(K);
      auto& y = r.template get<class_of_result(q)>(q.dst);
      if constexpr (q.o == op::input) load<K>(y, m, at);
      else compute<K>(y, r, m);
      run<K + 1>(r, m, at);
    }
  }
  // Writes the stores that are no sums.
  template <int K = 0>
  TAPELESS_KERNEL static void store(const registers& r, const loop_memory<W>& m, const index_t* at) {
    if constexpr (K < loop::stores) {
      constexpr detail::store y = loop::out(K);
      if constexpr (y.k == store_kind::dense) {
        if constexpr (y.t == dtype::boolean) static_cast<bool*>(m.base[y.slot])[at[y.slot]] = r.b[y.reg];
        else if constexpr (y.t == dtype::u8)
          static_cast<std::uint8_t*>(m.base[y.slot])[at[y.slot]] = static_cast<std::uint8_t>(r.i[y.reg]);
        else if constexpr (y.t == dtype::i64)
          static_cast<std::int64_t*>(m.base[y.slot])[at[y.slot]] = r.l[y.reg];
        else if constexpr (y.t == dtype::i32)
          static_cast<std::int32_t*>(m.base[y.slot])[at[y.slot]] = r.i[y.reg];
        else if constexpr (y.t == dtype::bf16)
          static_cast<bf16*>(m.base[y.slot])[at[y.slot]] = bf16(static_cast<float>(r.f[y.reg]));
        else if constexpr (is_float_of_doubles(y.t))
          static_cast<float*>(m.base[y.slot])[at[y.slot]] = static_cast<float>(r.f[y.reg]);
        else static_cast<T*>(m.base[y.slot])[at[y.slot]] = r.f[y.reg];
      }
      store<K + 1>(r, m, at);
    }
  }

private:
  // Is it a float in a loop of doubles? Each is rounded, so that a loop computes what one of floats would.
  static constexpr bool is_float_of_doubles(dtype t) { return sizeof(T) == 8 && t == dtype::f32; }
  template <int K, class Y> TAPELESS_KERNEL static void load(Y& y, const loop_memory<W>& m,
                                                             const index_t* at) {
    constexpr instruction q = loop::at(K);
    if constexpr (static_cast<access>(q.imm) == access::index) y = static_cast<Y>(m.start[q.a] + at[q.a]);
    else if constexpr (q.t == dtype::bf16)
      y = static_cast<Y>(static_cast<float>(static_cast<const bf16*>(m.base[q.a])[at[q.a]]));
    else if constexpr (q.t == dtype::u8) y = static_cast<const std::uint8_t*>(m.base[q.a])[at[q.a]];
    else if constexpr (is_float_of_doubles(q.t))
      y = static_cast<Y>(static_cast<const float*>(m.base[q.a])[at[q.a]]);
    else y = static_cast<const Y*>(m.base[q.a])[at[q.a]];
  }
  template <class Y, class X> TAPELESS_KERNEL static Y converted(X x) {
    if constexpr (sizeof(Y) == 1) return x != X(0);
    else if constexpr (Y(0.5) == Y(0)) return detail::saturated<Y>(x);
    else return static_cast<Y>(x);
  }
  template <int K, class Y> TAPELESS_KERNEL static void compute(Y& y, registers& r, const loop_memory<W>& m) {
    constexpr instruction q = loop::at(K);
    constexpr dtype C = register_class(q.t);
    if constexpr (q.o == op::constant) {
      constexpr std::uint64_t bits = loop::constant(q.imm);
      constexpr double x = __builtin_bit_cast(double, bits);
      y = converted<Y>(x);
    } else if constexpr (q.o == op::extent)
      y = converted<Y>(m.extent_count[q.imm] == nullptr ? m.extent[q.imm]
                                                        : m.extent[q.imm] * *m.extent_count[q.imm]);
    else if constexpr (q.o == op::where) y = r.b[q.a] ? r.template get<C>(q.b) : r.template get<C>(q.c);
    else if constexpr (q.o == op::cast && static_cast<dtype>(q.imm) == dtype::u8)
      y = detail::saturated<std::uint8_t>(r.template get<C>(q.a));
    else if constexpr (q.o == op::cast) y = converted<Y>(r.template get<C>(q.a));
    else if constexpr (q.o == op::custom_elementwise) {
      constexpr auto of = nth<q.imm, Custom...>();
      y = custom_function<of>(r.f[q.a], r.f[q.b], r.f[q.c]);
    } else arithmetic<K>(y, r.template get<C>(q.a), r.template get<C>(q.b));
    if constexpr (class_of_result(q) == dtype::f32 &&
                  is_float_of_doubles(q.o == op::cast || q.o == op::convert ? static_cast<dtype>(q.imm)
                                                                            : q.t))
      y = static_cast<float>(y);
  }
  template <int N, auto First, auto... More> static constexpr auto nth() {
    if constexpr (N == 0) return First;
    else return nth<N - 1, More...>();
  }
  template <int K, class Y, class X> TAPELESS_KERNEL static void arithmetic(Y& y, X a, X b) {
    constexpr instruction q = loop::at(K);
    constexpr dtype C = register_class(q.t);
    if constexpr (q.o == op::copy || q.o == op::stop_gradient || q.o == op::widen || q.o == op::convert)
      y = a;
    else if constexpr (q.o == op::eq) y = a == b;
    else if constexpr (q.o == op::ne) y = a != b;
    else if constexpr (q.o == op::logical_not) y = !a;
    else if constexpr (q.o == op::logical_and) y = a && b;
    else if constexpr (q.o == op::logical_or) y = a || b;
    else if constexpr (q.o == op::lt) y = a < b;
    else if constexpr (q.o == op::le) y = a <= b;
    else if constexpr (q.o == op::gt) y = a > b;
    else if constexpr (q.o == op::ge) y = a >= b;
    else if constexpr (C == dtype::i32) y = of_int<q.o>(a, b);
    else if constexpr (q.o == op::neg) y = -a;
    else if constexpr (q.o == op::square) y = a * a;
    else if constexpr (q.o == op::add) y = a + b;
    else if constexpr (q.o == op::sub) y = a - b;
    else if constexpr (q.o == op::mul) y = a * b;
    else if constexpr (detail::takes_two(q.o)) y = function<q.o>(a, b);
    else y = function<q.o>(a);
  }
  // Sums and products wrap around.
  template <op O> TAPELESS_KERNEL static std::int32_t of_int(std::int32_t a, std::int32_t b) {
    const auto u = static_cast<std::uint32_t>(a), v = static_cast<std::uint32_t>(b);
    if constexpr (O == op::neg) return static_cast<std::int32_t>(0u - u);
    else if constexpr (O == op::square) return static_cast<std::int32_t>(u * u);
    else if constexpr (O == op::add) return static_cast<std::int32_t>(u + v);
    else if constexpr (O == op::sub) return static_cast<std::int32_t>(u - v);
    else if constexpr (O == op::mul) return static_cast<std::int32_t>(u * v);
    else if constexpr (O == op::max) return a >= b ? a : b;
    else if constexpr (O == op::min) return a <= b ? a : b;
    else if constexpr (O == op::abs) return a < 0 ? static_cast<std::int32_t>(0u - u) : a;
    else if constexpr (O == op::sign) return a > 0 ? 1 : a < 0 ? -1 : 0;
    else if constexpr (O == op::quotient) return detail::int_quotient(a, b);
    else if constexpr (O == op::modulo) return detail::int_modulo(a, b);
    else if constexpr (O == op::bit_and) return a & b;
    else if constexpr (O == op::bit_or) return a | b;
    else if constexpr (O == op::bit_xor) return a ^ b;
    else if constexpr (O == op::shift_left) return detail::shifted_left(a, b);
    else if constexpr (O == op::shift_right) return detail::shifted_right(a, b);
    else
      static_assert(O == op::count_,
                    "tapeless: an elementwise op of int32 has a line in cuda/fused/loop_code.hpp");
  }
};

} // namespace tapeless::cuda
