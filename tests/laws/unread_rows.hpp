#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Rows and images that a condition, slice, gather, concatenation or selection cuts off behind products and convolutions.
#include "unread.hpp"

#include <cstdint>
#include <initializer_list>

namespace unread_rows {

namespace tl = tapeless;
using namespace unread;

using mask = tl::tensor<bool, 4>;
using list = tl::tensor<std::int32_t, 3>;
template <class X, class W> struct operands {
  X x;
  W w;
};
template <const auto& Op, const auto& Cut> constexpr auto cut_op = [](auto p, auto m, auto a, auto i) {
  return Cut(Op(p.x, p.w), m, a, i);
};
// Four rows of x. m: 0 2   a: 2 3   i: 0 2 2
template <class X, class W, const auto& Op, const auto& Cut> void check_rows(
    const char* name, std::initializer_list<std::size_t> unread) {
  using P = operands<X, W>;
  static bool m[] = {true, false, true, false}, a[] = {false, false, true, true};
  static std::int32_t i[] = {0, 2, 2};
  static constexpr auto& f = cut_op<Op, Cut>;
  auto run = tl::jit(derivatives<f>).template bind<P, P, mask, mask, list>();
  constexpr auto of_x = static_cast<std::size_t>(tl::detail::numel(X::extents)), row = of_x / 4;
  constexpr auto n = of_x + static_cast<std::size_t>(tl::detail::numel(W::extents));
  flat v = spread(n, 1, -0.01);
  std::vector<bool> is_unread(n, false);
  for (const std::size_t r : unread)
    for (std::size_t k = 0; k < row; ++k) is_unread[r * row + k] = true;
  const auto evaluate = [&](flat x) {
    return joined(run(P{X(x.data()), W(x.data() + of_x)}, P{X(v.data()), W(v.data() + of_x)}, mask(m),
                      mask(a), list(i)));
  };
  INFO(std::string(name));
  CHECK(difference(evaluate, spread(n, -0.3, 0.013), is_unread) == "");
}

inline constexpr auto rows = [](auto y) { return tl::reshape<4>(sum<1>(tl::flatten(square(y)))); };
inline constexpr auto by_where = [](auto y, auto m, auto, auto) { return sum(where(m, rows(y), 0.0)); };
inline constexpr auto by_two_conditions = [](auto y, auto m, auto a, auto) {
  const auto l = rows(y);
  return sum(where(m, l, 0.0)) + sum(where(a, l * l, 0.0));
};
// a condition of the losses themselves
inline constexpr auto by_computed = [](auto y, auto m, auto, auto) {
  const auto l = rows(y);
  return sum(where((m && l > -1.0) || (l > 1e9 && l < 1e10), l * l, 0.0));
};
inline constexpr auto by_slice = [](auto y, auto, auto, auto) { return sum(square(tl::slice<0, 1, 3>(y))); };
inline constexpr auto by_slices = [](auto y, auto, auto, auto) {
  return sum(square(tl::slice<0, 0, 1>(y))) + 3.0 * sum(tl::slice<0, 2, 3>(y));
};
inline constexpr auto by_list = [](auto y, auto, auto, auto i) { return sum(square(tl::gather(y, i))); };
inline constexpr auto by_selection = [](auto y, auto m, auto, auto) {
  return sum(square(tl::gather(y, tl::where<'k'>(m))));
};
inline constexpr auto by_all = [](auto y, auto m, auto, auto i) {
  return sum(square(tl::gather(y, i))) + sum(where(m, rows(y), 0.0)) + sum(tl::slice<0, 2, 3>(y));
};
inline constexpr auto by_concat = [](auto y, auto, auto, auto) {
  return sum(square(tl::slice<0, 3, 6>(tl::concat<0>(y, y))));
};

using X = tl::tensor<double, 4, 3>;
using W = tl::tensor<double, 3, 3>;
using matrices = tl::tensor<double, 4, 2, 3>;
using images = tl::tensor<double, 4, 2, 3, 3>;
using filters = tl::tensor<double, 2, 2, 2, 2>;
using lines = tl::tensor<double, 4, 2, 5>;
using line_filters = tl::tensor<double, 2, 2, 3>;
using volumes = tl::tensor<double, 4, 1, 3, 3, 3>;
using volume_filters = tl::tensor<double, 1, 1, 2, 2, 2>;

inline constexpr auto network = [](auto x, auto w) {
  return tanh(tl::matmul(tanh(tl::matmul(x, w)), tl::transpose(w)));
};
inline constexpr auto turned = [](auto x, auto w) {
  return tl::transpose(sigmoid(tl::matmul(w, tl::transpose(exp(x)))));
};
inline constexpr auto of_norm = [](auto x, auto w) {
  return exp(tl::matmul(tl::layer_norm<1>(x), tl::reshape<3>(tl::slice<0, 0, 1>(w))));
};
inline constexpr auto batch = [](auto x, auto w) {
  return tanh(tl::matmul(tanh(tl::matmul(x, w)), tl::transpose(x)));
};
inline constexpr auto conv2d = [](auto x, auto w) {
  return tanh(tl::conv2d<tl::conv{.padding = 1}>(tanh(tl::conv2d(x, w)), w));
};
inline constexpr auto pooled = [](auto x, auto w) {
  return exp(
      tl::max_pool2d<tl::pool{.kernel = 2, .stride = 1}>(tanh(tl::conv2d<tl::conv{.padding = 1}>(x, w))));
};
inline constexpr auto conv1d = [](auto x, auto w) { return tanh(tl::conv1d(tanh(tl::conv1d(x, w)), w)); };
inline constexpr auto conv3d = [](auto x, auto w) { return tanh(tl::conv3d(tanh(tl::conv3d(x, w)), w)); };
inline constexpr auto transposed = [](auto x, auto w) { return tanh(tl::conv_transpose2d(tanh(x), w)); };

} // namespace unread_rows
