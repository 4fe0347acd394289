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

} // namespace tapeless::cpu
