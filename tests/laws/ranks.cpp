// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Five and six axes: where loops, views and reductions have more of them than images have.
#include "laws.hpp"

#include <doctest/doctest.h>
#include <reference/elementwise.hpp>
#include <reference/index.hpp>
#include <reference/matmul.hpp>
#include <reference/reduce.hpp>
#include <reference/shape.hpp>

namespace tl = tapeless;
using namespace laws;

namespace {

template <class T> using six = arguments<tl::tensor<T, 2, 3, 1, 2, 2, 3>, tl::tensor<T, 3, 2, 1, 2, 1>>;
constexpr auto six_axes = cases<six<double>>(
    pair(
        "a + b, broadcast", [](const auto& a, const auto& b) { return a + b; },
        [](const auto& a, const auto& b) { return a + b; }),
    pair(
        "sum<1, 4>", [](const auto& a, const auto&) { return tl::sum<1, 4>(a); },
        [](const auto& a, const auto&) { return ref::sum(a, {1, 4}); }, 16, scale::terms),
    pair(
        "max<0, 3, 5>", [](const auto& a, const auto&) { return tl::max<0, 3, 5>(a); },
        [](const auto& a, const auto&) { return ref::max(a, {0, 3, 5}); }),
    pair(
        "sum<0>(transpose<5, 3, 1, 0, 2, 4>)",
        [](const auto& a, const auto&) { return tl::sum<0>(square(tl::transpose<5, 3, 1, 0, 2, 4>(a))); },
        [](const auto& a, const auto&) {
          return ref::sum(ref::square(ref::transpose(a, {5, 3, 1, 0, 2, 4})), {0});
        },
        16, scale::terms),
    pair(
        "pad<4> of slice<1>",
        [](const auto& a, const auto&) { return tl::pad<4, 1, 2>(tl::slice<1, 1, 3>(a)); },
        [](const auto& a, const auto&) { return ref::pad(ref::slice(a, 1, 1, 3), 4, 1, 2); }),
    pair(
        "matmul of two batches of four axes",
        [](const auto& a, const auto&) { return tl::matmul(a, tl::transpose<0, 1, 2, 3, 5, 4>(a)); },
        [](const auto& a, const auto&) { return ref::matmul(a, ref::transpose(a, {0, 1, 2, 3, 5, 4})); }, 16,
        scale::terms),
    pair(
        "square at argmax<0, 3, 4>",
        [](const auto& a, const auto&) {
          return square(tl::gather<0>(tl::reshape<72>(a), tl::argmax<0, 3, 4>(a)));
        },
        [](const auto& a, const auto&) {
          using T = typename std::remove_cvref_t<decltype(a)>::value_type;
          const auto at = ref::as_index(ref::clamped(ref::argmax(a, {0, 3, 4}), T(71)));
          return ref::square(ref::take(ref::reshape(a, {72}), at, 0));
        }));

} // namespace

TEST_CASE("six axes: the laws hold") { check_laws(six_axes, no_names, {{-1, 1}}); }
TEST_CASE("six axes: float equals the reference") {
  check_values(with<six<float>>(six_axes), no_names, {{-1, 1}});
}
