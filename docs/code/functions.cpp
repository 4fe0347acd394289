// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include "show.hpp"

namespace tl = tapeless;

// [signature]
// x: tensor<float, 4>, 1 2 3 4   y: tensor<float, 4>, -1.5 -0.5 0.5 1.5
constexpr auto functions = [](auto x, auto y) {
  auto a = sin(x) + cos(x) * tan(x);              // radians
  auto b = asin(0.1 * x) + acos(0.1 * x) - atan(x);
  auto c = atan2(y, x);                           // the angle of the point (x, y)
  auto d = sinh(x) + cosh(x);
  auto e = asinh(x) + acosh(x) + atanh(0.1 * x);
  auto f = exp2(x) + expm1(x) + log1p(x);
  auto g = log2(x) + log10(x);
  auto h = rsqrt(x) + cbrt(-x);
  auto i = abs(y) + sign(y);
  auto j = floor(y) + ceil(y) + round(y);
  auto k = softplus(y);
  auto l = erfc(y);                               // 1 - erf(y)
  auto m = fmod(y, 0.7);                          // the sign of y
  auto n = remainder(y, 0.7);                     // the sign of 0.7
  auto o = hypot(x, y);                           // sqrt(x^2 + y^2)
  auto p = erfinv(0.5 * y);                       // of -0.75 .. 0.75
  auto q = lgamma(x) + lgamma(y);                 // log |Gamma|
  auto r = digamma(x) + tl::polygamma<1>(x);      // its first and second derivative
  return std::tuple{a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r};
};
// [/signature]

int main() {
  using X = tl::tensor<float, 4>;
  tl::owned<X> x, y;
  for (int i = 0; i < 4; ++i) {
    (*x)[i] = static_cast<float>(i + 1);
    (*y)[i] = static_cast<float>(i) - 1.5f;
  }
  auto run = tl::jit(functions).bind<X, X>();
  const auto [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r] = run(*x, *y);
  show("a", a);
  show("b", b);
  show("c", c);
  show("d", d);
  show("e", e);
  show("f", f);
  show("g", g);
  show("h", h);
  show("i", i);
  show("j", j);
  show("k", k);
  show("l", l);
  show("m", m);
  show("n", n);
  show("o", o);
  show("p", p);
  show("q", q);
  show("r", r);
}
