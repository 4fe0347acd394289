// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Selected rows of perceptrons.
#include "selected_rows.hpp"

using namespace selected_rows;

static_assert(adjoint_is_sparse<perceptron>);
static_assert(adjoint_is_sparse<towers>);
static_assert(adjoint_is_sparse<tokens>);

TEST_CASE_TEMPLATE("selected rows: gradients and Hessians, threads, no allocation", Net, perceptron, towers,
                   tokens) {
  check_gradient<Net, hardest>();
  check_hessian<Net>();
}

TEST_CASE("selected rows: what reads a count comes after it, in transforms of a lambda that captures too") {
  static constexpr auto loss = [](auto w, auto x, auto v) { // of 12 rows, which mix
    const auto l = tl::mean<1>(tl::tanh(x * w));
    const auto mixed = tl::concat<0>(tl::slice<0, 0, 6>(l), tl::exp(tl::slice<0, 6, 12>(l)));
    return tl::mean(tl::gather(mixed, tl::where<'k'>(mixed * v > 0.0)));
  };
  constexpr auto captured = [](auto w, auto x, auto v) {
    const auto f = [x, v](auto q) { return loss(q, x, v); };
    return std::tuple{tl::grad(f)(w), tl::hvp<0>(f)(w, w)};
  };
  using W = tl::tensor<double, 4>;
  using X = tl::tensor<double, 12, 4>;
  using V = tl::tensor<double, 12>;
  auto w = random_tree<W>(1, 1.0);
  auto x = random_tree<X>(2, 1.0);
  auto v = random_tree<V>(3, 1.0);
  auto run = tl::jit(captured).bind<W, X, V>();
  auto gradient = tl::jit(tl::grad<0>(loss)).bind<W, X, V>();
  auto product = tl::jit(tl::hvp<0>(loss)).bind<W, X, V, W>();
  for (int i = 0; i < 3; ++i, (*v)[i] = -(*v)[i]) { // other counts
    const auto g = elements(gradient(*w, *x, *v)), h = elements(product(*w, *x, *v, *w));
    const auto [g2, h2] = run(*w, *x, *v);
    CHECK(largest_difference(elements(g2), g) < 1e-12);
    CHECK(largest_difference(elements(h2), h) < 1e-12);
  }
}
