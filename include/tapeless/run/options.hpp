// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The options of bind: dim<'n'>(64), threads(2), plain.
#pragma once
#include "../core/extent.hpp"
#include "../core/placed.hpp"
#include "../plan/backend.hpp"

namespace tapeless {

// bind<...>(threads(2)): how many members the team has, at least 1; without it as many as there are processors for this
// process. Results do not depend on it.
struct threads {
  int count;
  constexpr explicit threads(int n) : count(n) {}
};

namespace detail {

template <class X> inline constexpr bool is_option_v = false;
template <char Name> inline constexpr bool is_option_v<dim<Name>> = true;
template <> inline constexpr bool is_option_v<threads> = true;
template <> inline constexpr bool is_option_v<plain_t> = true;
// Of programs on a device: a stream, cuda::options
template <class X> inline constexpr bool is_device_option_v = false;
template <class X>
concept option_of_bind = is_option_v<X> || is_device_option_v<X>;
template <class X>
concept option_of_a_team = std::is_same_v<X, threads> || is_device_option_v<X>;
// Is the option for a program of these arguments? (An owner in place of a tree has a sentence of its own.)
template <class Option, class... A>
concept option_for = !(is_device_option_v<Option> && (!on_a_device<A> && ...)) &&
                     !(std::is_same_v<Option, threads> && (on_a_device<A> || ...));

} // namespace detail
} // namespace tapeless
