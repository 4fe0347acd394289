// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Ops of lanes of int32, defined for all operands as expr/integer.hpp says. Lanes of 64 bits hold numbers of 32.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include "../../expr/op.hpp"
#include "../base/simd.hpp"

namespace tapeless::cpu {

// The lanes as vectors of the compiler
template <class I> using int32_lanes = typename vector_of<std::int32_t, static_cast<int>(I::size)>::type;
template <class I> using uint32_lanes = typename vector_of<std::uint32_t, static_cast<int>(I::size)>::type;
template <class I> [[gnu::always_inline]] inline int32_lanes<I> to_int32(const I& x) {
  using S = typename I::value_type;
  if constexpr (sizeof(S) == 4) return std::bit_cast<int32_lanes<I>>(x.data);
  else return convert<S, std::int32_t, static_cast<int>(I::size), int32_lanes<I>>(x.data);
}
template <class I> [[gnu::always_inline]] inline I from_int32(const int32_lanes<I>& x) {
  using S = typename I::value_type;
  using R = typename I::register_type;
  if constexpr (sizeof(S) == 4) return I(std::bit_cast<R>(x));
  else return I(convert<std::int32_t, S, static_cast<int>(I::size), R>(x));
}
/// The sum or product x, modulo 2^32.
template <class I> [[gnu::always_inline]] inline I wrapped(const I& x) {
  if constexpr (sizeof(typename I::value_type) == 4) return x;
  else return from_int32<I>(to_int32(x));
}

// x / y of N lanes, by way of doubles, as many at once as a register of so many bytes holds. Their quotient is exact enough: it is at
// least 2^-32 below the next integer.   @pre y is neither 0 nor, where x is -2^31, -1
template <int N, int Bytes, class Ints> [[gnu::always_inline]] inline Ints quotients(const Ints& x,
                                                                                     const Ints& y) {
  if constexpr (N * 8 > Bytes) {
    using part = typename vector_of<std::int32_t, N / 2>::type;
    part u[2], v[2];
    std::memcpy(u, &x, sizeof x);
    std::memcpy(v, &y, sizeof y);
    for (int k = 0; k < 2; ++k) u[k] = quotients<N / 2, Bytes>(u[k], v[k]);
    Ints q;
    std::memcpy(&q, u, sizeof q);
    return q;
  } else {
    using doubles = typename vector_of<double, N>::type;
    return __builtin_convertvector(__builtin_convertvector(x, doubles) / __builtin_convertvector(y, doubles),
                                   Ints);
  }
}
/// The quotient, if O says so, or the rest.
template <detail::op O, class I> [[gnu::always_inline]] inline I divided(const I& a, const I& b) {
  using ints = int32_lanes<I>;
  using unsigned_ints = uint32_lanes<I>;
  const ints x = to_int32(a), y = to_int32(b), by_minus_one = y == -1, special = (y == 0) | by_minus_one;
  const ints divisor = (y & ~special) | (special & 1);
  const ints quotient = quotients<static_cast<int>(I::size), sizeof(I)>(x, divisor);
  const auto u = std::bit_cast<unsigned_ints>(x);
  const ints negative = std::bit_cast<ints>(-u);
  const ints q = (quotient & ~special) | (negative & by_minus_one);
  if constexpr (O == detail::op::quotient) return from_int32<I>(q);
  else
    return from_int32<I>(
        std::bit_cast<ints>(u - std::bit_cast<unsigned_ints>(q) * std::bit_cast<unsigned_ints>(y)));
}
template <detail::op O, class I> [[gnu::always_inline]] inline I shifted(const I& a, const I& b) {
  using ints = int32_lanes<I>;
  using unsigned_ints = uint32_lanes<I>;
  const ints x = to_int32(a), y = to_int32(b);
  const ints inside = std::bit_cast<ints>(std::bit_cast<unsigned_ints>(y) < 32u);
  if constexpr (O == detail::op::shift_left) {
    const unsigned_ints moved = std::bit_cast<unsigned_ints>(x) << std::bit_cast<unsigned_ints>(y & 31);
    return from_int32<I>(std::bit_cast<ints>(moved) & inside);
  } else return from_int32<I>(x >> ((y & inside) | (31 & ~inside)));
}
template <detail::op O, class I> [[gnu::always_inline]] inline I of_bits(const I& a, const I& b) {
  const int32_lanes<I> x = to_int32(a), y = to_int32(b);
  if constexpr (O == detail::op::bit_and) return from_int32<I>(x & y);
  else if constexpr (O == detail::op::bit_or) return from_int32<I>(x | y);
  else return from_int32<I>(x ^ y);
}

// f(x), or f(x, y), of what is not an operator of vectors
template <detail::op O, class I> [[gnu::always_inline]] inline I of_ints(const I& x, const I& y) {
  using detail::op;
  using S = typename I::value_type;
  const I zero(S(0));
  if constexpr (O == op::max) return select(x >= y, x, y);
  else if constexpr (O == op::min) return select(x <= y, x, y);
  else if constexpr (O == op::abs) return select(x < zero, -x, x);
  else if constexpr (O == op::sign) return select(x > zero, I(S(1)), select(x < zero, I(S(-1)), zero));
  else if constexpr (O == op::quotient || O == op::modulo) return divided<O>(x, y);
  else if constexpr (O == op::shift_left || O == op::shift_right) return shifted<O>(x, y);
  else if constexpr (O == op::bit_and || O == op::bit_or || O == op::bit_xor) return of_bits<O>(x, y);
  else
    static_assert(O == op::count_,
                  "tapeless: an elementwise op of int32 has a line in cpu/fused/integers.hpp");
}
// Is the result of op o, in lanes of 64 bits, perhaps more than 32?
constexpr bool leaves_int32(detail::op o) {
  using detail::op;
  return o == op::neg || o == op::square || o == op::add || o == op::sub || o == op::mul || o == op::abs;
}

} // namespace tapeless::cpu
