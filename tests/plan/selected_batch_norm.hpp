#pragma once
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

namespace selected_batch_norm {

namespace tl = tapeless;

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

} // namespace selected_batch_norm
