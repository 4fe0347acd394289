// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include "show.hpp"

namespace tl = tapeless;

// [signature]
// x: tensor<float, 2, 3>, 1 2 3 / 4 5 6
constexpr auto arrangements = [](auto x) {
  auto a = tl::expand_dims<1>(x);              // (2, 1, 3)
  auto b = tl::squeeze<1>(a);                  // (2, 3)
  auto c = tl::stack<-1>(x, 10.0 * x);         // (2, 3, 2): a new axis; any number of operands
  auto d = tl::split<1, 3>(x)[2];              // (2, 1): an array of equal parts
  auto e = tl::tile<1, 2>(x);                  // (2, 6)
  auto f = tl::repeat<1, 2>(x);                // (2, 6)
  auto g = tl::roll<1, 1>(x);                  // (2, 3)
  auto h = tl::slice<1, 0, 3, 2>(x);           // (2, 2): columns 0 and 2
  auto i = tl::slice<1, 2, -1, -1>(x);         // (2, 3): back from column 2
  auto j = tl::pad<1, 2, 1>(x, tl::reflect);   // (2, 6)
  auto k = tl::pad<1, 2, 1>(x, tl::edge);      // (2, 6)
  auto l = tl::pad<1, 2, 1>(x, tl::wrap_around); // (2, 6)
  return std::tuple{a, b, c, d, e, f, g, h, i, j, k, l};
};
// [/signature]
// [grid]
// x: tensor<float, 2, 3>   label: tensor<std::int32_t, 2>, 2 0
constexpr auto grids = [](auto x, auto label) {
  auto a = tl::tril(x);                        // (2, 3): what stands above the diagonal is 0; tril<1> keeps one more
  auto b = tl::triu<1>(x);                     // (2, 3)
  auto c = tl::diagonal(x);                    // (2); diagonal<1> the one above
  auto d = tl::trace(x);                       // ()
  auto e = tl::eye_like(x);                    // (2, 3)
  auto f = tl::one_hot<float, 3>(label);       // (2, 3)
  auto u = tl::at<1>(x, 0);                    // (2)
  auto g = tl::outer(u, c);                    // (2, 2)
  auto [h, i] = tl::meshgrid(u, c);            // (2, 2) both
  return std::tuple{a, b, c, d, e, f, g, h, i};
};
// [/grid]

int main() {
  using X = tl::tensor<float, 2, 3>;
  using L = tl::tensor<std::int32_t, 2>;
  float x[] = {1, 2, 3, 4, 5, 6};
  std::int32_t label[] = {2, 0};
  char name[] = "a";
  const auto show_each = [&](const auto&... y) { ((show(name, y), ++name[0]), ...); };
  auto run = tl::jit(arrangements).bind<X>();
  std::apply(show_each, run(X(x)));
  std::puts("");
  name[0] = 'a';
  auto run_grids = tl::jit(grids).bind<X, L>();
  std::apply(show_each, run_grids(X(x), L(label)));
}
