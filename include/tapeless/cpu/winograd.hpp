// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Minimal filtering F(M x M, 3 x 3): M x M outputs of a 3 x 3 filter from (M + 2)^2 products,
//   y = At [(G w Gt) . (Bt x B)] A       x: (M + 2, M + 2)   w: (3, 3)   y: (M, M)   . lane by lane
// (S. Winograd, Arithmetic Complexity of Computations, 1980; A. Lavin and S. Gray, Fast Algorithms for Convolutional
// Neural Networks, 2016). The functions below are one axis of each transform and of the transposes that wgrad takes.
#include "simd.hpp"

namespace tapeless::cpu::detail {

template <int M> struct winograd;

// Points 0, 1, -1 and infinity.
template <> struct winograd<2> {
  static constexpr int size = 4;
  struct data { // Bt
    template <class V> [[gnu::always_inline]] void operator()(const V (&x)[4], V (&r)[4]) const {
      r[0] = x[0] - x[2];
      r[1] = x[1] + x[2];
      r[2] = x[2] - x[1];
      r[3] = x[1] - x[3];
    }
  };
  struct weights { // G
    template <class V> [[gnu::always_inline]] void operator()(const V (&w)[3], V (&r)[4]) const {
      using T = typename V::value_type;
      const V ends = (w[0] + w[2]) * V(T(0.5)), middle = w[1] * V(T(0.5));
      r[0] = w[0];
      r[1] = ends + middle;
      r[2] = ends - middle;
      r[3] = w[2];
    }
  };
  struct result { // At
    template <class V> [[gnu::always_inline]] void operator()(const V (&m)[4], V (&y)[2]) const {
      y[0] = m[0] + m[1] + m[2];
      y[1] = m[1] - m[2] - m[3];
    }
  };
  struct cotangent { // A
    template <class V> [[gnu::always_inline]] void operator()(const V (&y)[2], V (&r)[4]) const {
      r[0] = y[0];
      r[1] = y[0] + y[1];
      r[2] = y[0] - y[1];
      r[3] = -y[1];
    }
  };
  struct weights_cotangent { // Gt
    template <class V> [[gnu::always_inline]] void operator()(const V (&u)[4], V (&w)[3]) const {
      using T = typename V::value_type;
      const V even = (u[1] + u[2]) * V(T(0.5));
      w[0] = u[0] + even;
      w[1] = (u[1] - u[2]) * V(T(0.5));
      w[2] = even + u[3];
    }
  };
};

/// f along the rows and the columns of `in`.
template <int In, int Out, class F, class V>
[[gnu::always_inline]] inline void both_axes(F f, const V (&in)[In][In], V (&out)[Out][Out]) {
  V half[Out][In];
  unroll<In>([&](auto column) __attribute__((always_inline)) {
    V x[In], r[Out];
    unroll<In>([&](auto i) __attribute__((always_inline)) { x[i] = in[i][column]; });
    f(x, r);
    unroll<Out>([&](auto i) __attribute__((always_inline)) { half[i][column] = r[i]; });
  });
  unroll<Out>([&](auto row) __attribute__((always_inline)) { f(half[row], out[row]); });
}

} // namespace tapeless::cpu::detail
