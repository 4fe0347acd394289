// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// What may be wrong with a parameter tree. jit checks it first, so that the message is near the user's line.
#pragma once
#include "placed.hpp"
#include "tensor.hpp"
#include "tree.hpp"

namespace tapeless::detail {

struct tree_facts {
  int numbers_inside = 0, largest_aggregate = 0;
  bool tree = true, on_host = true;
};
template <bool Tree>
concept is_a_tree = Tree;
template <bool OnHost>
concept lives_on_the_host = OnHost;
template <int NumbersInside>
concept no_number_inside = NumbersInside == 0;
template <class X> constexpr void inspect(X& x, tree_facts& facts, bool root = true) {
  using U = std::remove_cv_t<X>;
  if constexpr (number<U>) facts.numbers_inside += root ? 0 : 1;
  else if constexpr (is_tensor_v<U>) facts.on_host &= std::is_same_v<typename U::space, host>;
  else if constexpr (is_csr_v<U>) facts.on_host &= std::is_same_v<typename U::values_type::space, host>;
  else if constexpr (tensor_like<U> || !parameter_tree<U>) return;
  else if constexpr (placed<U>) {
    facts.on_host &= root; // a whole argument is on a device
    inspect(x.tree, facts, false);
  } else if constexpr (is_array_v<U>) {
    for (auto& e : x) inspect(e, facts, false);
  } else if constexpr (is_tuple_v<U>) {
    with_elements(x, [&](auto&... e) { (inspect(e, facts, false), ...); });
  } else {
    constexpr int n = member_count<U> < 0 ? 34 : member_count<U>; // 34: 34 or more
    facts.largest_aggregate = n > facts.largest_aggregate ? n : facts.largest_aggregate;
    if constexpr (at_most_32_members<n>)
      with_members(x, [&](auto&... e) { (inspect(e, facts, false), ...); });
  }
}
template <class X> inline constexpr tree_facts facts_of = [] {
  tree_facts facts;
  if constexpr (number<X> || parameter_tree<X>) {
    std::remove_cvref_t<X> x{};
    inspect(x, facts);
  } else facts.tree = false;
  return facts;
}();

} // namespace tapeless::detail
