#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// What optimisers share: the leaves of parameters, gradient and state, walked side by side.

#include <array>
#include <cmath>
#include <string>

#include "../cpu/simd.hpp"
#include "../run/arguments.hpp"

namespace tapeless::detail {

template <class Leaf>
concept trainable = typed_handle<Leaf> && (std::is_same_v<typename Leaf::element_type, float> ||
                                           std::is_same_v<typename Leaf::element_type, double>);

template <class Tree>
concept trainable_tree = parameter_tree<Tree> && [] {
  bool ok = true;
  Tree tree{};
  for_each_leaf(tree, [&](auto& leaf) { ok = ok && trainable<std::remove_cvref_t<decltype(leaf)>>; });
  return ok;
}();

// Data and number of elements of one leaf.
struct leaf_span {
  void* data;
  cpu::index_t size;
};
template <class Tree> using leaf_spans =
    std::array<leaf_span, static_cast<std::size_t>(count_leaves<Tree>())>;

// who: "adam: the gradient"   Throws argument_error where a leaf has no data.
template <class Tree> leaf_spans<Tree> spans_of(const Tree& tree, const char* who) {
  leaf_spans<Tree> spans{};
  std::size_t at = 0;
  for_each_leaf(tree, [&](const auto& leaf) {
    if (leaf.data() == nullptr && leaf.size() > 0)
      throw argument_error(std::string("tapeless: ") + who + " has a leaf without data (leaf " +
                           std::to_string(at) + ")");
    spans[at++] = {const_cast<void*>(static_cast<const void*>(leaf.data())), leaf.size()};
  });
  return spans;
}

// Throws argument_error unless each leaf has as many elements here as there.
template <std::size_t N>
void require_same_sizes(const std::array<leaf_span, N>& here, const std::array<leaf_span, N>& there,
                        const char* who) {
  for (std::size_t i = 0; i < N; ++i)
    if (here[i].size != there[i].size)
      throw argument_error(std::string("tapeless: ") + who + " has " + std::to_string(here[i].size) +
                           " elements in leaf " + std::to_string(i) + ", expected " +
                           std::to_string(there[i].size));
}

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
