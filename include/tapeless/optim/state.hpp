#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The parameter trees that optimizers take, and the leaves of parameters, gradient and state side by side.

#include <array>
#include <cstddef>
#include <type_traits>

#include "../core/extent.hpp"
#include "../core/tensor.hpp"
#include "../core/tree.hpp"
#include "../expr/handle.hpp"
#include "../run/arguments.hpp"
#include "../run/spans.hpp"

namespace tapeless::detail {

template <class Leaf>
concept trainable = typed_handle<Leaf> && (std::is_same_v<typename Leaf::element_type, float> ||
                                           std::is_same_v<typename Leaf::element_type, double>);

// The tree of an optimizer whose template argument is left out.
struct no_parameters {};
template <class Tree>
concept parameters_named = !std::is_same_v<Tree, no_parameters>;

template <class Tree> constexpr bool is_trainable_tree() {
  bool ok = true;
  Tree tree{};
  for_each_leaf(tree, [&](auto& leaf) { ok = ok && trainable<std::remove_cvref_t<decltype(leaf)>>; });
  return ok;
}
template <class Tree>
concept trainable_tree = parameter_tree<Tree> && is_trainable_tree<Tree>();

// An optimizer writes to a P: it has the leaves of Params, and none is const.
template <class P, class Params>
concept parameters_like = trainable_tree<P> && leaves_match<P, Params>;

template <class Tree> struct first_element {
  using type = float;
};
template <class T, shape S, class Space> struct first_element<basic_tensor<T, S, Space>> {
  using type = std::remove_const_t<T>;
};
// The element type of a tensor; some type for a tree.
template <class Tree> using element_of_first = typename first_element<Tree>::type;

// update(T{}, i) for leaf i of elements T
template <class Tree, class F> void for_each_leaf_type(F&& update) {
  Tree tree{};
  std::size_t at = 0;
  for_each_leaf(
      tree, [&](auto& leaf) { update(typename std::remove_cvref_t<decltype(leaf)>::value_type{}, at++); });
}

// The elements of one leaf, or of one row of it.
template <class T, std::size_t States> struct elements_to_step {
  extent_t n;
  T* p;
  const T* gradient;
  std::array<T*, States> state; // null where the optimizer keeps none
};

// The leaves of one step. They have the same extents.
template <class Params, std::size_t States> struct leaves_to_step {
  leaf_spans<Params> p, gradient;
  std::array<leaf_spans<Params>, States> state; // without data where the optimizer keeps none

  // update(elements_to_step) for each leaf
  template <class F> void for_each(F&& update) const {
    for_each_leaf_type<Params>([&]<class T>(T, std::size_t i) {
      elements_to_step<T, States> leaf{
          p[i].size, static_cast<T*>(p[i].data), static_cast<const T*>(gradient[i].data), {}};
      for (std::size_t k = 0; k < States; ++k) leaf.state[k] = static_cast<T*>(state[k][i].data);
      update(leaf);
    });
  }
};

} // namespace tapeless::detail
