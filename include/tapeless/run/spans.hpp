// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The leaves of a tree as an array of spans, so that trees of different types can be walked side by side.
#pragma once
#include <array>
#include "../core/error.hpp"
#include "../core/shape.hpp"
#include "../plan/explain.hpp"
#include "arguments.hpp"
#include "memory.hpp"

namespace tapeless::detail {

template <class X> const X& view_of(const X& x) { return x; }
template <class Tree> const Tree& view_of(const owned<Tree>& x) { return x.view(); }

// Where the elements of one leaf are, and its extents as numbers.
struct leaf_span {
  void* data = nullptr;
  extent_t size = 0;
  shape s{};
};
template <class Tree> using leaf_spans =
    std::array<leaf_span, static_cast<std::size_t>(count_leaves<Tree>())>;

// who: "adam.step(p, gradient): p"   Throws argument_error where a leaf has elements and no data.
template <class Tree> leaf_spans<Tree> spans_of(const Tree& tree, const char* who) {
  leaf_spans<Tree> spans{};
  std::size_t at = 0;
  for_each_leaf(tree, [&](const auto& leaf) {
    if (leaf.data() == nullptr && leaf.size() > 0)
      refuse("tapeless: %s has a leaf without data (leaf %d)", who, static_cast<int>(at));
    leaf_span& span = spans[at++];
    span = {const_cast<void*>(static_cast<const void*>(leaf.data())), leaf.size(), {}};
    span.s.rank = leaf.rank();
    for (int axis = 0; axis < leaf.rank(); ++axis) span.s.d[axis] = leaf.extent(axis);
  });
  return spans;
}

// Throws argument_error unless each leaf has the same extents in both.
template <std::size_t N>
void require_same_extents(const std::array<leaf_span, N>& here, const std::array<leaf_span, N>& there,
                          const char* who) {
  for (std::size_t i = 0; i < N; ++i) {
    if (here[i].size != there[i].size)
      refuse("tapeless: %s has %lld elements in leaf %d, expected %lld", who, wide(here[i].size),
             static_cast<int>(i), wide(there[i].size));
    if (!(here[i].s == there[i].s))
      refuse("tapeless: %s has the extents %s in leaf %d, expected %s", who, text_of(here[i].s).c_str(),
             static_cast<int>(i), text_of(there[i].s).c_str());
  }
}

} // namespace tapeless::detail
