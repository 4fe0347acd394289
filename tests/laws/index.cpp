// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include "laws.hpp"

#include <doctest/doctest.h>
#include <reference/index.hpp>
#include <reference/reduce.hpp>
#include <reference/shape.hpp>

namespace tl = tapeless;
using namespace laws;

namespace {

constexpr tl::extent_t n = tl::dyn<'n'>;

// Tolerances: gather is exact, a square rounds once; of the terms that scatter_add adds each rounds at most once, so
// k terms are off by k / 2 eps of the sum of their absolute values.
// x: (3, 5), d: (4, 5)     i: (4) below 3, j: (2, 2) below 5, k: one number below 3
using index_constants =
    constants<tl::tensor<std::int32_t, 4>, tl::tensor<std::int32_t, 2, 2>, tl::tensor<std::int32_t>>;
template <class T> using fixed_arguments = arguments<tl::tensor<T, 3, 5>, tl::tensor<T, 4, 5>>;
constexpr auto fixed = cases<fixed_arguments<double>, index_constants>(
    pair(
        "gather<0>",
        [](const auto& x, const auto&, const auto& i, const auto&, const auto&) {
          return tl::square(tl::gather<0>(x, i));
        },
        [](const auto& x, const auto&, const auto& i, const auto&, const auto&) {
          return ref::square(ref::take(x, i, 0));
        },
        rounds_once),
    pair(
        "gather<1> by a matrix",
        [](const auto& x, const auto&, const auto&, const auto& j, const auto&) {
          return tl::square(tl::gather<1>(x, j));
        },
        [](const auto& x, const auto&, const auto&, const auto& j, const auto&) {
          return ref::square(ref::take(x, j, 1));
        },
        rounds_once),
    pair(
        "gather<-1> by a number",
        [](const auto& x, const auto&, const auto&, const auto&, const auto& k) {
          return tl::gather<-1>(x, k);
        },
        [](const auto& x, const auto&, const auto&, const auto&, const auto& k) {
          return ref::take(x, k, 1);
        },
        exact),
    pair(
        "gather of a transpose",
        [](const auto& x, const auto&, const auto&, const auto& j, const auto&) {
          return tl::gather<0>(tl::transpose(tl::square(x)), j);
        },
        [](const auto& x, const auto&, const auto&, const auto& j, const auto&) {
          return ref::take(ref::transpose(ref::square(x), {1, 0}), j, 0);
        },
        rounds_once),
    pair(
        "gather<0> at argmax<0>, clamped",
        [](const auto& x, const auto&, const auto&, const auto&, const auto&) {
          return tl::square(tl::gather<0>(x, tl::argmax<0>(x)));
        },
        [](const auto& x, const auto&, const auto&, const auto&, const auto&) {
          using T = typename std::remove_cvref_t<decltype(x)>::value_type;
          return ref::square(ref::take(x, ref::as_index(ref::clamped(ref::argmax(x, {0}), T(2))), 0));
        },
        rounds_once),
    pair(
        "gather<0> at argmin<0>, clamped",
        [](const auto& x, const auto&, const auto&, const auto&, const auto&) {
          return tl::square(tl::gather<0>(x, tl::argmin<0>(x)));
        },
        [](const auto& x, const auto&, const auto&, const auto&, const auto&) {
          using T = typename std::remove_cvref_t<decltype(x)>::value_type;
          return ref::square(ref::take(x, ref::as_index(ref::clamped(ref::argmin(x, {0}), T(2))), 0));
        },
        rounds_once),
    pair(
        "gather<0> at argmax<0> with keepdims, clamped",
        [](const auto& x, const auto&, const auto&, const auto&, const auto&) {
          return tl::square(tl::gather<0>(x, tl::argmax<0>(x, tl::keepdims)));
        },
        [](const auto& x, const auto&, const auto&, const auto&, const auto&) {
          using T = typename std::remove_cvref_t<decltype(x)>::value_type;
          return ref::square(ref::take(x, ref::as_index(ref::clamped(ref::argmax(x, {0}, true), T(2))), 0));
        },
        rounds_once),
    pair(
        "gather<1> at argmax<0, 1>, clamped",
        [](const auto& x, const auto&, const auto&, const auto&, const auto&) {
          return tl::gather<1>(x, tl::argmax(x));
        },
        [](const auto& x, const auto&, const auto&, const auto&, const auto&) {
          using T = typename std::remove_cvref_t<decltype(x)>::value_type;
          return ref::take(x, ref::as_index(ref::clamped(ref::argmax(x), T(4))), 1);
        },
        exact),
    pair(
        "scatter_add<0, 3>",
        [](const auto&, const auto& d, const auto& i, const auto&, const auto&) {
          return tl::square(tl::scatter_add<0, 3>(i, d));
        },
        [](const auto&, const auto& d, const auto& i, const auto&, const auto&) {
          return ref::square(ref::scatter_add(i, d, 0, 3));
        },
        4, scale::terms),
    pair(
        "scatter_add<1, 7>",
        [](const auto& x, const auto& d, const auto& i, const auto&, const auto&) {
          return tl::scatter_add<1, 7>(i, tl::transpose(d)) + tl::sum(x);
        },
        [](const auto& x, const auto& d, const auto& i, const auto&, const auto&) {
          return ref::scatter_add(i, ref::transpose(d, {1, 0}), 1, 7) + ref::sum(x);
        },
        16, scale::terms));
constexpr auto fill = [](const auto& c, std::int64_t) {
  constexpr std::int32_t i[] = {2, 0, 2, 1}, j[] = {4, 0, 3, 4};
  for (int a = 0; a < 4; ++a) std::get<0>(c)[a] = i[a], std::get<1>(c)[a] = j[a];
  std::get<2>(c)[0] = 1;
};
// rows of (n, 3) by n indices below n, checked and clamped; rows of a table of 11 by n indices
template <class T> using named_arguments = arguments<tl::tensor<T, n, 3>, tl::tensor<T, 11, 2>>;
using named_constants = constants<tl::tensor<std::int32_t, n>>;
constexpr auto named = cases<named_arguments<double>, named_constants>(
    pair(
        "gather<0> of (n, 3) by n",
        [](const auto& x, const auto&, const auto& i) { return tl::square(tl::gather<0>(x, i)); },
        [](const auto& x, const auto&, const auto& i) { return ref::square(ref::take(x, i, 0)); },
        rounds_once),
    pair(
        "gather<0> of (n, 3) by n, clamped",
        [](const auto& x, const auto&, const auto& i) { return tl::square(tl::gather<0>(x, i + 1)); },
        [](const auto& x, const auto&, const auto& i) {
          using T = typename std::remove_cvref_t<decltype(x)>::value_type;
          const T top = T(static_cast<double>(x.shape[0])) - T(1);
          const auto next = ref::cast<T>(i) + ref::constant(T(1));
          return ref::square(ref::take(x, ref::as_index(ref::clamped(next, top)), 0));
        },
        rounds_once),
    pair(
        "gather<0> of (11, 2) by n",
        [](const auto&, const auto& t, const auto& i) { return tl::square(tl::gather<0>(t, tl::min(i, 7))); },
        [](const auto&, const auto& t, const auto& i) {
          using T = typename std::remove_cvref_t<decltype(t)>::value_type;
          const auto least = ref::min(ref::cast<T>(i), ref::constant(T(7)));
          return ref::square(ref::take(t, ref::as_index(ref::clamped(least, T(10))), 0));
        },
        rounds_once),
    pair(
        "scatter_add<0, 100> of n rows",
        [](const auto& x, const auto&, const auto& i) { return tl::scatter_add<0, 100>(i, tl::square(x)); },
        [](const auto& x, const auto&, const auto& i) { return ref::scatter_add(i, ref::square(x), 0, 100); },
        8));
constexpr auto fill_named = [](const auto& c, std::int64_t count) {
  for (std::int64_t k = 0; k < count; ++k) std::get<0>(c)[k] = static_cast<std::int32_t>((k * 5 + 3) % count);
};

static_assert(covers(tl::detail::index_rules, fixed) && counts(tl::detail::index_rules, fixed));
static_assert(!covers(tl::detail::index_rules, named)); // there is no argmax
const std::vector<domain> distinct{{-1, 1, true}};

} // namespace

TEST_CASE("index: the laws hold") { check_laws(fixed, no_names, distinct, fill); }
TEST_CASE("index: the laws hold along a named extent") {
  check_laws(named, {0, 1, 2, 7, 17}, distinct, fill_named);
}
TEST_CASE("index: float equals the reference: gather is exact") {
  check_values(with<fixed_arguments<float>, index_constants>(fixed), no_names, distinct, fill);
  check_values(with<named_arguments<float>, named_constants>(named), {0, 1, 17}, distinct, fill_named);
}
