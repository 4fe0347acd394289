// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Where an argument of a program lives: on the host, or where a wrapper of its tree says, as cuda::on<tree>. A wrapper is an
// aggregate whose only member is the tree, so that both have the same leaves:
//   template <class Tree> struct on { using placed_in = Space; using tree_type = Tree; Tree tree{}; };
//   Space::on<Tree> is that wrapper.
#pragma once
#include <tuple>
#include <type_traits>
#include "tree.hpp"

namespace tapeless::detail {

// Are the elements of X, a tree or what owns one, on a device?
template <class X>
concept on_a_device = placed<X> || requires { typename std::remove_cvref_t<X>::elements_in; };
template <class... X>
concept on_the_host = (!on_a_device<X> && ...);

// A number has no place: it is passed by value.
template <class... A>
concept arguments_in_one_space = (!placed<A> && ...) || ((placed<A> || number<A>) && ...);
// Is X, an argument or a tuple of outputs, where A is?
template <class X> constexpr bool all_placed() {
  if constexpr (is_tuple_v<X>)
    return []<class... E>(std::type_identity<std::tuple<E...>>) {
      return (placed<E> && ...);
    }(std::type_identity<X>{});
  else return placed<X>;
}
template <class X, class A>
concept lives_where = number<A> || std::is_same_v<std::remove_cvref_t<X>, A> ||
                      all_placed<std::remove_cvref_t<X>>() == all_placed<A>();

// The space of the first of A that is placed.
template <class A, class... More> struct space_of : space_of<More...> {};
template <placed A, class... More> struct space_of<A, More...> {
  using type = typename std::remove_cvref_t<A>::placed_in;
};

// What a program of A... returns where its function returns R: R, or trees of it where those of A are.
template <class Space, class R> struct result_in {
  using type = typename Space::template on<R>;
};
template <class Space, class... R> struct result_in<Space, std::tuple<R...>> {
  using type = std::tuple<typename Space::template on<R>...>;
};
template <class R, class... A> struct result_of {
  using type = R;
};
template <class R, class... A>
  requires(placed<A> || ...)
struct result_of<R, A...> : result_in<typename space_of<A...>::type, R> {};

} // namespace tapeless::detail
