// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// |x|, the sign of x, the integers next to x, and what a division leaves. All are exact but remainder, which rounds once.
// NaN stays NaN. -0 stays -0, and what rounds to -0 is -0.
//   sign x = -1, x, 1   for x < 0, x = 0, x > 0
//   round x: the nearest integer, the even one of two, as in NumPy, PyTorch and JAX; std::round goes away from zero
//   fmod(x, y) = x - q y, q the quotient towards 0
//   remainder(x, y): the same with q towards minus infinity; it has the sign of y, also where it is 0
#pragma once
#include <cmath>
#include <cstddef>
#include <limits>
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

// V names the machine, as in reduction.hpp.
template <class V, class T> [[gnu::noinline]] void fmod_lanes(T* x, const T* y) {
  for (std::size_t i = 0; i < V::size; ++i) x[i] = std::fmod(x[i], y[i]);
}
template <class V> [[gnu::always_inline]] inline V fmod(const V& x, const V& y) {
  using T = typename V::value_type;
  const V a = xsimd::abs(x), b = xsimd::abs(y), zero(T(0));
  // The quotient is far from the last bits. A q that is too large does not take q b beyond the range.
  const auto quick = (b > zero) & (a < b * V(static_cast<T>(of_floats<V> ? 0x1p22 : 0x1p50))) &
                     (a < V(std::numeric_limits<T>::max() / 2));
  if (!xsimd::all(quick)) {
    alignas(64) T u[V::size], v[V::size];
    x.store_aligned(u);
    y.store_aligned(v);
    fmod_lanes<V>(u, v);
    return V::load_aligned(u);
  }
  // The quotient may be the next integer, if it was rounded to it. What is left is representable.
  const V q = cpu::floor(a / b), r = residual(-q, b, a), rest = select(r < zero, r + b, r);
  return with_sign(select(a < b, a, rest), x);
}
template <class V> [[gnu::always_inline]] inline V remainder(const V& x, const V& y) {
  using T = typename V::value_type;
  const V r = cpu::fmod(x, y), zero(T(0));
  const V other_sign = select((r < zero) == (y < zero), r, r + y);
  return select(r == zero, with_sign(r, y), other_sign);
}

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
template <> struct function_for<detail::op::fmod> {
  template <class V> [[gnu::always_inline]] static V of(const V& x, const V& y) { return cpu::fmod(x, y); }
};
template <> struct function_for<detail::op::remainder> {
  template <class V> [[gnu::always_inline]] static V of(const V& x, const V& y) {
    return cpu::remainder(x, y);
  }
};

} // namespace tapeless::cpu
