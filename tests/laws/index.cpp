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

// x: (3, 5), d: (4, 5)     i: (4) below 3, j: (2, 2) below 5, k: one number below 3
using index_constants =
    constants<tl::tensor<std::int32_t, 4>, tl::tensor<std::int32_t, 2, 2>, tl::tensor<std::int32_t>>;
constexpr auto fixed = cases<arguments<tl::tensor<double, 3, 5>, tl::tensor<double, 4, 5>>, index_constants>(
    pair(
        "gather<0>",
        [](const auto& x, const auto&, const auto& i, const auto&, const auto&) {
          return tl::square(tl::gather<0>(x, i));
        },
        [](const auto& x, const auto&, const auto& i, const auto&, const auto&) {
          return ref::square(ref::take(x, i, 0));
        }),
    pair(
        "gather<1> by a matrix",
        [](const auto& x, const auto&, const auto&, const auto& j, const auto&) {
          return tl::square(tl::gather<1>(x, j));
        },
        [](const auto& x, const auto&, const auto&, const auto& j, const auto&) {
          return ref::square(ref::take(x, j, 1));
        }),
    pair(
        "gather<-1> by a number",
        [](const auto& x, const auto&, const auto&, const auto&, const auto& k) {
          return tl::gather<-1>(x, k);
        },
        [](const auto& x, const auto&, const auto&, const auto&, const auto& k) {
          return ref::take(x, k, 1);
        }),
    pair(
        "gather of a transpose",
        [](const auto& x, const auto&, const auto&, const auto& j, const auto&) {
          return tl::gather<0>(tl::transpose(tl::square(x)), j);
        },
        [](const auto& x, const auto&, const auto&, const auto& j, const auto&) {
          return ref::take(ref::transpose(ref::square(x), {1, 0}), j, 0);
        }),
    pair(
        "scatter_add<0, 3>",
        [](const auto&, const auto& d, const auto& i, const auto&, const auto&) {
          return tl::square(tl::scatter_add<0, 3>(i, d));
        },
        [](const auto&, const auto& d, const auto& i, const auto&, const auto&) {
          return ref::square(ref::scatter_add(i, d, 0, 3));
        },
        16),
    pair(
        "scatter_add<1, 7>",
        [](const auto& x, const auto& d, const auto& i, const auto&, const auto&) {
          return tl::scatter_add<1, 7>(i, tl::transpose(d)) + tl::sum(x);
        },
        [](const auto& x, const auto& d, const auto& i, const auto&, const auto&) {
          return ref::scatter_add(i, ref::transpose(d, {1, 0}), 1, 7) + ref::sum(x);
        },
        64, scale::terms));
constexpr auto fill = [](const auto& c, std::int64_t) {
  constexpr std::int32_t i[] = {2, 0, 2, 1}, j[] = {4, 0, 3, 4};
  for (int a = 0; a < 4; ++a) std::get<0>(c)[a] = i[a], std::get<1>(c)[a] = j[a];
  std::get<2>(c)[0] = 1;
};
// rows of (n, 3) by n indices below n; rows of a table of 11 by n indices
constexpr auto named = cases<arguments<tl::tensor<double, n, 3>, tl::tensor<double, 11, 2>>,
                             constants<tl::tensor<std::int32_t, n>>>(
    pair(
        "gather<0> of (n, 3) by n",
        [](const auto& x, const auto&, const auto& i) { return tl::square(tl::gather<0>(x, i)); },
        [](const auto& x, const auto&, const auto& i) { return ref::square(ref::take(x, i, 0)); }),
    pair(
        "gather<0> of (11, 2) by n",
        [](const auto&, const auto& t, const auto& i) {
          return tl::square(tl::gather<0>(t, tl::min(i, 10)));
        },
        [](const auto&, const auto& t, const auto& i) {
          auto k = i;
          for (auto& e : k.data) e = e < 10 ? e : 10;
          return ref::square(ref::take(t, k, 0));
        }),
    pair(
        "scatter_add<0, 100> of n rows",
        [](const auto& x, const auto&, const auto& i) { return tl::scatter_add<0, 100>(i, tl::square(x)); },
        [](const auto& x, const auto&, const auto& i) { return ref::scatter_add(i, ref::square(x), 0, 100); },
        16));
template <class T> constexpr auto without_flops(T c) {
  std::apply([](auto&... one) { ((one.compare_flops = false), ...); }, c.list);
  return c;
}
constexpr auto fill_named = [](const auto& c, std::int64_t count) {
  for (std::int64_t k = 0; k < count; ++k) std::get<0>(c)[k] = static_cast<std::int32_t>((k * 5 + 3) % count);
};

static_assert(covers<family::index>(fixed, named));

} // namespace

TEST_CASE("index: the laws hold") { check_laws(fixed, no_names, {{-1, 1}}, fill); }
TEST_CASE("index: the laws hold along a named extent") {
  check_laws(without_flops(named), {0, 1, 2, 7, 17}, {{-1, 1}}, fill_named);
}
