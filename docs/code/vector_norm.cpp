// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include "show.hpp"

#include <limits>

namespace tl = tapeless;

// [signature]
// x: tensor<float, 2, 3>, 3 0 4 / 0 0 0   y: tensor<float, 2, 3>, 1 2 2 / 1 1 1
constexpr auto lengths = [](auto x, auto y) {
  auto a = tl::norm(x);                                           // () of all elements
  auto b = tl::norm<1>(x);                                        // (2) of each row
  auto c = tl::norm<1>(x, 1);                                     // (2) sum of |x|
  auto d = tl::norm<1>(x, std::numeric_limits<double>::infinity(), tl::keepdims); // (2, 1) largest |x|
  auto e = tl::normalize<1>(x);                                   // (2, 3) rows of length 1, or 0
  auto f = tl::cosine_similarity(x, y);                           // (2) along the last axis
  auto g = tl::pairwise_distance(x, y);                           // (2) likewise
  auto h = tl::variance<1>(y);                                    // (2) divided by n
  auto i = tl::std_dev<1>(y, tl::unbiased);                       // (2) divided by n - 1
  return std::tuple{a, b, c, d, e, f, g, h, i};
};
// [/signature]
// [distances]
// points: (4, 3)   centres: (2, 3)   all eight distances: (4, 2)
constexpr auto distances = [](auto points, auto centres) {
  return tl::pairwise_distance(tl::reshape<4, 1, 3>(points), centres);
};
// [/distances]

int main() {
  using X = tl::tensor<float, 2, 3>;
  float x[] = {3, 0, 4, 0, 0, 0}, y[] = {1, 2, 2, 1, 1, 1};
  auto run = tl::jit(lengths).bind<X, X>();
  const auto [a, b, c, d, e, f, g, h, i] = run(X(x), X(y));
  show("a", a);
  show("b", b);
  show("c", c);
  show("d", d);
  show("e", e);
  show("f", f);
  show("g", g);
  show("h", h);
  show("i", i);
  auto slope = tl::jit([](auto v) { return tl::grad([](auto w) { return tl::sum(tl::norm<1>(w)); })(v); }).bind<X>();
  show("of sum(b)", slope(X(x)));
  float points[] = {0, 0, 0, 1, 1, 1, 0, 3, 4, 2, 2, 2};
  auto all = tl::jit(distances).bind<tl::tensor<float, 4, 3>, X>();
  show("distances", all(tl::tensor<float, 4, 3>(points), X(x)));
}
