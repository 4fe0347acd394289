// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// What nobody reads passes nothing, where its zeros change their shape on the way: behind sums over an axis of two conditions,
// corners cut out of products, reshapes that lay rows side by side, and cotangents that equal a node of the user's.
#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace tl = tapeless;

namespace {

template <int... N> using array = tl::tensor<double, N...>;
template <int... N> using mask = tl::tensor<bool, N...>;

std::vector<double> spread(std::size_t n, double first, double step) {
  std::vector<double> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = first + step * static_cast<double>(i);
  return x;
}
// The gradients of f by x and w, x(unread) being NaN, are those of x(unread) = 1, and zero there.
template <class X, class W, class F, class... M>
std::string differs(F, std::vector<std::size_t> unread, const M&... more) {
  const auto gradients = [&](double at_unread) {
    std::vector<double> x = spread(static_cast<std::size_t>(X().size()), 0.3, 0.07),
                        w = spread(static_cast<std::size_t>(W().size()), 0.9, -0.11);
    for (const std::size_t i : unread) x[i] = at_unread;
    auto run = tl::jit(tl::grad<0, 1>(F{})).template bind<X, W, M...>();
    const auto [x_bar, w_bar] = run(X(x), W(w), more...);
    std::vector<double> all(x_bar.begin(), x_bar.end());
    all.insert(all.end(), w_bar.begin(), w_bar.end());
    return all;
  };
  const std::vector<double> expected = gradients(1),
                            got = gradients(std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 0; i < got.size(); ++i)
    if (!(std::fabs(got[i] - expected[i]) <= 1e-12)) return "element " + std::to_string(i);
  for (const std::size_t i : unread)
    if (got[i] != 0) return "unread element " + std::to_string(i);
  return "";
}

bool rows_0[] = {true, true, false, false}, cols_0[] = {true, true, false, false, false},
     rows_1[] = {false, true, false, false}, cols_1[] = {false, true, true, false, false},
     nowhere[] = {false};

} // namespace

