// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include "laws.hpp"

#include <doctest/doctest.h>
#include <reference/shape.hpp>

namespace tl = tapeless;
using namespace laws;

namespace {

constexpr tl::extent_t n = tl::dyn<'n'>;

// y: further operand of the concatenations. The squares make the second derivative other than 0, and round once;
// what only moves is exact, also in float.
template <class T> using two_blocks = arguments<tl::tensor<T, 2, 3, 5>, tl::tensor<T, 2, 1, 5>>;
constexpr auto moves = cases<two_blocks<double>>(
    pair(
        "reshape", [](const auto& x, const auto&) { return tl::square(tl::reshape<5, 6>(x)); },
        [](const auto& x, const auto&) { return ref::square(ref::reshape(x, {5, 6})); }, rounds_once),
    pair(
        "flatten", [](const auto& x, const auto&) { return tl::square(tl::flatten(x)); },
        [](const auto& x, const auto&) { return ref::square(ref::reshape(x, {2, 15})); }, rounds_once),
    pair(
        "transpose", [](const auto& x, const auto&) { return tl::transpose(x); },
        [](const auto& x, const auto&) { return ref::transpose(x, {0, 2, 1}); }, exact),
    pair(
        "transpose<2, 0, 1>",
        [](const auto& x, const auto&) { return tl::square(tl::transpose<2, 0, 1>(x)); },
        [](const auto& x, const auto&) { return ref::square(ref::transpose(x, {2, 0, 1})); }, rounds_once),
    pair(
        "transpose<1, 2, 0>",
        [](const auto& x, const auto&) { return tl::square(tl::transpose<1, 2, 0>(x)); },
        [](const auto& x, const auto&) { return ref::square(ref::transpose(x, {1, 2, 0})); }, rounds_once),
    pair(
        "reshape of a transpose",
        [](const auto& x, const auto&) { return tl::square(tl::reshape<10, 3>(tl::transpose<0, 2, 1>(x))); },
        [](const auto& x, const auto&) {
          return ref::square(ref::reshape(ref::transpose(x, {0, 2, 1}), {10, 3}));
        },
        rounds_once),
    pair(
        "slice<0>", [](const auto& x, const auto&) { return tl::square(tl::slice<0, 1, 2>(x)); },
        [](const auto& x, const auto&) { return ref::square(ref::slice(x, 0, 1, 2)); }, rounds_once),
    pair(
        "slice<1>", [](const auto& x, const auto&) { return tl::square(tl::slice<1, 1, 3>(x)); },
        [](const auto& x, const auto&) { return ref::square(ref::slice(x, 1, 1, 3)); }, rounds_once),
    pair(
        "slice<-1>", [](const auto& x, const auto&) { return tl::square(tl::slice<-1, 0, 4>(x)); },
        [](const auto& x, const auto&) { return ref::square(ref::slice(x, 2, 0, 4)); }, rounds_once),
    pair(
        "slice<1, 2>(x, start), start of a loop",
        [](const auto& x, const auto&) {
          auto s = tl::slice<1, 2>(x, 0);
          for (int i = 1; i < 2; ++i) s = s * tl::slice<1, 2>(x, i);
          return s;
        },
        [](const auto& x, const auto&) { return ref::slice(x, 1, 0, 2) * ref::slice(x, 1, 1, 3); },
        rounds_once),
    pair(
        "at<0>", [](const auto& x, const auto&) { return tl::square(tl::at<0>(x, 1)); },
        [](const auto& x, const auto&) { return ref::square(ref::reshape(ref::slice(x, 0, 1, 2), {3, 5})); },
        rounds_once),
    pair(
        "at<1>, at<-1>, i of a loop",
        [](const auto& x, const auto&) {
          auto s = tl::at<-1>(tl::at<1>(x, 0), 4); // (2)
          for (std::size_t i = 1; i < 3; ++i) s = s * tl::at<-1>(tl::at<1>(x, i), 4 - i);
          return s;
        },
        [](const auto& x, const auto&) {
          const auto one = [&](int i) {
            return ref::reshape(ref::slice(ref::slice(x, 1, i, i + 1), 2, 4 - i, 5 - i), {2});
          };
          return one(0) * one(1) * one(2);
        },
        2 * rounds_once + 0.01), // two roundings, one of a rounded product
    pair(
        "slice of nothing", [](const auto& x, const auto&) { return tl::slice<1, 2, 2>(x); },
        [](const auto& x, const auto&) { return ref::slice(x, 1, 2, 2); }, exact),
    pair(
        "slice of a slice of a transpose",
        [](const auto& x, const auto&) {
          return tl::square(tl::slice<0, 1, 4>(tl::slice<2, 1, 3>(tl::transpose<2, 0, 1>(x))));
        },
        [](const auto& x, const auto&) {
          return ref::square(ref::slice(ref::slice(ref::transpose(x, {2, 0, 1}), 2, 1, 3), 0, 1, 4));
        },
        rounds_once));
constexpr auto copies = cases<two_blocks<double>>(
    pair(
        "pad<0>", [](const auto& x, const auto&) { return tl::square(tl::pad<0, 1, 2>(x)); },
        [](const auto& x, const auto&) { return ref::square(ref::pad(x, 0, 1, 2)); }, rounds_once),
    pair(
        "pad<1>", [](const auto& x, const auto&) { return tl::pad<1, 0, 1>(tl::square(x)); },
        [](const auto& x, const auto&) { return ref::pad(ref::square(x), 1, 0, 1); }, rounds_once),
    pair(
        "pad<-1> of a transpose",
        [](const auto& x, const auto&) { return tl::pad<-1, 3, 0>(tl::transpose<2, 1, 0>(x)); },
        [](const auto& x, const auto&) { return ref::pad(ref::transpose(x, {2, 1, 0}), 2, 3, 0); }, exact),
    pair(
        "concat<1>", [](const auto& x, const auto& y) { return tl::square(tl::concat<1>(x, y)); },
        [](const auto& x, const auto& y) {
          return ref::square(ref::concat<typename std::remove_cvref_t<decltype(x)>::value_type>({x, y}, 1));
        },
        rounds_once),
    pair(
        "concat<0> of three", [](const auto& x, const auto&) { return tl::concat<0>(x, tl::square(x), x); },
        [](const auto& x, const auto&) {
          return ref::concat<typename std::remove_cvref_t<decltype(x)>::value_type>({x, ref::square(x), x},
                                                                                    0);
        },
        rounds_once),
    pair(
        "flip<1>", [](const auto& x, const auto&) { return tl::square(tl::flip<1>(x)); },
        [](const auto& x, const auto&) { return ref::square(ref::flip(x, 1)); }, rounds_once),
    pair(
        "flip<-1> of a transpose",
        [](const auto& x, const auto&) { return tl::flip<-1>(tl::transpose<2, 1, 0>(x)); },
        [](const auto& x, const auto&) { return ref::flip(ref::transpose(x, {2, 1, 0}), 2); }, exact),
    pair(
        "broadcast_to",
        [](const auto&, const auto& y) { return tl::square(tl::broadcast_to<2, 2, 3, 5>(y)); },
        [](const auto&, const auto& y) { return ref::broadcast_to(ref::square(y), {2, 2, 3, 5}); },
        rounds_once),
    pair(
        "channel",
        [](const auto& x, const auto&) {
          return tl::transpose<1, 0, 2>(x) *
                 tl::channel(tl::reshape<3>(tl::slice<2, 1, 2>(tl::slice<0, 0, 1>(x))));
        },
        [](const auto& x, const auto&) {
          return ref::transpose(x, {1, 0, 2}) *
                 ref::reshape(ref::slice(ref::slice(x, 0, 0, 1), 2, 1, 2), {3, 1, 1});
        },
        rounds_once),
    pair(
        "reads through all views",
        [](const auto& x, const auto& y) {
          return tl::transpose<1, 2, 0>(x) *
                 tl::slice<2, 0, 2>(tl::broadcast_to<3, 5, 2>(tl::transpose<1, 2, 0>(y)));
        },
        [](const auto& x, const auto& y) {
          return ref::transpose(x, {1, 2, 0}) * ref::broadcast_to(ref::transpose(y, {1, 2, 0}), {3, 5, 2});
        },
        rounds_once));
// named axes pass through, or multiply
template <class T> using named_blocks = arguments<tl::tensor<T, n, 3, 5>, tl::tensor<T, n, 2, 5>>;
constexpr auto named = cases<named_blocks<double>>(
    pair(
        "reshape of (n, 3, 5)", [](const auto& x, const auto&) { return tl::square(tl::reshape<n, 15>(x)); },
        [](const auto& x, const auto&) { return ref::square(ref::reshape(x, {x.shape[0], 15})); },
        rounds_once),
    pair(
        "transpose<2, 0, 1> of (n, 3, 5)",
        [](const auto& x, const auto&) { return tl::square(tl::transpose<2, 0, 1>(x)); },
        [](const auto& x, const auto&) { return ref::square(ref::transpose(x, {2, 0, 1})); }, rounds_once),
    pair(
        "slice<1> of (n, 3, 5)", [](const auto& x, const auto&) { return tl::square(tl::slice<1, 1, 2>(x)); },
        [](const auto& x, const auto&) { return ref::square(ref::slice(x, 1, 1, 2)); }, rounds_once),
    pair(
        "slice<0> of (5, n, 3)",
        [](const auto& x, const auto&) { return tl::slice<0, 2, 4>(tl::square(tl::transpose<2, 0, 1>(x))); },
        [](const auto& x, const auto&) {
          return ref::slice(ref::square(ref::transpose(x, {2, 0, 1})), 0, 2, 4);
        },
        rounds_once),
    pair(
        "at<1> of (n, 3, 5)", [](const auto& x, const auto&) { return tl::square(tl::at<1>(x, 2)); },
        [](const auto& x, const auto&) {
          return ref::square(ref::reshape(ref::slice(x, 1, 2, 3), {x.shape[0], 5}));
        },
        rounds_once),
    pair(
        "pad<1> of (n, 3, 5)", [](const auto& x, const auto&) { return tl::pad<1, 1, 1>(x); },
        [](const auto& x, const auto&) { return ref::pad(x, 1, 1, 1); }, exact),
    pair(
        "flip<0> of (n, 3, 5)", [](const auto& x, const auto&) { return tl::square(tl::flip<0>(x)); },
        [](const auto& x, const auto&) { return ref::square(ref::flip(x, 0)); }, rounds_once),
    pair(
        "concat<1> of (n, 3, 5), (n, 2, 5)",
        [](const auto& x, const auto& y) { return tl::square(tl::concat<1>(x, y)); },
        [](const auto& x, const auto& y) {
          return ref::square(ref::concat<typename std::remove_cvref_t<decltype(x)>::value_type>({x, y}, 1));
        },
        rounds_once));

static_assert(covers(tl::detail::shape_rules, moves, copies) &&
              counts(tl::detail::shape_rules, moves, copies));
static_assert(!covers(tl::detail::shape_rules, moves));

} // namespace

TEST_CASE("shape: the laws hold for views") { check_laws(moves, no_names, {{-1, 1}}); }
TEST_CASE("shape: the laws hold for copies") { check_laws(copies, no_names, {{-1, 1}}); }
TEST_CASE("shape: the laws hold beside a named extent") {
  check_laws(named, {0, 1, 2, 3, 7, 8, 9}, {{-1, 1}});
}
TEST_CASE("shape: float equals the reference: moves are exact") {
  check_values(with<two_blocks<float>>(moves), no_names, {{-1, 1}});
  check_values(with<two_blocks<float>>(copies), no_names, {{-1, 1}});
  check_values(with<named_blocks<float>>(named), {0, 1, 9}, {{-1, 1}});
}
