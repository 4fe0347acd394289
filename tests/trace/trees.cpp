// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// What a traced function receives and gives back: leaves are inputs and outputs in declaration order. Each body is run
// in a constant evaluation and again at run time.
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "support/law.hpp"
#include <tapeless/trace/trace.hpp>

namespace tl = tapeless;
using tl::detail::op;

namespace {

// The k-th leaf has extent k + 1 and is input and output k.
template <class... X> constexpr bool leaves_are_in_order(int expected) {
  constexpr auto identity = [](const auto&... x) { return std::tuple{x...}; };
  const auto p = tl::detail::trace<std::remove_const_t<decltype(identity)>, X...>();
  if (p.outputs.size() != expected) return false;
  for (int k = 0; k < expected; ++k) {
    const tl::detail::node& y = p.nodes[p.outputs[k]];
    if (y.o != op::copy) return false;
    const tl::detail::node& x = p.nodes[y.in[0]];
    if (x.o != op::input || x.attr != static_cast<std::uint64_t>(k) || !(x.s == tl::shape{1, {k + 1}}))
      return false;
  }
  return true;
}

template <int N> struct members;
// clang-format off
#define TAPELESS_MEMBERS_1 tl::tensor<double, 1> m1;
#define TAPELESS_MEMBERS_2 TAPELESS_MEMBERS_1 tl::tensor<double, 2> m2;
#define TAPELESS_MEMBERS_3 TAPELESS_MEMBERS_2 tl::tensor<double, 3> m3;
#define TAPELESS_MEMBERS_4 TAPELESS_MEMBERS_3 tl::tensor<double, 4> m4;
#define TAPELESS_MEMBERS_5 TAPELESS_MEMBERS_4 tl::tensor<double, 5> m5;
#define TAPELESS_MEMBERS_6 TAPELESS_MEMBERS_5 tl::tensor<double, 6> m6;
#define TAPELESS_MEMBERS_7 TAPELESS_MEMBERS_6 tl::tensor<double, 7> m7;
#define TAPELESS_MEMBERS_8 TAPELESS_MEMBERS_7 tl::tensor<double, 8> m8;
#define TAPELESS_MEMBERS_9 TAPELESS_MEMBERS_8 tl::tensor<double, 9> m9;
#define TAPELESS_MEMBERS_10 TAPELESS_MEMBERS_9 tl::tensor<double, 10> m10;
#define TAPELESS_MEMBERS_11 TAPELESS_MEMBERS_10 tl::tensor<double, 11> m11;
#define TAPELESS_MEMBERS_12 TAPELESS_MEMBERS_11 tl::tensor<double, 12> m12;
#define TAPELESS_MEMBERS_13 TAPELESS_MEMBERS_12 tl::tensor<double, 13> m13;
#define TAPELESS_MEMBERS_14 TAPELESS_MEMBERS_13 tl::tensor<double, 14> m14;
#define TAPELESS_MEMBERS_15 TAPELESS_MEMBERS_14 tl::tensor<double, 15> m15;
#define TAPELESS_MEMBERS_16 TAPELESS_MEMBERS_15 tl::tensor<double, 16> m16;
#define TAPELESS_MEMBERS_17 TAPELESS_MEMBERS_16 tl::tensor<double, 17> m17;
#define TAPELESS_MEMBERS_18 TAPELESS_MEMBERS_17 tl::tensor<double, 18> m18;
#define TAPELESS_MEMBERS_19 TAPELESS_MEMBERS_18 tl::tensor<double, 19> m19;
#define TAPELESS_MEMBERS_20 TAPELESS_MEMBERS_19 tl::tensor<double, 20> m20;
#define TAPELESS_MEMBERS_21 TAPELESS_MEMBERS_20 tl::tensor<double, 21> m21;
#define TAPELESS_MEMBERS_22 TAPELESS_MEMBERS_21 tl::tensor<double, 22> m22;
#define TAPELESS_MEMBERS_23 TAPELESS_MEMBERS_22 tl::tensor<double, 23> m23;
#define TAPELESS_MEMBERS_24 TAPELESS_MEMBERS_23 tl::tensor<double, 24> m24;
#define TAPELESS_MEMBERS_25 TAPELESS_MEMBERS_24 tl::tensor<double, 25> m25;
#define TAPELESS_MEMBERS_26 TAPELESS_MEMBERS_25 tl::tensor<double, 26> m26;
#define TAPELESS_MEMBERS_27 TAPELESS_MEMBERS_26 tl::tensor<double, 27> m27;
#define TAPELESS_MEMBERS_28 TAPELESS_MEMBERS_27 tl::tensor<double, 28> m28;
#define TAPELESS_MEMBERS_29 TAPELESS_MEMBERS_28 tl::tensor<double, 29> m29;
#define TAPELESS_MEMBERS_30 TAPELESS_MEMBERS_29 tl::tensor<double, 30> m30;
#define TAPELESS_MEMBERS_31 TAPELESS_MEMBERS_30 tl::tensor<double, 31> m31;
#define TAPELESS_MEMBERS_32 TAPELESS_MEMBERS_31 tl::tensor<double, 32> m32;
template <> struct members<1> { TAPELESS_MEMBERS_1 };
template <> struct members<2> { TAPELESS_MEMBERS_2 };
template <> struct members<3> { TAPELESS_MEMBERS_3 };
template <> struct members<4> { TAPELESS_MEMBERS_4 };
template <> struct members<5> { TAPELESS_MEMBERS_5 };
template <> struct members<6> { TAPELESS_MEMBERS_6 };
template <> struct members<7> { TAPELESS_MEMBERS_7 };
template <> struct members<8> { TAPELESS_MEMBERS_8 };
template <> struct members<9> { TAPELESS_MEMBERS_9 };
template <> struct members<10> { TAPELESS_MEMBERS_10 };
template <> struct members<11> { TAPELESS_MEMBERS_11 };
template <> struct members<12> { TAPELESS_MEMBERS_12 };
template <> struct members<13> { TAPELESS_MEMBERS_13 };
template <> struct members<14> { TAPELESS_MEMBERS_14 };
template <> struct members<15> { TAPELESS_MEMBERS_15 };
template <> struct members<16> { TAPELESS_MEMBERS_16 };
template <> struct members<17> { TAPELESS_MEMBERS_17 };
template <> struct members<18> { TAPELESS_MEMBERS_18 };
template <> struct members<19> { TAPELESS_MEMBERS_19 };
template <> struct members<20> { TAPELESS_MEMBERS_20 };
template <> struct members<21> { TAPELESS_MEMBERS_21 };
template <> struct members<22> { TAPELESS_MEMBERS_22 };
template <> struct members<23> { TAPELESS_MEMBERS_23 };
template <> struct members<24> { TAPELESS_MEMBERS_24 };
template <> struct members<25> { TAPELESS_MEMBERS_25 };
template <> struct members<26> { TAPELESS_MEMBERS_26 };
template <> struct members<27> { TAPELESS_MEMBERS_27 };
template <> struct members<28> { TAPELESS_MEMBERS_28 };
template <> struct members<29> { TAPELESS_MEMBERS_29 };
template <> struct members<30> { TAPELESS_MEMBERS_30 };
template <> struct members<31> { TAPELESS_MEMBERS_31 };
template <> struct members<32> { TAPELESS_MEMBERS_32 };
// clang-format on
template <int... N> constexpr bool every_count_of_members(std::integer_sequence<int, N...>) {
  return (leaves_are_in_order<members<N + 1>>(N + 1) && ...);
}
constexpr bool aggregates_of_1_to_32_members() {
  return every_count_of_members(std::make_integer_sequence<int, 32>{});
}

template <int N> using leaf = tl::tensor<double, N>;
struct layer {
  leaf<1> w;
  leaf<2> b;
};
struct shifted {
  leaf<3> w;
  leaf<4> b;
};
struct network {
  std::tuple<layer, shifted> body;
  std::pair<leaf<5>, std::tuple<>> rest;
  struct {
    leaf<6> w;
  } head;
};
constexpr bool trees_of_trees() {
  return leaves_are_in_order<network>(6) &&
         leaves_are_in_order<layer, shifted, std::tuple<leaf<5>, leaf<6>>>(6) &&
         leaves_are_in_order<leaf<1>, std::tuple<>, leaf<2>>(2) &&
         leaves_are_in_order<std::array<leaf<1>, 1>>(1);
}
constexpr bool arrays_in_the_order_of_their_elements() {
  constexpr auto third = [](const auto& x) { return x[2]; };
  const auto p = tl::detail::trace<std::remove_const_t<decltype(third)>, std::array<leaf<3>, 5>>();
  return p.nodes.size() == 2 && p.nodes[0].attr == 2;
}
constexpr bool arguments_in_the_order_of_the_call() {
  const auto difference = tl::detail::trace<std::minus<>, leaf<3>, leaf<3>>();
  constexpr auto swapped = [](auto x, auto y) { return y - x; };
  const auto reverse = tl::detail::trace<std::remove_const_t<decltype(swapped)>, leaf<3>, leaf<3>>();
  const auto input_of = [](const tl::detail::raw_program& p, int k) {
    return p.nodes[p.nodes[p.outputs[0]].in[k]].attr;
  };
  return input_of(difference, 0) == 0 && input_of(difference, 1) == 1 && input_of(reverse, 0) == 1 &&
         input_of(reverse, 1) == 0;
}
constexpr bool a_number_is_an_argument_without_axes() {
  constexpr auto scaled = [](auto x, auto factor) { return x * factor; };
  const auto p = tl::detail::trace<std::remove_const_t<decltype(scaled)>, tl::tensor<float, 3>, float>();
  return p.nodes.size() == 3 && p.nodes[1].o == op::input && p.nodes[1].s.rank == 0 &&
         p.nodes[1].t == tl::dtype::f32 && p.nodes[1].attr == 1;
}
constexpr bool the_result_has_the_type_that_is_returned() {
  constexpr auto turned = [](const layer& x) { return std::pair{x.b, layer{x.w * 2.0, x.b}}; };
  using result = tl::detail::traced_result<std::remove_const_t<decltype(turned)>, layer>;
  static_assert(std::is_same_v<result, std::pair<leaf<2>, layer>>);
  const auto p = tl::detail::trace<std::remove_const_t<decltype(turned)>, layer>();
  return p.outputs.size() == 3 && p.nodes[p.outputs[1]].o == op::mul;
}
constexpr bool no_two_outputs_are_one_node() {
  constexpr auto thrice = [](auto x) {
    auto y = exp(x);
    return std::tuple{x, y, y, x, tl::reshape<3, 1>(y)};
  };
  const auto p = tl::detail::trace<std::remove_const_t<decltype(thrice)>, leaf<3>>();
  for (int i = 0; i < p.outputs.size(); ++i) {
    const op o = p.nodes[p.outputs[i]].o;
    if (o != (i == 1 ? op::exp : op::copy)) return false;
    for (int k = 0; k < i; ++k)
      if (p.outputs[i] == p.outputs[k]) return false;
  }
  return true;
}

} // namespace

TAPELESS_LAW("trace: the members of an aggregate are inputs in their order, for each count from 1 to 32",
             aggregates_of_1_to_32_members)
TAPELESS_LAW("trace: leaves of trees of trees are inputs and outputs in declaration order", trees_of_trees)
TAPELESS_LAW("trace: an element of an array is the input of its place", arrays_in_the_order_of_their_elements)
TAPELESS_LAW("trace: arguments are inputs in the order of the call", arguments_in_the_order_of_the_call)
TAPELESS_LAW("trace: a number is an input without axes", a_number_is_an_argument_without_axes)
TAPELESS_LAW("trace: the result has the type that the function returns",
             the_result_has_the_type_that_is_returned)
TAPELESS_LAW("trace: no two outputs are one node, and none is an input", no_two_outputs_are_one_node)
