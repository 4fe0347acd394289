// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// function_for<op> of ops that are an instruction or a call of the C library. base/math.hpp has the others.
#pragma once
#include <cmath>
#include <cstddef>
#include "../../expr/op.hpp"
#include "../base/bf16.hpp"
#include "../base/math.hpp" // IWYU pragma: export
#include "../base/math/arithmetic.hpp"
#include "../base/simd.hpp"

namespace tapeless::cpu {

template <> struct function_for<detail::op::sqrt> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return xsimd::sqrt(x); }
};
template <> struct function_for<detail::op::narrow> {
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return round_to_bf16(x); }
};
template <> struct function_for<detail::op::relu> { // a NaN stays
  template <class V> [[gnu::always_inline]] static V of(const V& x) { return select(x <= V(0), V(0), x); }
};
template <> struct function_for<detail::op::div> {
  template <class V> [[gnu::always_inline]] static V of(const V& x, const V& y) { return x / y; }
};
// A NaN wins, as in nan_wins_max. opaque: a masked maximum with an operand in memory takes twice as long.
template <> struct function_for<detail::op::max> {
  template <class V> [[gnu::always_inline]] static V of(const V& x, const V& y) {
    V larger = max_or_second(y, x);
    opaque(larger);
    return select(y == y, larger, y);
  }
};
template <> struct function_for<detail::op::min> {
  template <class V> [[gnu::always_inline]] static V of(const V& x, const V& y) {
    V smaller = min_or_second(y, x);
    opaque(smaller);
    return select(y == y, smaller, y);
  }
};
template <> struct function_for<detail::op::pow> {
  template <class V> [[gnu::always_inline]] static V of(const V& x, const V& y) {
    using T = typename V::value_type;
    alignas(64) T u[V::size], v[V::size];
    x.store_aligned(u);
    y.store_aligned(v);
    for (std::size_t k = 0; k < V::size; ++k) u[k] = std::pow(u[k], v[k]);
    return V::load_aligned(u);
  }
};

} // namespace tapeless::cpu
