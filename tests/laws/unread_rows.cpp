// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Rows of products that conditions and lists leave out.
#include "unread_rows.hpp"

using namespace unread_rows;

TEST_CASE("rows of products that conditions cut off pass nothing") {
  check_rows<X, W, network, by_where>("where", {1, 3});
  check_rows<X, W, network, by_two_conditions>("two conditions", {1});
  check_rows<X, W, network, by_computed>("computed", {1, 3});
  check_rows<X, W, turned, by_computed>("transposed, computed", {1, 3});
  check_rows<matrices, W, batch, by_computed>("batch, computed", {1, 3});
}
TEST_CASE("rows of products that lists leave out pass nothing") {
  check_rows<X, W, network, by_list>("list", {1, 3});
  check_rows<X, W, network, by_selection>("selection", {1, 3});
  check_rows<X, W, network, by_all>("list, where and slice", {1, 3});
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
