// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Central differences and second derivatives behind batch_norm of selected rows; rows of a mask; results of all rows.
#include "selected_batch_norm.hpp"

using namespace selected_batch_norm;

TEST_CASE("batch_norm of selected rows: central differences") {
  check_differences<dense_layers>();
#ifndef TAPELESS_TEST_FLOAT_ONLY
  check_differences<of_images>();
#endif
}
TEST_CASE("batch_norm of selected rows: second derivatives") { check_hessian<dense_layers>(); }

TEST_CASE("batch_norm of the rows of a mask, which the run counts") {
  using net = dense_layers;
  using V = tl::tensor<double, n>;
  using P = net::parameters;
  using X = net::data<n>;
  auto run = tl::jit(tl::value_and_grad<0>(masked<net>{})).bind<P, X, targets<n>, V>();
  auto all = tl::jit(tl::value_and_grad<0>(weighted_by_squares<net>{})).bind<P, X, targets<n>, V>();
  batch<net, n> b(n);
  for (const int every : {3, 1, n + 1, 7}) {
    tl::owned<V> m, v;
    for (int i = 0; i < n; ++i) {
      (*m)[i] = (i + 1) % every == 0 ? 0.5 + i : 0.0;
      (*v)[i] = std::sqrt((*m)[i]);
    }
    const auto [value, gradient] = run(*b.p, *b.x, *b.t, *m);
    const auto [expected, of_all] = all(*b.p, *b.x, *b.t, *v);
    CHECK(value[0] == doctest::Approx(expected[0]).epsilon(1e-12));
    CHECK(largest_difference(elements(gradient), elements(of_all)) < 1e-9);
  }
}

TEST_CASE("batch_norm of selected rows: the cotangent of all rows is a result") {
  using E = tl::tensor<double, n, 5>;
  using W = tl::tensor<double, 7, 5>;
  using X = tl::tensor<double, n, 7>;
  using V = tl::tensor<double, n>;
  auto run = tl::jit(tl::grad<0, 1>(of_offset{})).bind<E, W, X, E>();
  auto all = tl::jit(tl::grad<0, 1>(of_offset_weighted{})).bind<E, W, X, E, V>();
  tl::owned<E> e, t;
  tl::owned<W> w;
  tl::owned<X> x;
  tl::owned<V> v;
  draw(*e, 1, 0.5), draw(*t, 2, 1.0), draw(*w, 3, 1.0), draw(*x, 4, 1.0);
  auto losses_of = tl::jit([](auto offset, auto weights, auto data, auto target) {
                     const auto h = tl::relu(tl::batch_norm(tl::matmul(data, weights) + offset));
                     return tl::top_k<kept>(tl::mean<1>(tl::square(h - target)));
                   }).bind<E, W, X, E>();
  const auto rows = losses_of(*e, *w, *x, *t);
  for (int i = 0; i < kept; ++i) (*v)[rows[i]] = std::sqrt(1.0 / kept);
  const auto expected = all(*e, *w, *x, *t, *v);
  const auto got = run(*e, *w, *x, *t);
  CHECK(largest_difference(elements(std::get<0>(got)), elements(std::get<0>(expected))) < 1e-12);
  CHECK(largest_difference(elements(std::get<1>(got)), elements(std::get<1>(expected))) < 1e-12);
  tl::owned<E> own;
  tl::owned<W> own_w;
  auto out = std::tuple{own.view(), own_w.view()};
  run.into(out)(*e, *w, *x, *t);
  CHECK(elements(*own) == elements(std::get<0>(got)));
  CHECK(elements(*own_w) == elements(std::get<1>(got)));
}
