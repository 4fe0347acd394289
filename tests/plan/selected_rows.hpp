#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Losses of selected rows: the gradient is that of the weighted mean over all rows, and costs the selected rows only.
//   f(p, x, t, rows of the losses) -> loss        against        sum(weight * losses), differentiated by the weights too,
// which keeps all rows in the adjoint.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include <support/allocations.hpp>
#include <support/trees.hpp>
#include <tapeless/tapeless.hpp>

namespace selected_rows {

namespace tl = tapeless;

using support::elements, support::largest_difference;
constexpr int n = 24, kept = 6;

template <class Tree> tl::owned<Tree> random_tree(std::uint64_t seed, double scale) {
  tl::owned<Tree> r;
  support::draw(r.view(), seed, scale);
  return r;
}

// ---- networks: losses of rows

using images = tl::tensor<double, n, 3, 6, 6>;
using vectors = tl::tensor<double, n, 6>;
using sequences = tl::tensor<double, n, 4, 6>;
using volumes = tl::tensor<double, n, 2, 3, 4, 4>;
using targets = tl::tensor<double, n, 5>;

struct perceptron {
  using parameters = std::tuple<tl::tensor<double, 6, 32>, tl::tensor<double, 32>, tl::tensor<double, 32, 5>>;
  using data = vectors;
  constexpr auto operator()(const auto& p, auto x, auto t) const {
    const auto h = tl::relu(tl::matmul(x, std::get<0>(p)) + std::get<1>(p));
    return tl::mean<1>(tl::square(tl::matmul(h, std::get<2>(p)) - t));
  }
};
struct normalized {
  using parameters = std::tuple<tl::tensor<double, 6, 32>, tl::tensor<double, 32>, tl::tensor<double, 32>,
                                tl::tensor<double, 32, 5>>;
  using data = vectors;
  constexpr auto operator()(const auto& p, auto x, auto t) const {
    const auto h = tl::layer_norm(tl::tanh(tl::matmul(x, std::get<0>(p))), std::get<1>(p), std::get<2>(p));
    const auto z = tl::matmul(h, std::get<3>(p));
    return tl::logsumexp<1>(z) - tl::sum<1>(tl::softmax<1>(t) * z);
  }
};
struct convolution {
  using parameters =
      std::tuple<tl::tensor<double, 8, 3, 3, 3>, tl::tensor<double, 8>, tl::tensor<double, 8 * 3 * 3, 5>>;
  using data = images;
  constexpr auto operator()(const auto& p, auto x, auto t) const {
    const auto h =
        tl::relu(tl::conv2d<tl::conv{.padding = 1}>(x, std::get<0>(p)) + tl::channel(std::get<1>(p)));
    const auto z =
        tl::matmul(tl::flatten(tl::max_pool2d<tl::pool{.kernel = 2, .stride = 2}>(h)), std::get<2>(p));
    return tl::mean<1>(tl::square(z - t));
  }
};
struct attention { // within each sequence
  using parameters =
      std::tuple<tl::tensor<double, 6, 16>, tl::tensor<double, 6, 16>, tl::tensor<double, 6, 5>>;
  using data = sequences;
  constexpr auto operator()(const auto& p, auto x, auto t) const {
    const auto q = tl::matmul(x, std::get<0>(p)), k = tl::matmul(x, std::get<1>(p));
    const auto v = tl::matmul(x, std::get<2>(p));
    const auto a = tl::softmax<2>(tl::matmul(q, tl::transpose<0, 2, 1>(k)));
    return tl::mean<1>(tl::square(tl::mean<1>(tl::matmul(a, v)) - t));
  }
};
struct towers {
  using parameters =
      std::tuple<tl::tensor<double, 3, 16>, tl::tensor<double, 3, 16>, tl::tensor<double, 32, 5>>;
  using data = vectors;
  constexpr auto operator()(const auto& p, auto x, auto t) const {
    const auto a = tl::matmul(tl::slice<1, 0, 3>(x), std::get<0>(p));
    const auto b = tl::matmul(tl::slice<1, 3, 6>(x), std::get<1>(p));
    return tl::mean<1>(tl::square(tl::matmul(tl::concat<1>(a, tl::sigmoid(b)), std::get<2>(p)) - t));
  }
};
struct table { // rows of an embedding, which several samples share
  using parameters = std::tuple<tl::tensor<double, 7, 16>, tl::tensor<double, 16, 5>>;
  using data = vectors;
  constexpr auto operator()(const auto& p, auto x, auto t) const {
    const auto e = tl::gather<0>(std::get<0>(p), tl::argmax<1>(x));
    return tl::mean<1>(tl::square(tl::matmul(tl::tanh(e), std::get<1>(p)) - t));
  }
};
struct large_table { // few of its rows are read: the rows of a list of rows
  using parameters = std::tuple<tl::tensor<double, 60, 16>, tl::tensor<double, 16, 5>>;
  using data = vectors;
  constexpr auto operator()(const auto& p, auto x, auto t) const { return table{}(p, x, t); }
};
struct bags { // three rows of a table each
  using parameters = std::tuple<tl::tensor<double, 7, 16>, tl::tensor<double, 16, 5>>;
  using data = vectors;
  constexpr auto operator()(const auto& p, auto x, auto t) const {
    const auto ids = tl::cast<std::int32_t>(3.0 * tl::slice<1, 0, 3>(x) + 3.5);
    const auto e = tl::tanh(tl::sum<1>(tl::gather(std::get<0>(p), ids)));
    return tl::mean<1>(tl::square(tl::matmul(e, std::get<1>(p)) - t));
  }
};
struct six_axes { // a row is a block of rows of a tensor of six axes, whose rows mix
  using parameters = std::tuple<tl::tensor<double, 6>, tl::tensor<double, 6, 5>>;
  using data = vectors;
  constexpr auto operator()(const auto& p, auto x, auto t) const {
    const auto y = tl::reshape<2 * n, 1, 3, 1, 1, 1>(x * std::get<0>(p));
    const auto z = tl::concat<0>(tl::slice<0, n, 2 * n>(y), tl::exp(tl::slice<0, 0, n>(y)));
    return tl::mean<1>(tl::square(tl::matmul(tl::reshape<n, 6>(z * z), std::get<1>(p)) - t));
  }
};
struct volume { // a convolution with three axes is one of two over the planes of a row
  using parameters = std::tuple<tl::tensor<double, 4, 2, 2, 3, 3>, tl::tensor<double, 4 * 2 * 4 * 4, 5>>;
  using data = volumes;
  constexpr auto operator()(const auto& p, auto x, auto t) const {
    const auto h = tl::tanh(tl::conv3d<tl::conv3{.padding = {0, 1, 1}}>(x, std::get<0>(p)));
    return tl::mean<1>(tl::square(tl::matmul(tl::flatten(h), std::get<1>(p)) - t));
  }
};
struct tokens { // six sequences of four rows each
  using parameters = std::tuple<tl::tensor<double, 6, 16>, tl::tensor<double, 16>, tl::tensor<double, 16, 5>>;
  using data = vectors;
  constexpr auto operator()(const auto& p, auto x, auto t) const {
    const auto h = tl::tanh(tl::matmul(tl::reshape<6, 4, 6>(x), std::get<0>(p)) + std::get<1>(p));
    const auto z = tl::matmul(h, std::get<2>(p));
    return tl::reshape<n>(tl::mean<2>(tl::square(z - tl::reshape<6, 4, 5>(t))));
  }
};
struct batch_statistics { // rows mix: the cotangent gets all rows
  using parameters = std::tuple<tl::tensor<double, 6, 16>, tl::tensor<double, 16>, tl::tensor<double, 16>,
                                tl::tensor<double, 16, 5>>;
  using data = vectors;
  constexpr auto operator()(const auto& p, auto x, auto t) const {
    const auto h = tl::matmul(x, std::get<0>(p));
    const auto c = h - tl::mean<0>(h);
    const auto z = c / tl::sqrt(tl::mean<0>(tl::square(c)) + 1e-3) * std::get<1>(p) + std::get<2>(p);
    return tl::mean<1>(tl::square(tl::matmul(tl::relu(z), std::get<3>(p)) - t));
  }
};

// ---- selections: loss and rows from the losses of all rows

struct hardest {
  template <class L> constexpr auto operator()(const L& losses) const {
    const auto rows = tl::top_k<kept>(losses);
    return std::tuple{tl::mean(tl::gather(losses, rows)), rows};
  }
};
struct hardest_and_easiest { // two lists
  template <class L> constexpr auto operator()(const L& losses) const {
    const auto hard = tl::top_k<kept / 2>(losses), easy = tl::bottom_k<kept / 2>(losses);
    const auto mean = (tl::mean(tl::gather(losses, hard)) + tl::mean(tl::gather(losses, easy))) / 2.0;
    return std::tuple{mean, tl::concat<0>(hard, easy)};
  }
};
struct easiest_of_percent {
  template <class L> constexpr auto operator()(const L& losses) const {
    const auto rows = tl::bottom_k<tl::percent{25}, 'k'>(losses);
    return std::tuple{tl::mean(tl::gather(losses, rows)), rows};
  }
};
struct above_threshold { // the mean of the losses that are above the mean
  template <class L> constexpr auto operator()(const L& losses) const {
    const auto rows = tl::where<'k'>(losses > tl::mean(losses));
    return std::tuple{tl::mean(tl::gather(losses, rows)), rows};
  }
};

template <class Net, class Selection> struct selected {
  constexpr auto operator()(const auto& p, auto x, auto t) const { return Selection{}(Net{}(p, x, t)); }
};
template <class Net> struct weighted {
  constexpr auto operator()(const auto& p, auto x, auto t, auto w) const {
    return tl::sum(w * Net{}(p, x, t));
  }
};
// v^2 by exp is no mask: all rows are computed
template <class Net> struct weighted_by_squares {
  constexpr auto operator()(const auto& p, auto x, auto t, auto v) const {
    return tl::sum(tl::exp(2.0 * tl::log(v)) * Net{}(p, x, t));
  }
};
template <class Net> struct mean_of_all {
  constexpr auto operator()(const auto& p, auto x, auto t) const { return tl::mean(Net{}(p, x, t)); }
};
template <class Net, class Selection> struct value_of_selected {
  constexpr auto operator()(const auto& p, auto x, auto t) const {
    return std::get<0>(selected<Net, Selection>{}(p, x, t));
  }
};

using weights = tl::tensor<double, n>;
template <class Net, class Selection> constexpr tl::cost cost_of_selected =
    tl::jit(tl::value_and_grad<0>(selected<Net, Selection>{}))
        .template cost<typename Net::parameters, typename Net::data, targets>();
template <class Net> constexpr tl::cost cost_of_all =
    tl::jit(tl::value_and_grad<0>(mean_of_all<Net>{}))
        .template cost<typename Net::parameters, typename Net::data, targets>();

template <class Net, class Selection> void check_gradient() {
  using P = typename Net::parameters;
  using X = typename Net::data;
  auto p = random_tree<P>(1, 0.5);
  auto x = random_tree<X>(20, 1.0);
  auto t = random_tree<targets>(30, 1.0);
  auto w = random_tree<weights>(0, 0.0);
  auto run =
      tl::jit(tl::value_and_grad<0>(selected<Net, Selection>{})).template bind<P, X, targets>(tl::threads(1));
  auto two =
      tl::jit(tl::value_and_grad<0>(selected<Net, Selection>{})).template bind<P, X, targets>(tl::threads(2));
  auto all = tl::jit(tl::value_and_grad<0, 3>(weighted<Net>{})).template bind<P, X, targets, weights>();
  const auto [out, gradient] = run(*p, *x, *t);
  const auto& rows = std::get<1>(out);
  REQUIRE(rows.size() > 0);
  REQUIRE(rows.size() < n);
  for (tl::extent_t i = 0; i < rows.size(); ++i) (*w)[rows[i]] = 1 / static_cast<double>(rows.size());
  const auto [value, expected, unused] = all(*p, *x, *t, *w);
  CHECK(std::get<0>(out)[0] == doctest::Approx(value[0]).epsilon(1e-12));
  CHECK(largest_difference(elements(gradient), elements(expected)) < 1e-12);
  CHECK(support::allocations_of([&] { static_cast<void>(run(*p, *x, *t)); }) == 0);
  const auto [out2, gradient2] = two(*p, *x, *t);
  CHECK(elements(gradient) == elements(gradient2));
}

// H d, d a direction
template <class Net> void check_hessian() {
  using P = typename Net::parameters;
  using X = typename Net::data;
  auto p = random_tree<P>(1, 0.5);
  auto x = random_tree<X>(20, 1.0);
  auto t = random_tree<targets>(30, 1.0);
  auto w = random_tree<weights>(0, 0.0);
  auto d = random_tree<P>(40, 1.0);
  auto forward = tl::jit(selected<Net, hardest>{}).template bind<P, X, targets>();
  const auto rows = std::get<1>(forward(*p, *x, *t));
  for (tl::extent_t i = 0; i < rows.size(); ++i) (*w)[rows[i]] = 1 / std::sqrt(double{kept});
  auto h = tl::jit(tl::hvp<0>(value_of_selected<Net, hardest>{})).template bind<P, X, targets, P>();
  constexpr auto of_all = [](const auto& q, auto a, auto b, auto c, const auto& v) {
    return tl::hvp<0>(weighted_by_squares<Net>{})(q, a, b, c, v);
  };
  auto h_all = tl::jit(of_all).template bind<P, X, targets, weights, P>();
  CHECK(largest_difference(elements(h(*p, *x, *t, *d)), elements(h_all(*p, *x, *t, *w, *d))) < 1e-11);
}

// A quarter of the rows: a quarter of the flops of the adjoint, and no cotangent with all rows.
template <class Net> constexpr bool adjoint_is_sparse =
    cost_of_selected<Net, hardest>.densified == 0 &&
    cost_of_selected<Net, hardest>.adjoint.flops <= 0.27 * cost_of_all<Net>.adjoint.flops;

} // namespace selected_rows
