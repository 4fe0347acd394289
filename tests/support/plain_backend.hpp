// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Every program that is bound is bound with tl::plain. A file is compiled with -include of this header; it runs
// unswept then, unedited.
#include <tapeless/tapeless.hpp>

namespace tapeless::detail {

struct plain_host {};
template <> struct backend_for<plain_host> {
  using type = plain_backend<backend_for<host>::type>;
};
template <> struct program_space<> {
  using type = plain_host;
};
template <class A, class... More> struct program_space<A, More...> {
  using type = plain_host;
};

static_assert(!rules_of<backend_of<float>>().sweeps && !rules_of<backend_of<>>().sweeps);

} // namespace tapeless::detail
