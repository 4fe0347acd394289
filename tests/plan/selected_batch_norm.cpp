// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Training batch normalisation in front of selected rows. Its cotangent is rows of the list plus a * x + b, all rows:
// the sums in it are over the list, and the rows are added to the others in place.
//   f(p, x, t) -> {loss, rows}       against       sum(weight * losses), differentiated by the weights too (all rows),
// and central differences.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include <support/allocations.hpp>
#include <support/trees.hpp>
#include <tapeless/tapeless.hpp>

namespace tl = tapeless;

namespace {

using support::draw, support::elements, support::largest_difference;
constexpr int n = 23, kept = 5; // awkward, as all extents here
using flat = std::vector<double>;

template <tl::extent_t N> using targets = tl::tensor<double, N, 5>;

struct dense_layers {
  using parameters = std::tuple<tl::tensor<double, 7, 17>, tl::tensor<double, 17>, tl::tensor<double, 17>,
                                tl::tensor<double, 17, 5>>;
  template <tl::extent_t N> using data = tl::tensor<double, N, 7>;
  constexpr auto operator()(const auto& p, auto x, auto t) const {
    const auto h = tl::batch_norm(tl::matmul(x, std::get<0>(p)), std::get<1>(p), std::get<2>(p));
    return tl::mean<1>(tl::square(tl::matmul(tl::relu(h), std::get<3>(p)) - t));
  }
};
// the rows pass a bias, a tanh and a second normalisation, and another path to the same values
struct two_layers {
  using parameters = std::tuple<tl::tensor<double, 7, 17>, tl::tensor<double, 17>, tl::tensor<double, 17>,
                                tl::tensor<double, 17>, tl::tensor<double, 17, 5>>;
  template <tl::extent_t N> using data = tl::tensor<double, N, 7>;
  constexpr auto operator()(const auto& p, auto x, auto t) const {
    const auto a = tl::tanh(tl::batch_norm(tl::matmul(x, std::get<0>(p)) + std::get<1>(p)));
    const auto h = a - tl::batch_norm(tl::sigmoid(a) * std::get<2>(p), std::get<3>(p), std::get<1>(p));
    return tl::mean<1>(tl::square(tl::matmul(h, std::get<4>(p)) - t));
  }
};
struct of_images {
  using parameters = std::tuple<tl::tensor<double, 6, 3, 3, 3>, tl::tensor<double, 6>, tl::tensor<double, 6>,
                                tl::tensor<double, 6, 6, 3, 3>, tl::tensor<double, 6, 5>>;
  template <tl::extent_t N> using data = tl::tensor<double, N, 3, 5, 7>;
  constexpr auto operator()(const auto& p, auto x, auto t) const {
    constexpr tl::conv same{.padding = 1};
    const auto h =
        tl::relu(tl::batch_norm(tl::conv2d<same>(x, std::get<0>(p)), std::get<1>(p), std::get<2>(p)));
    const auto y = tl::mean<2, 3>(tl::relu(tl::conv2d<same>(h, std::get<3>(p))));
    return tl::mean<1>(tl::square(tl::matmul(y, std::get<4>(p)) - t));
  }
};

template <class Net> struct hardest {
  constexpr auto operator()(const auto& p, auto x, auto t) const {
    const auto l = Net{}(p, x, t);
    const auto rows = tl::top_k<kept, 'k'>(l);
    return std::tuple{tl::mean(tl::gather(l, rows)), rows};
  }
};
template <class Net> struct value_of_hardest {
  constexpr auto operator()(const auto& p, auto x, auto t) const {
    const auto l = Net{}(p, x, t);
    return tl::mean(tl::gather(l, tl::top_k<kept>(l)));
  }
};
template <class Net> struct masked {
  constexpr auto operator()(const auto& p, auto x, auto t, auto m) const {
    return tl::sum(m * Net{}(p, x, t));
  }
};
template <class Net> struct weighted_by_squares { // v^2 by exp is no mask: all rows
  constexpr auto operator()(const auto& p, auto x, auto t, auto v) const {
    return tl::sum(tl::exp(2.0 * tl::log(v)) * Net{}(p, x, t));
  }
};

template <class Net, tl::extent_t N> struct batch {
  tl::owned<typename Net::parameters> p;
  tl::owned<typename Net::template data<N>> x;
  tl::owned<targets<N>> t;
  explicit batch(int count) : x(tl::dim<'n'>(count)), t(tl::dim<'n'>(count)) {
    draw(*p, 1, 0.7);
    draw(*x, 30, 1.0);
    draw(*t, 40, 1.0);
  }
};

template <class Net> void check_hardest() {
  using P = typename Net::parameters;
  constexpr tl::extent_t named = tl::dyn<'n'>;
  using X = typename Net::template data<named>;
  using V = tl::tensor<double, named>;
  constexpr auto f = tl::jit(tl::value_and_grad<0>(hardest<Net>{}));
  auto run = f.template bind<P, X, targets<named>>(tl::dim<'n'>(n), tl::threads(1));
  auto two = f.template bind<P, X, targets<named>>(tl::dim<'n'>(n), tl::threads(2));
  auto all = tl::jit(tl::value_and_grad<0, 3>(masked<Net>{}))
                 .template bind<P, X, targets<named>, V>(tl::dim<'n'>(n));
  for (const int count : {n, 6, kept, n}) {
    CAPTURE(count);
    batch<Net, named> b(count);
    const auto [out, gradient] = run(*b.p, *b.x, *b.t);
    const auto rows = std::get<1>(out);
    REQUIRE(rows.size() == kept);
    tl::owned<V> w(tl::dim<'n'>{count});
    for (int i = 0; i < kept; ++i) (*w)[rows[i]] = 1.0 / kept;
    const auto [value, expected, unused] = all(*b.p, *b.x, *b.t, *w);
    CHECK(std::get<0>(out)[0] == doctest::Approx(value[0]).epsilon(1e-12));
    CHECK(largest_difference(elements(gradient), elements(expected)) < 1e-11);
    CHECK(support::allocations_of([&] { static_cast<void>(run(*b.p, *b.x, *b.t)); }) == 0);
    const auto [out2, gradient2] = two(*b.p, *b.x, *b.t);
    CHECK(elements(gradient2) == elements(gradient));
  }
}
template <class Net> void check_differences() { // along d
  using P = typename Net::parameters;
  using X = typename Net::template data<n>;
  auto run = tl::jit(tl::value_and_grad<0>(value_of_hardest<Net>{})).template bind<P, X, targets<n>>();
  const auto value_at = [&](double step) {
    batch<Net, n> b(n);
    tl::owned<P> d;
    draw(*d, 70, step);
    flat e = elements(*d);
    std::size_t k = 0;
    tl::for_each_leaf(*b.p, [&](const auto& leaf) {
      for (double& q : leaf) q += e[k++];
    });
    return std::get<0>(run(*b.p, *b.x, *b.t))[0];
  };
  const double difference = (value_at(1e-6) - value_at(-1e-6)) / 2e-6;
  batch<Net, n> b(n);
  tl::owned<P> d;
  draw(*d, 70, 1.0);
  const flat g = elements(std::get<1>(run(*b.p, *b.x, *b.t))), e = elements(*d);
  double along = 0;
  for (std::size_t i = 0; i < g.size(); ++i) along += g[i] * e[i];
  CHECK(along == doctest::Approx(difference).epsilon(1e-6));
}
template <class Net> void check_hessian() {
  using P = typename Net::parameters;
  using X = typename Net::template data<n>;
  using V = tl::tensor<double, n>;
  auto rows_of = tl::jit(hardest<Net>{}).template bind<P, X, targets<n>>();
  auto h = tl::jit(tl::hvp<0>(value_of_hardest<Net>{})).template bind<P, X, targets<n>, P>();
  auto of_all = tl::jit(tl::hvp<0>(weighted_by_squares<Net>{})).template bind<P, X, targets<n>, V, P>();
  batch<Net, n> b(n);
  tl::owned<P> d;
  draw(*d, 70, 1.0);
  tl::owned<V> v;
  const auto rows = std::get<1>(rows_of(*b.p, *b.x, *b.t));
  for (int i = 0; i < kept; ++i) (*v)[rows[i]] = std::sqrt(1.0 / kept);
  CHECK(largest_difference(elements(h(*b.p, *b.x, *b.t, *d)), elements(of_all(*b.p, *b.x, *b.t, *v, *d))) <
        1e-9);
}

// loss by an offset e of what is normalised: the cotangent itself is a result
struct of_offset {
  constexpr auto operator()(auto e, auto w, auto x, auto t) const {
    const auto l = tl::mean<1>(tl::square(tl::relu(tl::batch_norm(tl::matmul(x, w) + e)) - t));
    return tl::mean(tl::gather(l, tl::top_k<kept>(l)));
  }
};
struct of_offset_weighted {
  constexpr auto operator()(auto e, auto w, auto x, auto t, auto v) const {
    return tl::sum(tl::exp(2.0 * tl::log(v)) *
                   tl::mean<1>(tl::square(tl::relu(tl::batch_norm(tl::matmul(x, w) + e)) - t)));
  }
};

} // namespace

