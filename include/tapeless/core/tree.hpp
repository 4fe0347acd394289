// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Parameter trees: a leaf (tensor, handle, number at the root), or a std::array, std::tuple, std::pair, sparse matrix
// or aggregate of trees (up to 32 members). for_each_leaf visits the leaves in declaration order.
#pragma once
#include <array>
#include <tuple>
#include <type_traits>
#include <utility>
#include "csr.hpp"
#include "members.hpp"

namespace tapeless {

struct var;

namespace detail {

template <class X> inline constexpr bool is_array_v = false;
template <class X, std::size_t N> inline constexpr bool is_array_v<std::array<X, N>> = true;
template <class X> inline constexpr bool is_tuple_v = false;
template <class... X> inline constexpr bool is_tuple_v<std::tuple<X...>> = true;
template <class A, class B> inline constexpr bool is_tuple_v<std::pair<A, B>> = true;

// Is X a tree on a device, with its place in its type? (placed.hpp)
template <class X>
concept placed = requires { typename std::remove_cvref_t<X>::placed_in; };
template <class X>
concept tree_of_the_host = !placed<X>;

template <class X>
concept tensor_like = is_tensor_v<std::remove_cvref_t<X>> || std::is_same_v<std::remove_cvref_t<X>, var>;
template <class X>
concept number = std::is_arithmetic_v<std::remove_cvref_t<X>>;

template <class X>
concept tree_member_is_no_number = !number<X>;
template <class X>
concept parameter_tree = tensor_like<X> || is_csr_v<X> || is_array_v<X> || is_tuple_v<X> ||
                         (std::is_aggregate_v<X> && std::is_class_v<X>);
template <int N>
concept at_most_32_members = N >= 0 && N <= 32;

template <class X, class F> constexpr void for_each_member(X& x, F&& f);

// f(x_0, x_1, ...) for the elements of a tuple, pair or array: std::apply without std::invoke and its instantiations
template <class Tuple, class F> constexpr decltype(auto) with_elements(Tuple& x, F&& f) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) -> decltype(auto) {
    return f(std::get<I>(x)...);
  }(std::make_index_sequence<std::tuple_size_v<std::remove_cv_t<Tuple>>>{});
}

// f(leaf) for every leaf, in declaration order. A number is a leaf at the root only.
template <class X, class F> constexpr void for_each_leaf(X& x, F&& f) {
  using U = std::remove_cv_t<X>;
  if constexpr (tensor_like<U> || number<U>) f(x);
  else
    for_each_member(x, [&](auto& m) {
      using M = std::remove_cvref_t<decltype(m)>;
      static_assert(tree_member_is_no_number<M>,
                    "tapeless: parameter tree: a number inside an aggregate is written tl::scalar<T>");
      if constexpr (tree_member_is_no_number<M>) for_each_leaf(m, f);
    });
}

// f(leaf) for every leaf but those of the pattern of a sparse matrix, which has no tangent.
template <class X, class F> constexpr void for_each_differentiable(X& x, F&& f) {
  for_each_leaf(x, [&](auto& leaf) {
    if constexpr (!is_pattern_v<std::remove_cvref_t<decltype(leaf)>>) f(leaf);
  });
}

template <class X, class F> constexpr void for_each_member(X& x, F&& f) {
  using U = std::remove_cv_t<X>;
  if constexpr (is_array_v<U>) {
    for (auto& e : x) f(e);
  } else if constexpr (is_tuple_v<U>) {
    with_elements(x, [&](auto&... e) { (f(e), ...); });
  } else if constexpr (is_csr_v<U>) {
    U::visit_leaves(x, f);
  } else {
    static_assert(
        parameter_tree<U>,
        "tapeless: parameter tree: a leaf is a tensor; a node is a std::array, std::tuple or aggregate of "
        "trees, without constructors, so no std::vector and no pointer");
    if constexpr (parameter_tree<U>) {
      static_assert(at_most_32_members<member_count<U>>,
                    "tapeless: parameter tree: an aggregate has at most 32 members");
      with_members(x, [&](auto&... e) { (f(e), ...); });
    }
  }
}

template <class X> constexpr int count_leaves() {
  X x{};
  int n = 0;
  for_each_leaf(x, [&](auto&) { ++n; });
  return n;
}

} // namespace detail

// for_each_leaf(tree, f): f(tensor) for every leaf, in declaration order
template <class Tree, class F> constexpr void for_each_leaf(Tree&& tree, F&& f) {
  static_assert(
      detail::tree_of_the_host<Tree>,
      "tapeless: for_each_leaf(tree, f): a tree of the host; of a device tl::copy(tree, here, stream) first");
  detail::for_each_leaf(tree, f);
}

} // namespace tapeless
