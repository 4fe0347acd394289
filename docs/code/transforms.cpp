// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include "show.hpp"

namespace tl = tapeless;

// [signature]
// x, v: tensor<double, 3>   a: tensor<double, 2, 3>   u: tensor<double, 2>
constexpr auto energy = [](auto x, auto a) { return tl::sum(exp(tl::matmul(a, x) * 0.1)); }; // (x, a) -> ()
constexpr auto layer = [](auto x, auto a) { return tanh(tl::matmul(a, x) * 0.1); };          // (x, a) -> (2)

constexpr auto transforms = [](auto x, auto a, auto v, auto u) {
  auto x_bar = tl::grad(energy)(x, a);                              // (3): by argument 0
  auto [y, x_bar2, a_bar] = tl::value_and_grad<0, 1>(energy)(x, a); // (), (3), (2, 3)
  auto pulled = tl::vjp<0>(layer)(x, a, u);                         // (3): J^T u
  auto pushed = tl::jvp<0>(layer)(x, a, v);                         // (2): J v
  auto curved = tl::hvp<0>(energy)(x, a, v);                        // (3): H v
  auto nested = tl::grad([&](auto z) { return tl::sum(square(tl::grad(energy)(z, a))); })(x); // (3): 2 H grad energy
  return std::tuple{y, x_bar, x_bar2, a_bar, pulled, pushed, curved, nested};
};

// auxiliary values: of a tuple the first member is differentiated, the others come back beside it
constexpr auto with_logits = [](auto x, auto a) {
  auto logits = tl::matmul(a, x);
  return std::tuple{tl::sum(square(logits)), logits};
};
// [/signature]

int main() {
  using V = tl::tensor<double, 3>;
  using A = tl::tensor<double, 2, 3>;
  using U = tl::tensor<double, 2>;
  tl::owned<std::tuple<V, A, V, U>> in;
  count_up(*in);
  auto run = tl::jit(transforms).bind<V, A, V, U>();
  const auto [y, x_bar, x_bar2, a_bar, pulled, pushed, curved, nested] =
      std::apply([&](auto... leaf) { return run(leaf...); }, *in);
  show("y", y);
  show("x_bar", x_bar);
  show("x_bar2", x_bar2);
  show("a_bar", a_bar);
  show("pulled", pulled);
  show("pushed", pushed);
  show("curved", curved);
  show("nested", nested);

  auto auxiliary = tl::jit(tl::value_and_grad(with_logits)).bind<V, A>();
  const auto [both, gradient] = auxiliary(std::get<0>(*in), std::get<1>(*in));
  show("value", std::get<0>(both));
  show("logits", std::get<1>(both));
  show("gradient", gradient);
}
