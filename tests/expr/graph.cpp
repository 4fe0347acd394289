// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <tapeless/ops/all.hpp>

using namespace tapeless;
using namespace tapeless::detail;

namespace {

constexpr bool equal_expressions_are_one_node() {
  graph g;
  const var x{&g, g.input(0, dtype::f64, shape_of<3>)}, y{&g, g.input(1, dtype::f64, shape_of<3>)};
  const var a = exp(x * y), b = exp(y * x);
  return a.node == b.node && (x + 1.0).node == (x + 1.0).node && (x - y).node != (y - x).node;
}
constexpr bool operands_come_before_their_node() {
  graph g;
  const var x{&g, g.input(0, dtype::f64, shape_of<4, 3>)};
  const var y = sum<0>(max(x, 0.5) * tanh(x));
  for (int i = 0; i < g.size(); ++i)
    for (const int k : g[i].in)
      if (k >= i) return false;
  return y.dims() == shape_of<3>;
}
constexpr bool interning_survives_growth(int count) {
  graph g;
  var x{&g, g.input(0, dtype::f64, shape_of<2>)};
  const var first = x;
  for (int i = 0; i < count; ++i) x = x * (i + 2.0);
  const int size = g.size();
  x = first;
  for (int i = 0; i < count; ++i) x = x * (i + 2.0);
  return g.size() == size; // every node was found again
}
constexpr bool trivial_arithmetic_disappears() {
  graph g;
  const var x{&g, g.input(0, dtype::f64, shape_of<3>)};
  return (x * 1.0).node == x.node && (x + 0.0).node == x.node && (x / 1.0).node == x.node &&
         (x - 0.0).node == x.node && (-(-x)).node == x.node;
}
constexpr bool a_product_with_zero_stays_in_the_users_program() {
  graph g; // 0 * inf is NaN
  const var x{&g, g.input(0, dtype::f64, shape_of<3>)};
  return g[(x * 0.0).node].o == op::mul;
}
constexpr bool fresh_arguments_are_never_merged() {
  graph g;
  return g.fresh(dtype::f64, shape_of<3>) != g.fresh(dtype::f64, shape_of<3>);
}
constexpr bool a_sum_of_repetitions_is_a_product() {
  graph g;
  const var x{&g, g.input(0, dtype::f64, shape_of<3>)};
  const int s = sum(g, expand(g, x.node, shape_of<5, 3>), 0b11);
  for (int i = 0; i < g.size(); ++i)
    if (g[i].o == op::sum && !(g[g[i].in[0]].s == shape_of<3>)) return false;
  return g[s].s == shape_of<1, 1>;
}
constexpr bool transposes_are_folded_into_the_product() {
  graph g;
  const var a{&g, g.input(0, dtype::f64, shape_of<4, 3>)}, b{&g, g.input(1, dtype::f64, shape_of<4, 5>)};
  const var c = matmul(transpose(a), b);
  return g[c.node].o == op::matmul && g[c.node].in[0] == a.node && c.dims() == shape_of<3, 5>;
}

} // namespace

#define TAPELESS_BOTH(f, ...)    \
  static_assert(f(__VA_ARGS__)); \
  CHECK(f(__VA_ARGS__))

TEST_CASE("graph: equal expressions are one node") { TAPELESS_BOTH(equal_expressions_are_one_node); }
TEST_CASE("graph: operands come before their node") { TAPELESS_BOTH(operands_come_before_their_node); }
TEST_CASE("graph: interning survives growth") {
  TAPELESS_BOTH(interning_survives_growth, 100);
  CHECK(interning_survives_growth(5000));
}
TEST_CASE("graph: trivial arithmetic disappears") { TAPELESS_BOTH(trivial_arithmetic_disappears); }
TEST_CASE("graph: a product with zero stays in the user's program") {
  TAPELESS_BOTH(a_product_with_zero_stays_in_the_users_program);
}
TEST_CASE("graph: fresh arguments are never merged") { TAPELESS_BOTH(fresh_arguments_are_never_merged); }
TEST_CASE("graph: a sum of repetitions is a product") { TAPELESS_BOTH(a_sum_of_repetitions_is_a_product); }
TEST_CASE("graph: transposes are folded into the product") {
  TAPELESS_BOTH(transposes_are_folded_into_the_product);
}
