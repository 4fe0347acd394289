// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// |x|, the sign of x, and the integers next to x: exact. NaN stays NaN, -0 stays -0, and so does what rounds to it.
//   sign x = -1, x, 1   for x < 0, x = 0, x > 0
//   round x: the nearest integer, the even one of two, as in NumPy, PyTorch and JAX; std::round goes away from zero
#pragma once
#include "../../../expr/op.hpp"
#include "../simd/vector.hpp"
#include "arithmetic.hpp"

namespace tapeless::cpu {

template <class V> [[gnu::always_inline]] inline V abs(const V& x) { return xsimd::abs(x); }
template <class V> [[gnu::always_inline]] inline V sign(const V& x) {
  using T = typename V::value_type;
  const V zero(T(0));
  return select(x > zero, V(T(1)), select(x < zero, V(T(-1)), x));
}
#if defined(__SSE2__) && !defined(__SSE4_1__)
// xsimd has no instruction for them there, and loses the sign of zero
template <class V> [[gnu::always_inline]] inline V floor(const V& x) { return with_sign(xsimd::floor(x), x); }
template <class V> [[gnu::always_inline]] inline V ceil(const V& x) { return with_sign(xsimd::ceil(x), x); }
template <class V> [[gnu::always_inline]] inline V round(const V& x) {
  return with_sign(xsimd::nearbyint(x), x);
}
#else
template <class V> [[gnu::always_inline]] inline V floor(const V& x) { return xsimd::floor(x); }
template <class V> [[gnu::always_inline]] inline V ceil(const V& x) { return xsimd::ceil(x); }
template <class V> [[gnu::always_inline]] inline V round(const V& x) { return xsimd::nearbyint(x); }
#endif

// ---- by op
template <> struct function_for<detail::op::abs> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return cpu::abs(x); }
};
template <> struct function_for<detail::op::sign> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return cpu::sign(x); }
};
template <> struct function_for<detail::op::floor> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return cpu::floor(x); }
};
template <> struct function_for<detail::op::ceil> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return cpu::ceil(x); }
};
template <> struct function_for<detail::op::round> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return cpu::round(x); }
};

} // namespace tapeless::cpu