TEST_CASE("batch_norm of selected rows: gradients, for any number of rows and threads, no allocation") {
  check_hardest<dense_layers>();
#ifndef TAPELESS_TEST_FLOAT_ONLY // the sanitizers' compiler
  check_hardest<two_layers>();
  check_hardest<of_images>();
#endif
}
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

TEST_CASE("batch_norm of selected rows: sums over the list, one pass over all rows, and the rows in place") {
  using net = dense_layers;
  constexpr auto f = tl::jit(tl::value_and_grad<0>(value_of_hardest<net>{}));
  constexpr tl::cost c = f.cost<net::parameters, net::data<n>, targets<n>>();
  static_assert(c.densified == 1);
  const std::string text = f.explain<net::parameters, net::data<n>, targets<n>>();
  CHECK(text.find("scatter_add, added to all rows of [23, 17]") != std::string::npos);
  int of_all = 0; // loops over all rows, from the adjoint's first step on
  for (std::size_t at = text.find("adjoint  "); at != std::string::npos;
       at = text.find("over [23, 17]", at + 1))
    of_all += text.compare(at, 13, "over [23, 17]") == 0;
  CHECK(of_all == 1);
}

TEST_CASE("rows of a table, some of them several times, and all of it besides") {
  constexpr int rows = 41, width = 3, count = 9;
  using W = tl::tensor<double, rows, width>;
  using I = tl::tensor<std::int32_t, count>;
  using T = tl::tensor<double, count, width>;
  constexpr auto decayed = [](auto w, auto ids, auto t) {
    return tl::sum(tl::square(tl::gather(w, ids) - t)) + 0.5 * tl::sum(tl::square(w));
  };
  auto run = tl::jit(tl::value_and_grad<0>(decayed)).bind<W, I, T>();
  tl::owned<W> w;
  tl::owned<I> ids;
  tl::owned<T> t;
  draw(*w, 1, 1.0), draw(*t, 2, 1.0);
  flat expected = elements(*w);
  double value = 0;
  for (const double e : expected) value += e * e / 2;
  for (int i = 0; i < count; ++i) {
    (*ids)[i] = i * 17 % 5 * 10;
    for (int k = 0; k < width; ++k) {
      const auto at = static_cast<std::size_t>((*ids)[i] * width + k);
      const double d = (*w)[static_cast<tl::extent_t>(at)] - (*t)[i * width + k];
      value += d * d;
      expected[at] += 2 * d;
    }
  }
  for (int again = 0; again < 2; ++again) { // what the last run left in place is no part of the next
    const auto [got, gradient] = run(*w, *ids, *t);
    CHECK(got[0] == doctest::Approx(value).epsilon(1e-12));
    CHECK(largest_difference(elements(gradient), expected) < 1e-12);
  }
  const std::string text = tl::jit(tl::value_and_grad<0>(decayed)).explain<W, I, T>();
  CHECK(text.find("scatter_add [41, 3]") != std::string::npos);
}

