// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include "laws.hpp"

#include <doctest/doctest.h>
#include <reference/along_axis.hpp>

#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

namespace tl = tapeless;
using namespace laws;

namespace {

constexpr tl::extent_t n = tl::dyn<'n'>;

// x: (3, 4, 5)   d: (3, 6, 5)   i: (3, 6, 5) below 4   j: (1, 2, 1) below 4   k: (3, 4, 7) below 5
using index_constants = constants<tl::tensor<std::int32_t, 3, 6, 5>, tl::tensor<std::int32_t, 1, 2, 1>,
                                  tl::tensor<std::int32_t, 3, 4, 7>>;
template <class T> using two = arguments<tl::tensor<T, 3, 4, 5>, tl::tensor<T, 3, 6, 5>>;
template <class Op, class Ref> constexpr auto moved(const char* name, Op op, Ref r,
                                                    double roundings = exact) {
  return pair(name, op, r, roundings, scale::terms);
}
constexpr auto fixed = cases<two<double>, index_constants>(
    moved(
        "take_along_axis<1>",
        [](const auto& x, const auto&, const auto& i, const auto&, const auto&) {
          return tl::take_along_axis<1>(x, i);
        },
        [](const auto& x, const auto&, const auto& i, const auto&, const auto&) {
          return ref::take_along(x, i, 1);
        }),
    moved(
        "take_along_axis<1>, one index for all lines",
        [](const auto& x, const auto&, const auto&, const auto& j, const auto&) {
          return tl::take_along_axis<-2>(tl::square(x), j);
        },
        [](const auto& x, const auto&, const auto&, const auto& j, const auto&) {
          return ref::take_along(ref::square(x), j, 1);
        },
        rounds_once),
    moved(
        "take_along_axis<-1>",
        [](const auto& x, const auto&, const auto&, const auto&, const auto& k) {
          return tl::take_along_axis<-1>(x, k);
        },
        [](const auto& x, const auto&, const auto&, const auto&, const auto& k) {
          return ref::take_along(x, k, 2);
        }),
    moved(
        "scatter_add_along_axis<1>",
        [](const auto& x, const auto& d, const auto& i, const auto&, const auto&) {
          return tl::scatter_add_along_axis<1>(x, i, tl::square(d));
        },
        [](const auto& x, const auto& d, const auto& i, const auto&, const auto&) {
          return ref::add_along(x, i, ref::square(d), 1);
        },
        8),
    moved(
        "scatter_add_along_axis<1> of what is repeated",
        [](const auto& x, const auto& d, const auto&, const auto& j, const auto&) {
          return tl::scatter_add_along_axis<1>(x, j, tl::slice<1, 0, 1>(d));
        },
        [](const auto& x, const auto& d, const auto&, const auto& j, const auto&) {
          ref::array<typename std::remove_cvref_t<decltype(d)>::value_type> first({3, 1, 5});
          ref::for_each_index(first.shape, [&](const ref::dims& at) { first.at(at) = d.at(at); });
          return ref::add_along(x, j, first, 1);
        },
        8),
    moved(
        "scatter_max_along_axis<1>",
        [](const auto& x, const auto& d, const auto& i, const auto&, const auto&) {
          return tl::scatter_max_along_axis<1>(x, i, d);
        },
        [](const auto& x, const auto& d, const auto& i, const auto&, const auto&) {
          return ref::max_along(x, i, d, 1);
        }),
    moved(
        "scatter_min_along_axis<1>",
        [](const auto& x, const auto& d, const auto& i, const auto&, const auto&) {
          return tl::scatter_min_along_axis<1>(x, i, d);
        },
        [](const auto& x, const auto& d, const auto& i, const auto&, const auto&) {
          return ref::min_along(x, i, d, 1);
        }));
constexpr auto fill = [](const auto& c, std::int64_t) {
  const auto put = [](const auto& to, int below) {
    for (std::int64_t a = 0; a < to.size(); ++a) to[a] = static_cast<std::int32_t>((a * 7 + 3) % 11 % below);
  };
  put(std::get<0>(c), 4);
  put(std::get<1>(c), 4);
  put(std::get<2>(c), 5);
};
// n rows, and indices along both axes
using named_constants = constants<tl::tensor<std::int32_t, n, 2>, tl::tensor<std::int32_t, 7, 3>>;
template <class T> using named_arguments = arguments<tl::tensor<T, n, 3>, tl::tensor<T, 7, 3>>;
constexpr auto named = cases<named_arguments<double>, named_constants>(moved(
    "take_along_axis<1> of n rows",
    [](const auto& x, const auto&, const auto& i, const auto&) {
      return tl::take_along_axis<1>(x, i) + tl::sum(x);
    },
    [](const auto& x, const auto&, const auto& i, const auto&) {
      return ref::take_along(x, i, 1, ref::index_of::named) + ref::sum(x);
    },
    16));
constexpr auto fill_named = [](const auto& c, std::int64_t) {
  for (std::int64_t k = 0; k < std::get<0>(c).size(); ++k)
    std::get<0>(c)[k] = static_cast<std::int32_t>((k * 5 + 3) % 3);
  for (std::int64_t k = 0; k < std::get<1>(c).size(); ++k) std::get<1>(c)[k] = 0;
};

static_assert(counts(tl::detail::along_axis_rules, fixed));
const std::vector<domain> distinct{{-1, 1, true}, {-1, 1, true}};

} // namespace

TEST_CASE("along an axis: the laws hold") { check_laws(fixed, no_names, distinct, fill); }
TEST_CASE("along an axis: the laws hold for a named extent") {
  check_laws(named, {0, 1, 2, 7, 17}, distinct, fill_named);
}
TEST_CASE("along an axis: float equals the reference") {
  check_values(with<two<float>, index_constants>(fixed), no_names, distinct, fill);
}
