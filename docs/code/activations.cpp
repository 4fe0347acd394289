// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include "show.hpp"

#include <limits>

namespace tl = tapeless;

// [signature]
// x: tensor<float, 5>, -4 -1 0 1 4   y: tensor<float, 5>, nan inf -inf -1.5 1.5
constexpr auto activations = [](auto x, auto y) {
  auto a = leaky_relu(x);          // slope 0.01; leaky_relu(x, 0.2)
  auto b = elu(x);                 // alpha 1; elu(x, 0.5)
  auto c = selu(x);
  auto d = gelu(x);                // exact, by erfc
  auto e = gelu_tanh(x);           // as many networks have it
  auto f = silu(x);                // swish
  auto g = mish(x);
  auto h = hardswish(x);
  auto i = hardtanh(x);
  auto j = clamp(x, -2.0, 3.0);    // numbers or tensors
  auto k = log_sigmoid(x);
  auto l = reciprocal(x);
  auto m = trunc(y);
  auto n = nan_to_num(y, 0.0, 9.0, -9.0);
  auto o = where(isfinite(y) || isnan(y), y, 0.0); // isinf, too
  return std::tuple{a, b, c, d, e, f, g, h, i, j, k, l, m, n, o};
};
// [/signature]

int main() {
  using X = tl::tensor<float, 5>;
  const float infinity = std::numeric_limits<float>::infinity();
  float x[] = {-4, -1, 0, 1, 4}, y[] = {std::numeric_limits<float>::quiet_NaN(), infinity, -infinity, -1.5f, 1.5f};
  auto run = tl::jit(activations).bind<X, X>();
  const auto [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = run(X(x), X(y));
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
}
