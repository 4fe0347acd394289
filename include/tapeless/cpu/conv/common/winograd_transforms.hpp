// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Minimal filtering F(M x M, 3 x 3): M x M outputs of a 3 x 3 filter from (M + 2)^2 products,
//   y = At [(G w Gt) . (Bt x B)] A       x: (M + 2, M + 2)   w: (3, 3)   y: (M, M)   . is element by element
// (S. Winograd, Arithmetic Complexity of Computations, 1980; A. Lavin and S. Gray, Fast Algorithms for Convolutional
// Neural Networks, 2016). The functions below do one axis of each transform, and of the transposes for wgrad.

namespace tapeless::cpu {

template <int M> struct winograd;

// Points 0, 1, -1 and infinity.
template <> struct winograd<2> {
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

// Points 0, 1, -1, 2, -2 and infinity.
template <> struct winograd<4> {
  struct data { // Bt
    template <class V> [[gnu::always_inline]] void operator()(const V (&x)[6], V (&r)[6]) const {
      using T = typename V::value_type;
      const V two(T(2)), four(T(4)), five(T(5));
      const V even = x[4] - four * x[2], odd = x[3] - four * x[1];
      const V even2 = x[4] - x[2], odd2 = two * (x[3] - x[1]);
      r[0] = four * x[0] - five * x[2] + x[4];
      r[1] = even + odd;
      r[2] = even - odd;
      r[3] = even2 + odd2;
      r[4] = even2 - odd2;
      r[5] = four * x[1] - five * x[3] + x[5];
    }
  };
  struct weights { // G
    template <class V> [[gnu::always_inline]] void operator()(const V (&w)[3], V (&r)[6]) const {
      using T = typename V::value_type;
      const V sixth(T(1) / 6), ends = (w[0] + w[2]) * sixth, middle = w[1] * sixth;
      const V far = w[0] * V(T(1) / 24) + w[2] * sixth, near = w[1] * V(T(1) / 12);
      r[0] = w[0] * V(T(0.25));
      r[1] = -(ends + middle);
      r[2] = middle - ends;
      r[3] = far + near;
      r[4] = far - near;
      r[5] = w[2];
    }
  };
  struct result { // At
    template <class V> [[gnu::always_inline]] void operator()(const V (&m)[6], V (&y)[4]) const {
      using T = typename V::value_type;
      const V sum = m[1] + m[2], difference = m[1] - m[2], sum2 = m[3] + m[4], difference2 = m[3] - m[4];
      y[0] = m[0] + sum + sum2;
      y[1] = difference + V(T(2)) * difference2;
      y[2] = sum + V(T(4)) * sum2;
      y[3] = difference + V(T(8)) * difference2 + m[5];
    }
  };
  struct cotangent { // A
    template <class V> [[gnu::always_inline]] void operator()(const V (&y)[4], V (&r)[6]) const {
      using T = typename V::value_type;
      const V even = y[0] + y[2], odd = y[1] + y[3];
      const V even2 = y[0] + V(T(4)) * y[2], odd2 = V(T(2)) * y[1] + V(T(8)) * y[3];
      r[0] = y[0];
      r[1] = even + odd;
      r[2] = even - odd;
      r[3] = even2 + odd2;
      r[4] = even2 - odd2;
      r[5] = y[3];
    }
  };
  struct weights_cotangent { // Gt
    template <class V> [[gnu::always_inline]] void operator()(const V (&u)[6], V (&w)[3]) const {
      using T = typename V::value_type;
      const V sixth(T(1) / 6), near = (u[1] + u[2]) * sixth, far = u[3] + u[4];
      w[0] = u[0] * V(T(0.25)) - near + far * V(T(1) / 24);
      w[1] = (u[3] - u[4]) * V(T(1) / 12) - (u[1] - u[2]) * sixth;
      w[2] = far * sixth - near + u[5];
    }
  };
};

/// f along the rows and the columns of `in`.
template <int In, int Out, class F, class V>
[[gnu::always_inline]] inline void both_axes(F f, const V (&in)[In][In], V (&out)[Out][Out]) {
  V half[Out][In];
#pragma GCC unroll 8
  for (int column = 0; column < In; ++column) {
    V x[In], r[Out];
#pragma GCC unroll 8
    for (int i = 0; i < In; ++i) x[i] = in[i][column];
    f(x, r);
#pragma GCC unroll 8
    for (int i = 0; i < Out; ++i) half[i][column] = r[i];
  }
#pragma GCC unroll 8
  for (int row = 0; row < Out; ++row) f(half[row], out[row]);
}

} // namespace tapeless::cpu
