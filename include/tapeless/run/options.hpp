// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The options of bind: dim<'n'>(64), threads(2), plain.
#pragma once
#include "../core/extent.hpp"
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
template <class X>
concept option_of_bind = is_option_v<X>;

} // namespace detail
} // namespace tapeless
