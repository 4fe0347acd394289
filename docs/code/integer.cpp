// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include "show.hpp"

namespace tl = tapeless;

// [signature]
// x, y: tensor<std::int32_t, 5>   x: -7 -1 0 5 100   y: 2 0 3 -2 40
constexpr auto integer = [](auto x, auto y) {
  auto a = x / y;                    // towards 0
  auto b = x % y;                    // with the sign of x
  auto c = (x & 3) | (y ^ 1);        // bits; a number is an operand, too
  auto d = 1 << y;                   // 0 where every bit is shifted out
  auto e = x >> y;                   // of a negative x then -1
  auto f = x == (x / y) * y + x % y; // always
  auto hash = x;
  hash ^= hash << 13;                // / % & | ^ << >> also as a op= b
  hash ^= (hash >> 17) & 0x7fff;
  hash ^= hash << 5;
  return std::tuple{a, b, c, d, e, f, hash};
};
// [/signature]

int main() {
  using X = tl::tensor<std::int32_t, 5>;
  tl::owned<X> x, y;
  const int of_x[] = {-7, -1, 0, 5, 100}, of_y[] = {2, 0, 3, -2, 40};
  for (int i = 0; i < 5; ++i) (*x)[i] = of_x[i], (*y)[i] = of_y[i];
  auto run = tl::jit(integer).bind<X, X>();
  const auto [a, b, c, d, e, f, hash] = run(*x, *y);
  show("a", a);
  show("b", b);
  show("c", c);
  show("d", d);
  show("e", e);
  show("f", f);
  show("hash", hash);
}
