// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include "show.hpp"

#include <tuple>

namespace tl = tapeless;

// [program]
struct line {
  tl::tensor<float, 2> slope;
  tl::tensor<float> height;
};
using points = tl::tensor<const float, 4, 2>;
using values = tl::tensor<const float, 4>;
constexpr auto loss = [](auto p, auto x, auto y) { return tl::mean(tl::square(tl::matmul(x, p.slope) + p.height - y)); };

// Gradient and update, one program. A learning rate that changes is an argument.
constexpr auto train = tl::jit([](auto p, auto state, auto x, auto y, auto rate) {
  const auto [value, gradient] = tl::value_and_grad<0>(loss)(p, x, y);
  const auto [next, next_state] = tl::adam_update(p, gradient, state, rate, tl::adam_options{.beta1 = 0.8});
  return std::tuple{value, next, next_state};
});
// [/program]
// [sgd]
constexpr auto descend = tl::jit([](auto p, auto x, auto y) {
  return tl::sgd_update(p, tl::grad<0>(loss)(p, x, y), 0.1);
});
constexpr auto roll = tl::jit([](auto p, auto state, auto x, auto y, auto rate) {
  return tl::sgd_update(p, tl::grad<0>(loss)(p, x, y), state, rate, tl::sgd_options{.momentum = 0.9});
});
// [/sgd]

int main() {
  const float in[] = {0, 0, 0, 1, 1, 0, 1, 1}, out[] = {1, 3, 4, 6}; // y = 3 x0 + 2 x1 + 1
  const points x(in);
  const values y(out);
  // [run]
  tl::owned<line> p;
  tl::owned<tl::adam_state<line>> state; // zeros: where it starts
  tl::owned<tl::scalar<float>> value;
  auto run = train.bind<line, tl::adam_state<line>, points, values, float>(tl::threads(1));
  for (int k = 0; k < 300; ++k)
    run.into(std::tuple{*value, *p, *state})(*p, *state, x, y, k < 100 ? 0.3f : 0.03f); // in place
  // [/run]
  std::printf("the loss is %s\n", (*value)() < 1e-5f ? "small" : "large");
  show("slope", p->slope);
  show("height", p->height);

  tl::owned<line> q;
  auto down = descend.bind<line, points, values>(tl::threads(1));
  for (int k = 0; k < 300; ++k) down.into(*q)(*q, x, y);
  show("sgd", q->slope);

  tl::owned<line> r;
  tl::owned<tl::sgd_state<line>> velocity;
  auto rolling = roll.bind<line, tl::sgd_state<line>, points, values, float>(tl::threads(1));
  for (int k = 0; k < 300; ++k) rolling.into(std::tuple{*r, *velocity})(*r, *velocity, x, y, 0.05f);
  show("momentum", r->slope);
}
