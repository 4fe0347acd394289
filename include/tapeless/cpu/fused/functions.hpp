// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The functions of one or two vectors of floating-point numbers, by op. base/math.hpp has most of them.
#pragma once
#include <cmath>
#include "../../expr/op.hpp"
#include "../base/bf16.hpp"
#include "../base/math.hpp"
#include "../base/simd.hpp"

namespace tapeless::cpu {

// If x is a NaN, so is the maximum of y and x. So only y is tested, which no earlier step of a reduction has to wait for.
template <class V> [[gnu::always_inline]] inline V nan_wins_max(const V& x, const V& y) {
  return select(y == y, max_or_second(y, x), y);
}

// y = f(x)
template <detail::op O, class V> [[gnu::always_inline]] inline V function(const V& x) {
  using detail::op;
  if constexpr (O == op::sqrt) return xsimd::sqrt(x);
  else if constexpr (O == op::exp) return cpu::exp(x);
  else if constexpr (O == op::log) return cpu::log(x);
  else if constexpr (O == op::tanh) return cpu::tanh(x);
  else if constexpr (O == op::erf) return cpu::erf(x);
  else if constexpr (O == op::sigmoid) return cpu::sigmoid(x);
  else if constexpr (O == op::sin) return cpu::sin(x);
  else if constexpr (O == op::cos) return cpu::cos(x);
  else if constexpr (O == op::tan) return cpu::tan(x);
  else if constexpr (O == op::asin) return cpu::asin(x);
  else if constexpr (O == op::acos) return cpu::acos(x);
  else if constexpr (O == op::atan) return cpu::atan(x);
  else if constexpr (O == op::sinh) return cpu::sinh(x);
  else if constexpr (O == op::cosh) return cpu::cosh(x);
  else if constexpr (O == op::asinh) return cpu::asinh(x);
  else if constexpr (O == op::acosh) return cpu::acosh(x);
  else if constexpr (O == op::atanh) return cpu::atanh(x);
  else if constexpr (O == op::exp2) return cpu::exp2(x);
  else if constexpr (O == op::expm1) return cpu::expm1(x);
  else if constexpr (O == op::log1p) return cpu::log1p(x);
  else if constexpr (O == op::log2) return cpu::log2(x);
  else if constexpr (O == op::log10) return cpu::log10(x);
  else if constexpr (O == op::rsqrt) return cpu::rsqrt(x);
  else if constexpr (O == op::cbrt) return cpu::cbrt(x);
  else if constexpr (O == op::floor) return cpu::floor(x);
  else if constexpr (O == op::ceil) return cpu::ceil(x);
  else if constexpr (O == op::round) return cpu::round(x);
  else if constexpr (O == op::softplus) return cpu::softplus(x);
  else if constexpr (O == op::erfc) return cpu::erfc(x);
  else if constexpr (O == op::abs) return cpu::abs(x);
  else if constexpr (O == op::sign) return cpu::sign(x);
  else if constexpr (O == op::narrow) return round_to_bf16(x);
  else if constexpr (O == op::relu) return select(x <= V(0), V(0), x); // a NaN stays
  else static_assert(O == op::count_, "tapeless: an elementwise op has a line in cpu/fused/functions.hpp");
}
// z = f(x, y)
template <detail::op O, class V> [[gnu::always_inline]] inline V function(const V& x, const V& y) {
  using detail::op;
  using T = typename V::value_type;
  if constexpr (O == op::div) return x / y;
  else if constexpr (O == op::max) return nan_wins_max(x, y);
  // != of xsimd 8.1 is false for a NaN on AVX
  else if constexpr (O == op::min) return select((x <= y) | !(x == x), x, y);
  else if constexpr (O == op::atan2) return cpu::atan2(x, y);
  else if constexpr (O == op::pow) {
    alignas(64) T u[V::size], v[V::size];
    x.store_aligned(u);
    y.store_aligned(v);
    for (std::size_t k = 0; k < V::size; ++k) u[k] = std::pow(u[k], v[k]);
    return V::load_aligned(u);
  } else static_assert(O == op::count_, "tapeless: an elementwise op has a line in cpu/fused/functions.hpp");
}

} // namespace tapeless::cpu
