// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include "show.hpp"

#include <utility>

namespace tl = tapeless;

// [function]
constexpr auto loss(tl::tensor<float, tl::dyn<'n'>, 2> x, tl::tensor<float> scale) { return tl::sum(tl::square(x)) * scale; }
constexpr auto program = tl::jit(tl::value_and_grad<0>(tl::fn<&loss>)); // a plain function through fn
// [/function]

// [var]
struct funnel { // layers of different extents: a tuple
  std::tuple<tl::tensor<float, 2, 8>, tl::tensor<float, 8, 4>, tl::tensor<float, 4, 1>> weight;
};
constexpr auto network = [](const funnel& p, tl::tensor<float, 3, 2> x) {
  tl::var h = x; // its extents stand in the graph, so that they may change
  tl::for_each_layer(p.weight, [&](auto w) { h = tanh(tl::matmul(h, w)); });
  return h.as<float, 3, 1>(); // checked
};
// [/var]

int main() {
  // [bind]
  using X = tl::tensor<float, tl::dyn<'n'>, 2>;
  auto run = program.bind<X, float>(tl::dim<'n'>(16), tl::threads(2)); // a capacity for n; one allocation
  std::printf("arena: %s\n", run.arena_bytes() > 0 ? "allocated" : "empty");

  tl::owned<X> x(tl::dim<'n'>(3)); // zeros
  count_up(*x);
  auto [value, gradient] = run(*x, 0.5f); // views into the arena, valid until the next run
  show("value", value);
  show("gradient", gradient);

  tl::owned<std::tuple<tl::tensor<float>, X>> mine(tl::dim<'n'>(3));
  run.into(*mine)(*x, 2.0f); // the same into the caller's buffers
  show("value", std::get<0>(*mine));
  show("gradient", std::get<1>(*mine));
  // [/bind]

  const auto refused = [](auto&& act) {
    try {
      act();
    } catch (const tl::argument_error& e) {
      std::puts(e.what());
    }
  };
  refused([&] { run.into(std::tuple{tl::tensor<float>(x->data()), std::get<1>(*mine)})(*x, 1.0f); });
  refused([&] { run.into(std::tuple{tl::tensor<float>(std::get<1>(*mine).data()), std::get<1>(*mine)})(*x, 1.0f); });
  refused([&] { program.bind<X, float>(); });
  refused([&] { program.bind<X, float>(tl::dim<'m'>(1)); });
  refused([&] { program.bind<X, float>(tl::dim<'n'>(0)); });

  auto moved = std::move(run); // a bound object moves; it is not copied
  show("value", std::get<0>(moved(*x, 1.0f)));

  tl::owned<funnel> p;
  tl::owned<tl::tensor<float, 3, 2>> y;
  count_up(*y);
  auto forward = tl::jit(network).bind<funnel, tl::tensor<float, 3, 2>>();
  show("network", forward(*p, *y));

  // [load]
  auto infer = forward.load(*p); // what follows from the first argument alone is done here
  show("loaded", infer(*y));
  count_up(*p);
  infer.load(*p); // after a change; changes are not looked for
  show("changed", infer(*y));
  // [/load]

  // [plain]
  auto plainly = program.bind<X, float>(tl::dim<'n'>(16), tl::plain);
  show("plain", std::get<0>(plainly(*x, 0.5f)));
  // [/plain]
}
