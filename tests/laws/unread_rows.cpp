// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Rows and images that a condition, slice, gather, concatenation or selection cuts off behind products and convolutions.
#include "unread.hpp"

#include <cstdint>
#include <initializer_list>

namespace tl = tapeless;
using namespace unread;

namespace {

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

constexpr auto rows = [](auto y) { return tl::reshape<4>(sum<1>(tl::flatten(square(y)))); };
constexpr auto by_where = [](auto y, auto m, auto, auto) { return sum(where(m, rows(y), 0.0)); };
constexpr auto by_two_conditions = [](auto y, auto m, auto a, auto) {
  const auto l = rows(y);
  return sum(where(m, l, 0.0)) + sum(where(a, l * l, 0.0));
};
// a condition of the losses themselves
constexpr auto by_computed = [](auto y, auto m, auto, auto) {
  const auto l = rows(y);
  return sum(where((m && l > -1.0) || (l > 1e9 && l < 1e10), l * l, 0.0));
};
constexpr auto by_slice = [](auto y, auto, auto, auto) { return sum(square(tl::slice<0, 1, 3>(y))); };
constexpr auto by_slices = [](auto y, auto, auto, auto) {
  return sum(square(tl::slice<0, 0, 1>(y))) + 3.0 * sum(tl::slice<0, 2, 3>(y));
};
constexpr auto by_list = [](auto y, auto, auto, auto i) { return sum(square(tl::gather(y, i))); };
constexpr auto by_selection = [](auto y, auto m, auto, auto) {
  return sum(square(tl::gather(y, tl::where<'k'>(m))));
};
constexpr auto by_all = [](auto y, auto m, auto, auto i) {
  return sum(square(tl::gather(y, i))) + sum(where(m, rows(y), 0.0)) + sum(tl::slice<0, 2, 3>(y));
};
constexpr auto by_concat = [](auto y, auto, auto, auto) {
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

constexpr auto network = [](auto x, auto w) {
  return tanh(tl::matmul(tanh(tl::matmul(x, w)), tl::transpose(w)));
};
constexpr auto turned = [](auto x, auto w) {
  return tl::transpose(sigmoid(tl::matmul(w, tl::transpose(exp(x)))));
};
constexpr auto of_norm = [](auto x, auto w) {
  return exp(tl::matmul(tl::layer_norm<1>(x), tl::reshape<3>(tl::slice<0, 0, 1>(w))));
};
constexpr auto batch = [](auto x, auto w) {
  return tanh(tl::matmul(tanh(tl::matmul(x, w)), tl::transpose(x)));
};
constexpr auto conv2d = [](auto x, auto w) {
  return tanh(tl::conv2d<tl::conv{.padding = 1}>(tanh(tl::conv2d(x, w)), w));
};
constexpr auto pooled = [](auto x, auto w) {
  return exp(
      tl::max_pool2d<tl::pool{.kernel = 2, .stride = 1}>(tanh(tl::conv2d<tl::conv{.padding = 1}>(x, w))));
};
constexpr auto conv1d = [](auto x, auto w) { return tanh(tl::conv1d(tanh(tl::conv1d(x, w)), w)); };
constexpr auto conv3d = [](auto x, auto w) { return tanh(tl::conv3d(tanh(tl::conv3d(x, w)), w)); };
constexpr auto transposed = [](auto x, auto w) { return tanh(tl::conv_transpose2d(tanh(x), w)); };

} // namespace

TEST_CASE("rows of products that conditions cut off pass nothing") {
  check_rows<X, W, network, by_where>("where", {1, 3});
  check_rows<X, W, network, by_two_conditions>("two conditions", {1});
  check_rows<X, W, network, by_computed>("computed", {1, 3});
  check_rows<X, W, turned, by_computed>("transposed, computed", {1, 3});
  check_rows<matrices, W, batch, by_computed>("batch, computed", {1, 3});
}
TEST_CASE("rows of products that slices cut off pass nothing") {
  check_rows<X, W, network, by_slice>("slice", {0, 3});
  check_rows<X, W, network, by_slices>("slices", {1, 3});
  check_rows<X, W, network, by_concat>("concat", {2});
  check_rows<X, W, turned, by_slice>("transposed", {0, 3});
  check_rows<X, W, of_norm, by_slice>("vector", {0, 3});
  check_rows<matrices, W, batch, by_slice>("batch", {0, 3});
}
TEST_CASE("rows of products that lists leave out pass nothing") {
  check_rows<X, W, network, by_list>("list", {1, 3});
  check_rows<X, W, network, by_selection>("selection", {1, 3});
  check_rows<X, W, network, by_all>("list, where and slice", {1, 3});
}
TEST_CASE("images of convolutions that are cut off pass nothing") {
  check_rows<images, filters, conv2d, by_slice>("conv2d", {0, 3});
  check_rows<images, filters, conv2d, by_computed>("conv2d, computed", {1, 3});
  check_rows<images, filters, pooled, by_slice>("max_pool2d", {0, 3});
  check_rows<lines, line_filters, conv1d, by_slice>("conv1d", {0, 3});
  check_rows<volumes, volume_filters, conv3d, by_slice>("conv3d", {0, 3});
  check_rows<volumes, volume_filters, conv3d, by_computed>("conv3d, computed", {1, 3});
  check_rows<images, filters, transposed, by_list>("conv_transpose2d", {1, 3});
}
// softmax of nothing but -infinity is NaN
TEST_CASE("a row of an attention that looks at nothing, and that no result reads, passes nothing") {
  static constexpr auto attention = [](auto x, auto used) {
    const auto scores = where(tl::reshape<3, 1>(used), tl::matmul(x, tl::transpose(x)), -INFINITY);
    return tl::sum(tl::slice<0, 0, 2>(tl::matmul(tl::softmax(scores), x)));
  };
  using P = tl::tensor<float, 3, 2>;
  float x[] = {1, 2, 3, 1, 2, 0};
  bool used[] = {true, true, false};
  auto gradient = tl::jit(tl::grad(attention)).bind<P, tl::tensor<bool, 3>>();
  for (const float d : gradient(P(x), tl::tensor<bool, 3>(used))) CHECK(std::isfinite(d));
}
