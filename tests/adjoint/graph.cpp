// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The graph and its transforms, on tiny programs: each body is run in a constant evaluation and again at run time.
#include "support/law.hpp"
#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>

namespace tl = tapeless;
using tl::detail::op;

namespace {

using V = tl::tensor<double, 3>;
using A = tl::tensor<double, 4, 3>;
using B = tl::tensor<double, 3, 5>;

// Traces f on handles of the types X and counts the nodes of one op; all nodes for op::count_.
template <class... X, class F> constexpr int count(F, op o) {
  const auto p = tl::detail::trace<F, X...>();
  int n = 0;
  for (const auto& v : p.nodes) n += v.o == o || o == op::count_;
  return n;
}
template <class... X, class F> constexpr int size(F f) { return count<X...>(f, op::count_); }

constexpr bool equal_nodes_are_one() {
  return count<V>([](auto x) { return exp(x) * exp(x); }, op::exp) == 1 &&
         count<V, V>([](auto x, auto y) { return (x + y) * (y + x); }, op::add) == 1 &&
         count<V, V>([](auto x, auto y) { return (x - y) * (y - x); }, op::sub) == 2 &&
         count<V>([](auto x) { return std::tuple{exp(x), exp(2.0 * x)}; }, op::exp) == 2 &&
         count<A>([](auto a) { return sum<0>(a) + sum<0>(a); }, op::sum) == 1 &&
         count<A>([](auto a) { return sum<0>(a, tl::keepdims) * sum<1>(a, tl::keepdims); }, op::sum) == 2;
}
constexpr bool what_no_output_reads_is_left_out() {
  return size<V>([](auto x) {
           [[maybe_unused]] auto dead = exp(log(x));
           return square(x);
         }) == 2 &&
         count<A, B>([](auto a, auto b) { return std::get<0>(std::tuple{exp(a), matmul(a, b)}); },
                     op::matmul) == 0 &&
         // an argument that is not read
         size<V, V>([](auto x, auto) { return square(x); }) == 2;
}
constexpr bool builders_simplify() {
  return size<V>([](auto x) { return square(x * 1.0 + 0.0); }) == 2 &&
         size<V>([](auto x) { return square(-(-x)); }) == 2 &&
         size<A>([](auto a) { return square(transpose(transpose(a))); }) == 2 &&
         size<A>([](auto a) { return square(tl::reshape<4, 3>(tl::reshape<12>(a))); }) == 2 &&
         size<A>([](auto a) { return square(tl::slice<0, 0, 4>(tl::pad<1, 0, 0>(a))); }) == 2 &&
         // one sum over both axes; a sum of what repeats is a product
         count<A>([](auto a) { return sum(sum<1>(a, tl::keepdims)); }, op::sum) == 1 &&
         count<V>([](auto x) { return exp(sum<0>(tl::broadcast_to<4, 3>(x))); }, op::sum) == 0 &&
         // a transposed factor is read in place
         count<A, A>([](auto a, auto b) { return matmul(a, transpose(b)); }, op::copy) == 0 &&
         count<A, A>([](auto a, auto b) { return matmul(a, transpose(b)); }, op::transpose) == 0;
}
constexpr bool nothing_is_made_of_a_zero_cotangent() {
  constexpr auto zero = [](auto x, auto w) { return 0.0 * sum(square(matmul(x, w))); };
  constexpr auto beside = [](auto x, auto w) { return sum(x) + 0.0 * sum(square(matmul(x, w))); };
  return count<A, B>(tl::grad<0, 1>(zero), op::matmul) == 0 &&
         count<A, B>(tl::grad<0, 1>(beside), op::matmul) == 0 &&
         count<A, B, A>(tl::hvp<0>(zero), op::matmul) == 0;
}
constexpr bool only_the_derivative_asked_for_is_made() {
  constexpr auto layer = [](auto x, auto w, auto v) { return sum(square(matmul(tanh(matmul(x, w)), v))); };
  using W = tl::tensor<double, 5, 2>;
  // two products forward; dW2, dH and dW1, but no dX
  return count<A, B, W>(tl::grad<1, 2>(layer), op::matmul) == 5 &&
         count<A, B, W>(tl::grad<0, 1, 2>(layer), op::matmul) == 6 &&
         count<A, B, W>(tl::grad<2>(layer), op::matmul) == 3 &&
         // a linear function's gradient does not read its argument
         size<V>(tl::grad([](auto x) { return sum(3.0 * x); })) == 3 &&
         // relu needs no second branch: one comparison, one selection
         count<V>(tl::grad([](auto x) { return sum(relu(x)); }), op::where) == 1;
}
constexpr auto f = [](auto x) { return sum(exp(tanh(x))); };
constexpr bool the_forward_program_is_shared() {
  // value and gradient compute exp and tanh once
  return count<V>(tl::value_and_grad(f), op::exp) == 1 && count<V>(tl::value_and_grad(f), op::tanh) == 1 &&
         count<V, V>([](auto x, auto v) { return std::tuple{tl::grad(f)(x), tl::jvp(f)(x, v)}; }, op::exp) ==
             1;
}
constexpr bool forward_mode_makes_no_reductions() {
  // the transposed vjp of a broadcast is the broadcast again
  return count<V, V>(
             [](auto x, auto v) {
               return tl::jvp([](auto a) { return exp(tl::broadcast_to<4, 3>(a)); })(x, v);
             },
             op::sum) == 0 &&
         count<A, B, A>(
             [](auto a, auto b, auto v) {
               return tl::jvp<0>([](auto p, auto q) { return matmul(p, q); })(a, b, v);
             },
             op::matmul) == 1;
}
constexpr bool stopped_gradients_end_the_sweep() {
  return count<V>(tl::grad([](auto x) { return sum(x * tl::stop_gradient(exp(x))); }), op::exp) == 1 &&
         size<V>(tl::grad([](auto x) { return sum(tl::stop_gradient(exp(x))); })) <= 3;
}
constexpr auto inner = [](auto a, auto b) { return sum(exp(a * b)); };
constexpr bool no_fresh_argument_is_left() {
  return count<V>([](auto x) { return tl::grad<0>(inner)(x, x); }, op::argument) == 0 &&
         count<V, V>([](auto x, auto v) { return tl::hvp<0>(inner)(x, x, v); }, op::argument) == 0 &&
         count<V>(
             [](auto x) {
               return tl::grad(
                   [](auto a) { return sum(tl::grad([&](auto b) { return sum(exp(a * b)); })(a)); })(x);
             },
             op::argument) == 0;
}
constexpr bool operands_come_first() {
  constexpr auto value_and_gradients =
      tl::value_and_grad<0, 1>([](auto a, auto b) { return tl::mean(tl::logsumexp<1>(tl::matmul(a, b))); });
  const auto p = tl::detail::trace<std::remove_const_t<decltype(value_and_gradients)>, A, B>();
  for (int i = 0; i < p.nodes.size(); ++i)
    for (const int k : p.nodes[i].in)
      if (k >= i) return false;
  return true;
}
constexpr bool vars_make_the_same_program() {
  constexpr auto typed = [](auto a, auto b) { return sum<0>(tanh(matmul(a, b))); };
  constexpr auto untyped = [](auto a, auto b) {
    tl::var h = {a.graph_ptr(), a.id()};
    const tl::var w = {b.graph_ptr(), b.id()};
    h = matmul(h, w); // other extents
    h = sum<0>(tanh(h));
    return h.template as<double, 5>();
  };
  const auto p = tl::detail::trace<std::remove_const_t<decltype(typed)>, A, B>(),
             q = tl::detail::trace<std::remove_const_t<decltype(untyped)>, A, B>();
  if (p.nodes.size() != q.nodes.size()) return false;
  for (int i = 0; i < p.nodes.size(); ++i)
    if (!tl::detail::equal(p.nodes[i], q.nodes[i])) return false;
  return true;
}

} // namespace

TAPELESS_LAW("equal nodes are one node", equal_nodes_are_one)
TAPELESS_LAW("what no output reads is left out", what_no_output_reads_is_left_out)
TAPELESS_LAW("builders leave out what changes nothing", builders_simplify)
TAPELESS_LAW("of a cotangent that is the constant 0 nothing is computed", nothing_is_made_of_a_zero_cotangent)
TAPELESS_LAW("only the derivative that is asked for is made: no dX of the first layer",
             only_the_derivative_asked_for_is_made)
TAPELESS_LAW("the forward program is shared by value and derivatives", the_forward_program_is_shared)
TAPELESS_LAW("forward mode is the transpose of the transpose, without what it does not need",
             forward_mode_makes_no_reductions)
TAPELESS_LAW("stop_gradient ends the sweep", stopped_gradients_end_the_sweep)
TAPELESS_LAW("no fresh argument is left in a program", no_fresh_argument_is_left)
TAPELESS_LAW("operands come before their node", operands_come_first)
TAPELESS_LAW("var and typed handles make the same program", vars_make_the_same_program)
