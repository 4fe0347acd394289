// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Which arguments weigh losses, form by form.
#include <doctest/doctest.h>

#include <cstdint>

#include <tapeless/tapeless.hpp>

namespace tl = tapeless;

namespace {

constexpr int n = 8;
using vector = tl::tensor<float, n>;
using data = tl::tensor<float, n, 3>;
using matrix = tl::tensor<float, 3, 2>;

// Of f(l, z, w, v): l the losses of n rows of z, which is what the network gives. Are w and v weights of losses?
template <class F> struct network {
  constexpr auto operator()(auto x, auto a, auto w, auto v) const {
    const auto z = tl::matmul(x, a);
    return F{}(tl::sum<1>(tl::square(z)), z, w, v);
  }
};
struct marks {
  bool w = false, v = false;
  constexpr bool operator==(const marks&) const = default;
};
template <class F> constexpr marks weighs(F) {
  const auto p = tl::detail::trace<network<F>, data, matrix, vector, vector>();
  marks r;
  for (const tl::detail::node& x : p.nodes)
    if (x.o == tl::detail::op::input && x.is_loss_weight) {
      r.w = r.w || x.attr == 2;
      r.v = r.v || x.attr == 3;
    }
  return r;
}
constexpr marks none{}, first{true, false}, both{true, true};

// clang-format off
static_assert(weighs([](auto l, auto, auto w, auto v) { return tl::sum(w * l) + tl::sum(v); }) == first);
static_assert(weighs([](auto l, auto, auto w, auto v) { return tl::sum(v * (w * l)); }) == both);
static_assert(weighs([](auto l, auto, auto w, auto v) { return tl::sum(w * l) / tl::sum(w) + tl::sum(v); }) == first);
static_assert(weighs([](auto l, auto, auto w, auto v) { return tl::sum(w / tl::sum(w) * l) + tl::sum(v); }) == first);
static_assert(weighs([](auto l, auto, auto w, auto v) { return tl::sum(-2 * w * l - v * l); }) == both);
static_assert(weighs([](auto l, auto, auto w, auto v) { return tl::sum(tl::stop_gradient(w) * l) + tl::sum(v); }) == first);
// functions that keep a zero, and those that do not
static_assert(weighs([](auto l, auto, auto w, auto v) { return tl::sum(tl::square(w) * tl::erf(v) * l); }) == both);
static_assert(weighs([](auto l, auto, auto w, auto v) { return tl::sum(tl::exp(w) * tl::sigmoid(v) * l); }) == none);
static_assert(weighs([](auto l, auto, auto w, auto v) { return tl::sum((1 / w) * (v + 1) * l); }) == none);
// nor those that have more zeros than their argument
static_assert(weighs([](auto l, auto, auto w, auto v) { return tl::sum(tl::relu(w) * tl::cast<float>(tl::cast<std::int32_t>(v)) * l); }) == none);
static_assert(weighs([](auto l, auto, auto w, auto v) { return tl::sum(tl::relu(w * l)) + tl::sum(v); }) == first);
// of the rows of a matrix
static_assert(weighs([](auto, auto z, auto w, auto v) { return tl::sum(tl::reshape<n, 1>(w) * tl::square(z)) + tl::sum(v); }) == first);
static_assert(weighs([](auto, auto z, auto w, auto v) { return tl::sum(tl::square(tl::reshape<n, 1>(w) * z)) + tl::sum(v); }) == first);
static_assert(weighs([](auto l, auto, auto w, auto v) { return tl::sum(tl::flip<0>(w) * l) + tl::sum(v); }) == first);
// a form is no loss, a label no weight, a loss of what is not weighed neither
static_assert(weighs([](auto, auto z, auto w, auto v) { return tl::sum(tl::reshape<n, 1>(w) * z) + tl::sum(v); }) == none);
static_assert(weighs([](auto, auto z, auto w, auto v) { return tl::sum(tl::log(1 + tl::exp(-(w * tl::sum<1>(z))))) + tl::sum(v); }) == none);
static_assert(weighs([](auto, auto z, auto w, auto v) { return tl::sum(tl::square(tl::sum<1>(z) - w)) + tl::sum(v); }) == none);
// not through what is not linear, nor without a sum
static_assert(weighs([](auto l, auto, auto w, auto v) { return tl::sum(tl::max(w * l, v * l)); }) == none);
static_assert(weighs([](auto l, auto, auto w, auto v) { return tl::sum(tl::exp(w * l)) + tl::sum(v); }) == none);
static_assert(weighs([](auto l, auto, auto w, auto v) { return w * l + v; }) == none);
// rows that are selected
static_assert(weighs([](auto l, auto, auto w, auto v) { return tl::sum(tl::gather(w * l, tl::top_k<2>(l))) + tl::sum(v); }) == first);
// clang-format on

} // namespace

TEST_CASE("weights: without a product there are none") {
  const auto p = tl::detail::trace<decltype([](auto x, auto w) { return tl::sum(w * tl::square(x)); }),
                                   vector, vector>();
  for (const tl::detail::node& x : p.nodes) CHECK_FALSE(x.is_loss_weight);
}
