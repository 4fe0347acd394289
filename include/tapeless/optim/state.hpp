#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// What optimizers share: the leaves of parameters, gradient and state, walked side by side.

#include <cmath>

#include "../core/tensor.hpp"
#include "../core/tree.hpp"
#include "../cpu/base/simd.hpp"
#include "../expr/handle.hpp"
#include "../run/arguments.hpp"
#include "../run/spans.hpp"

namespace tapeless::detail {

template <class Leaf>
concept trainable = typed_handle<Leaf> && (std::is_same_v<typename Leaf::element_type, float> ||
                                           std::is_same_v<typename Leaf::element_type, double>);

// What an optimizer has been given whose template argument is left out.
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

// What an optimizer writes to: the leaves of Params, none of them const.
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

// body(offset, load, store) over n elements: whole groups of lanes, then the rest. load(p) and store(p, v) are
// those of the group at p + offset.
template <class T, class F> [[gnu::always_inline]] inline void for_each_group(cpu::index_t n, F&& body) {
  using V = cpu::simd<T>;
  cpu::index_t i = 0;
  for (; i + cpu::width<T> <= n; i += cpu::width<T>)
    body([i](const T* p) { return cpu::load<V>(p + i); }, [i](T* p, const V& v) { cpu::store(p + i, v); });
  if (const cpu::index_t rest = n - i; rest > 0)
    body([=](const T* p) { return cpu::load_n<V>(p + i, rest); },
         [=](T* p, const V& v) { cpu::store_n(p + i, v, rest); });
}

} // namespace tapeless::detail
