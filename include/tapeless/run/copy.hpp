// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// copy(from, to) copies the elements of one parameter tree to another of equal extents. (Copying a view copies no
// element, and owned trees can only be moved.)
#pragma once
#include <cstring>
#include "../core/extent.hpp"
#include "../core/placed.hpp"
#include "../core/tree.hpp"
#include "arguments.hpp"
#include "memory.hpp"
#include "spans.hpp"

namespace tapeless {

namespace detail {
template <class X> inline constexpr bool is_owned = false;
template <class Tree> inline constexpr bool is_owned<owned<Tree>> = true;
template <class X>
concept owns_its_elements = is_owned<X>;
} // namespace detail

// to = from, element by element. Both are trees, or owned trees, of the same leaves. An owned `to` may have const
// elements. A leaf may overlap only the same leaf of the other tree.
// No allocation. Throws argument_error before it writes where a leaf has no data or other extents.
template <class From, class To> void copy(const From& from, const To& to) {
  using F = std::remove_cvref_t<decltype(detail::view_of(from))>;
  using T = std::remove_cvref_t<decltype(detail::view_of(to))>;
  constexpr bool trees = detail::parameter_tree<F> && detail::parameter_tree<T>;
  static_assert(detail::on_the_host<From, To>,
                "tapeless: copy(from, to): a tree of a device is copied on a stream: copy(from, to, stream)");
  static_assert(trees && detail::leaves_match<F, T>,
                "tapeless: copy(from, to): two trees of the same leaves");
  if constexpr (detail::on_the_host<From, To> && trees && detail::leaves_match<F, T>) {
    static_assert(detail::no_leaf_is_const<T> || detail::owns_its_elements<To>,
                  "tapeless: copy(from, to): no leaf of to is const, unless to is owned");
    const auto source = detail::spans_of(detail::view_of(from), "copy(from, to): from");
    const auto target = detail::spans_of(detail::view_of(to), "copy(from, to): to");
    detail::require_same_extents(target, source, "copy(from, to): to");
    std::size_t i = 0;
    detail::for_each_leaf(detail::view_of(to), [&](const auto& leaf) {
      using E = typename std::remove_cvref_t<decltype(leaf)>::value_type;
      const std::size_t bytes = static_cast<std::size_t>(target[i].size) * sizeof(E);
      if (bytes > 0) std::memmove(target[i].data, source[i].data, bytes);
      if constexpr (detail::is_bool<E>) // any byte but 0 is true, and is copied as 1
        for (extent_t k = 0; k < target[i].size; ++k)
          static_cast<bool*>(target[i].data)[k] = detail::read_element(leaf.data(), k);
      ++i;
    });
  }
}

} // namespace tapeless
