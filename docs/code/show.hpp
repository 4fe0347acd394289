// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// show("name", view): name, shape and elements on one line. For the programs of the reference pages.
#include <tapeless/tapeless.hpp>

#include <cstdio>

template <class View> void show(const char* name, const View& v) {
  std::printf("%-10s (", name);
  for (int axis = 0; axis < v.rank(); ++axis) std::printf(axis > 0 ? ", %d" : "%d", static_cast<int>(v.extent(axis)));
  std::printf(")");
  for (const auto e : v) std::printf(" %.4g", static_cast<double>(e) + 0.0); // + 0.0: no negative zero
  std::printf("\n");
}

// 1, 2, 3, ... in every leaf
template <class Tree> void count_up(const Tree& tree) {
  tapeless::detail::for_each_leaf(tree, [](auto leaf) {
    for (int i = 0; i < leaf.size(); ++i) leaf[i] = static_cast<typename decltype(leaf)::value_type>(i + 1);
  });
}