namespace {

// y[i, j] = x[i, j] + mean_i max(x[i, j], 0): its vjp is linear in rows and in all rows at once
constexpr int few = 12, width = 4;
struct shifted {
  static constexpr tl::shape result(tl::shape s) { return s; }
  static void primal(auto y, auto x) {
    for (int j = 0; j < width; ++j) {
      double m = 0;
      for (int i = 0; i < few; ++i) m += std::max(x[i * width + j], 0.0) / few;
      for (int i = 0; i < few; ++i) y[i * width + j] = x[i * width + j] + m;
    }
  }
  static constexpr auto vjp(auto x, auto, auto y_bar) {
    return where(x > 0.0, y_bar + tl::mean<0>(y_bar), y_bar);
  }
};
constexpr auto of_hardest = [](auto w, auto x) {
  const auto losses = tl::sum<1>(tl::square(tl::custom<shifted>(x * w)));
  const auto rows = tl::top_k<3>(losses);
  return std::tuple(tl::sum(tl::gather(losses, rows)), rows);
};
constexpr auto of_weighted = [](auto w, auto x, auto weight) {
  return tl::sum(tl::sum<1>(tl::square(tl::custom<shifted>(x * w))) * weight);
};

} // namespace

TEST_CASE("rows and all rows: an op that is linear in both takes the rows once") {
  using X = tl::tensor<double, few, width>;
  using W = tl::tensor<double, few>;
  tl::owned<std::tuple<X, X, W>> in;
  const auto [w, x, weight] = *in;
  draw(*in, 5, 1);
  auto selected = tl::jit(tl::value_and_grad<0>(of_hardest)).bind<X, X>();
  const auto [value, gradient] = selected(w, x);
  for (double& e : weight) e = 0;
  for (const std::int32_t i : std::get<1>(value)) weight[i] = 1;
  auto dense = tl::jit(tl::value_and_grad<0, 2>(of_weighted)).bind<X, X, W>();
  const auto [sum, expected, unused] = dense(w, x, weight);
  CHECK(largest_difference(elements(gradient), elements(expected)) < 1e-13);
}
