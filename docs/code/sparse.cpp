// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include "show.hpp"

#include <tapeless/run/csr.hpp>
#include <tapeless/run/csr_product.hpp>
#include <tapeless/run/csr_tiled.hpp>

#include <cstdint>

namespace tl = tapeless;

// [signature]
// a: csr<float, 4, 3, 5>   x: tensor<float, 3>   y: tensor<float, 4>   b: tensor<float, 3, 2>
constexpr auto products = [](auto a, auto x, auto y, auto b) {
  auto c = tl::matmul(a, x);                       // (4)
  auto d = tl::matmul(tl::transpose(a), y);        // (3), as matmul(y, a): nothing is transposed
  auto e = tl::matmul(a, b);                       // (4, 2)
  auto f = tl::sampled_matmul(a, y, x);            // the pattern of a, values y[i] x[j]
  auto g = tl::scale_rows(y, a);                   // the pattern of a, values y[i] a[i, j]
  auto h = a.with(tl::exp(a.values()));            // any function of the stored values
  return std::tuple{c, d, e, f.values(), tl::sum<1>(g - 2 * a), tl::sum<0>(h)};
};
// l: csr<float, 3, 3, 5>   c: csr<float, 4, 3, 8>
constexpr auto factors = [](auto a, auto l, auto c, auto x) {
  auto y = tl::solve_triangular(l, x);                                   // l y = x, with the lower triangle of l
  auto z = tl::solve_triangular<tl::triangle{.upper = true}>(tl::transpose(l), x); // that of l^T, an upper one
  auto p = tl::sampled_matmul(c, a, l);                                  // a l, for the entries of c
  return std::tuple{y, z, p.values()};
};
// [/signature]

// [loss]
using A = tl::csr<float, tl::dyn<'r'>, tl::dyn<'c'>, tl::dyn<'e'>>;
using X = tl::tensor<float, tl::dyn<'c'>>;
using Y = tl::tensor<float, tl::dyn<'r'>>;
constexpr auto loss = [](auto x, auto a, auto y, auto m) {
  return tl::mean(m * tl::square(tl::matmul(a, x) - y));
};
// [/loss]

// The same steps with the matrix in tiles
float fit_in_tiles(const A& a, X x, Y y, Y m) {
  // [tiles]
  using tiled = tl::csr<float, tl::dyn<'r'>, tl::dyn<'c'>, tl::dyn<'e'>, tl::tiled>;
  const tl::owned<tiled> t = tl::csr_tiled(a); // a copy, made once
  auto step = tl::jit(tl::value_and_grad<0>(loss))
                  .bind<X, tiled, Y, Y>(tl::dim<'r'>(a.rows()), tl::dim<'c'>(a.cols()), tl::dim<'e'>(a.nnz()));
  const auto [value, x_bar] = step(x, *t, y, m);
  // [/tiles]
  return value[0];
}

int main() {
  // 1 . 2
  // . . .
  // . 3 .
  // 4 . 5
  float value[] = {1, 2, 3, 4, 5};
  std::int32_t column[] = {0, 2, 1, 0, 2}, row_end[] = {2, 2, 3, 5};
  using M = tl::csr<float, 4, 3, 5>;
  tl::owned<std::tuple<M, tl::tensor<float, 3>, tl::tensor<float, 4>, tl::tensor<float, 3, 2>>> in;
  count_up(*in);
  const auto& [a, x, y, b] = *in;
  for (int k = 0; k < 5; ++k) a.columns()[k] = column[k];
  for (int i = 0; i < 4; ++i) a.row_end()[i] = row_end[i];
  constexpr auto program = tl::jit(products);
  auto run = program.bind<M, tl::tensor<float, 3>, tl::tensor<float, 4>, tl::tensor<float, 3, 2>>();
  const auto [ax, aty, ab, sampled, rows, columns] = run(a, x, y, b);
  show("c", ax);
  show("d", aty);
  show("e", ab);
  show("f", sampled);
  show("g - 2 a", rows);
  show("h", columns);

  using L = tl::csr<float, 3, 3, 5>;
  float values_of_l[] = {2, 1, 4, 3, 5};
  const std::int32_t ptr_of_l[] = {0, 1, 3, 5}, columns_of_l[] = {0, 0, 1, 1, 2};
  const auto l = tl::csr_view<L>(3, 3, ptr_of_l, columns_of_l, values_of_l);
  using C = tl::csr<float, 4, 3, 8>;
  const auto c = tl::csr_product_pattern<C>(a, l); // all entries that a l has
  auto solve = tl::jit(factors).bind<M, L, C, tl::tensor<float, 3>>();
  const auto [lower, transposed, product] = solve(a, l, *c, x);
  show("y", lower);
  show("z", transposed);
  show("p", product);

  bool nothing = false;
  const A view(tl::trusted, A::values_type(value, 5), A::columns_type(column, 5), A::row_end_type(row_end, 4),
               A::width_type(&nothing, 3));
  float zero[4] = {}, one[4] = {1, 1, 1, 1};
  auto gradient = tl::jit(tl::grad<0, 1>(loss))
                      .bind<X, A, Y, Y>(tl::dim<'r'>(100), tl::dim<'c'>(10), tl::dim<'e'>(1000));
  const auto [of_x, of_a] = gradient(X(x.data(), 3), view, Y(zero, 4), Y(one, 4));
  show("x_bar", of_x);
  show("a_bar", of_a.values());
  std::printf("in tiles   %g\n", static_cast<double>(fit_in_tiles(view, X(x.data(), 3), Y(zero, 4), Y(one, 4))));
  std::printf("of a's pattern: %s\n\n", of_a.columns().data() == column ? "yes" : "no");
  std::puts(tl::jit(tl::value_and_grad<0>(loss)).explain<X, A, Y, Y>().c_str());
}