TEST_CASE("unread: conditions on rows and columns, together and by themselves") {
  const auto f = [](auto x, auto w, auto p, auto q, auto r, auto s) {
    const auto y = tl::matmul(x, w);
    return tl::sum(where(p && q, square(y), 0.0)) + tl::sum(where(r && s, exp(y), 0.0));
  };
  CHECK(differs<array<4, 3>, array<3, 5>>(f, {6, 7, 8, 9, 10, 11}, mask<4, 1>(rows_0), mask<1, 5>(cols_0),
                                          mask<4, 1>(rows_1), mask<1, 5>(cols_1)) == "");
  const auto g = [](auto x, auto w, auto p, auto q, auto r, auto s) { // the column is summed away
    const auto y = exp(x) * w;
    return tl::sum(where(p && q, square(y), 0.0)) + tl::sum(where(r && s, tanh(y), 0.0));
  };
  CHECK(differs<array<4, 1>, array<4, 5>>(g, {2, 3}, mask<4, 1>(rows_0), mask<1, 5>(cols_0),
                                          mask<4, 1>(rows_1), mask<1, 5>(cols_1)) == "");
}
TEST_CASE("unread: a row that is the only one, rows of a vector, columns of a single row") {
  const auto one = [](auto x, auto w, auto m) {
    return tl::sum(where(m, tl::sum<1>(square(tl::matmul(exp(x), w))), 0.0));
  };
  CHECK(differs<array<1, 3>, array<3, 2>>(one, {0, 1, 2}, mask<1>(nowhere)) == "");
  const auto vector = [](auto x, auto w, auto m) {
    return tl::sum(where(m, square(tl::matmul(relu(x), w)), 0.0));
  };
  CHECK(differs<array<4, 3>, array<3>>(vector, {6, 7, 8, 9, 10, 11}, mask<4>(rows_0)) == "");
  const auto columns = [](auto x, auto w, auto m) {
    return tl::sum(where(m, square(relu(tl::matmul(w, tl::transpose(exp(x))))), 0.0));
  };
  CHECK(differs<array<4, 3>, array<1, 3>>(columns, {6, 7, 8, 9, 10, 11}, mask<1, 4>(rows_0)) == "");
}
TEST_CASE("unread: one mask of the rows and of the columns of a product") {
  const auto f = [](auto q, auto k, auto m) {
    return tl::sum(where(tl::reshape<4, 1>(m) && m, tl::matmul(q, tl::transpose(k)), 0.0));
  };
  std::vector<double> q = spread(8, 0.3, 0.07), k = spread(8, 0.9, -0.11);
  k[1] = std::numeric_limits<double>::quiet_NaN(); // of a row that is read
  auto run = tl::jit(tl::grad<0>(f)).bind<array<4, 2>, array<4, 2>, mask<4>>();
  const auto q_bar = run(array<4, 2>(q), array<4, 2>(k), mask<4>(rows_0));
  for (int i = 4; i < 8; ++i) CHECK(q_bar[i] == 0);
}
TEST_CASE("unread: a condition of the user's that looks like relu's") {
  double weights[] = {1, 0, 0, 0, 1, 1};
  const std::vector<std::size_t> columns = {0, 3, 7, 8, 10, 11}; // where m is 1
  const auto branch = [](auto x, auto w, auto m) {
    return tl::sum(where(m != 0.0, 1.0, square(tl::matmul(w, x))));
  };
  CHECK(differs<array<2, 2, 3>, array<2, 1, 2>>(branch, columns, array<2, 1, 3>(weights)) == "");
  const auto again = [](auto x, auto w, auto m) { // a derivative has made the condition before
    const auto inner = tl::grad<0>([](auto s) { return tl::sum(square(relu(1.0 - s))); })(m);
    return tl::sum(inner) + tl::sum(where(relu(1.0 - m) > 0.0, square(tl::matmul(w, x)), 1.0));
  };
  CHECK(differs<array<2, 2, 3>, array<2, 1, 2>>(again, columns, array<2, 1, 3>(weights)) == "");
}
TEST_CASE("unread: corners of a product, as high as wide and not") {
  const auto square_one = [](auto x, auto w) {
    return tl::sum(square(tl::slice<0, 0, 2>(tl::slice<1, 0, 2>(tl::matmul(x, w)))));
  };
  const auto wide_one = [](auto x, auto w) {
    return tl::sum(square(tl::slice<1, 1, 4>(tl::slice<0, 0, 2>(tl::matmul(log(x), w)))));
  };
  CHECK(differs<array<4, 3>, array<3, 4>>(square_one, {6, 7, 8, 9, 10, 11}) == "");
  CHECK(differs<array<4, 3>, array<3, 4>>(wide_one, {6, 7, 8, 9, 10, 11}) == "");
}
TEST_CASE("unread: rows of a product that a reshape lays side by side") {
  const auto one = [](auto x, auto w) {
    return tl::sum(square(tl::slice<0, 1, 2>(tl::reshape<2, 4>(tl::matmul(log(x), w)))));
  };
  const auto of_tokens = [](auto x, auto w) {
    return tl::sum(square(tl::slice<0, 1, 3>(tl::flatten(tl::matmul(log(x), w)))));
  };
  CHECK(differs<array<4, 3>, array<3, 2>>(one, {0, 1, 2, 3, 4, 5}) == "");
  CHECK(differs<array<3, 2, 3>, array<3, 2>>(of_tokens, {0, 1, 2, 3, 4, 5}) == "");
}
TEST_CASE("unread: a cotangent that equals a node of the user's") {
  const auto f = [](auto x, auto w, auto m, auto k) {
    const auto u = sqrt(x);
    return tl::sum(where(m, exp(u), 0.0) * w) + tl::sum(where(m, exp(u), 0.0)) +
           tl::sum(where(k, square(u), 0.0));
  };
  CHECK(differs<array<4>, array<4>>(f, {2, 3}, mask<4>(rows_0), mask<4>(rows_1)) == "");
}
TEST_CASE("unread: a selection and a mask of one loss") {
  const auto f = [](auto x, auto w, auto m) {
    const auto l = tl::sum<1>(relu(tl::matmul(x, w)));
    return tl::sum(tl::gather(l, tl::top_k<2>(tl::cast<double>(m)))) + tl::sum(where(m, l, 0.0));
  };
  CHECK(differs<array<4, 3>, array<3, 2>>(f, {6, 7, 8, 9, 10, 11}, mask<4>(rows_0)) == "");
  const auto g = [](auto x, auto w, auto m) { // a list of rows, and a mask of elements that has them
    const auto rows = tl::reshape<4, 1>(m);
    return tl::sum(square(where(rows && x > 0.0, x, 1.0))) +
           tl::sum(square(where(rows, tl::matmul(x, w), 1.0)));
  };
  CHECK(differs<array<4, 3>, array<3, 2>>(g, {6, 7, 8, 9, 10, 11}, mask<4>(rows_0)) == "");
}
