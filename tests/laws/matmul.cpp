// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include "laws.hpp"

#include <doctest/doctest.h>
#include <reference/matmul.hpp>
#include <reference/shape.hpp>

namespace tl = tapeless;
using namespace laws;

namespace {

constexpr tl::extent_t n = tl::dyn<'n'>;

template <class T>
using fixed_arguments = arguments<tl::tensor<T, 3, 5>, tl::tensor<T, 5, 7>, tl::tensor<T, 5>,
                                  tl::tensor<T, 2, 3, 5>, tl::tensor<T, 2, 5, 2>, tl::tensor<T, 2, 1, 3, 5>>;
constexpr auto fixed = cases<fixed_arguments<double>>(
    pair(
        "matrices",
        [](const auto& a, const auto& b, const auto&, const auto&, const auto&, const auto&) {
          return tl::matmul(a, b);
        },
        [](const auto& a, const auto& b, const auto&, const auto&, const auto&, const auto&) {
          return ref::matmul(a, b);
        },
        16, scale::terms),
    pair(
        "transposed operands",
        [](const auto& a, const auto& b, const auto&, const auto&, const auto&, const auto&) {
          return tl::matmul(tl::transpose(b), tl::transpose(a));
        },
        [](const auto& a, const auto& b, const auto&, const auto&, const auto&, const auto&) {
          return ref::matmul(b, a, true, true);
        },
        16, scale::terms),
    pair(
        "a a^T",
        [](const auto& a, const auto&, const auto&, const auto&, const auto&, const auto&) {
          return tl::matmul(a, tl::transpose(a));
        },
        [](const auto& a, const auto&, const auto&, const auto&, const auto&, const auto&) {
          return ref::matmul(a, a, false, true);
        },
        16, scale::terms),
    pair(
        "matrix and vector",
        [](const auto& a, const auto&, const auto& v, const auto&, const auto&, const auto&) {
          return tl::matmul(a, v);
        },
        [](const auto& a, const auto&, const auto& v, const auto&, const auto&, const auto&) {
          return ref::reshape(ref::matmul(a, ref::reshape(v, {5, 1})), {3});
        },
        16, scale::terms),
    pair(
        "vector and matrix",
        [](const auto&, const auto& b, const auto& v, const auto&, const auto&, const auto&) {
          return tl::matmul(v, b);
        },
        [](const auto&, const auto& b, const auto& v, const auto&, const auto&, const auto&) {
          return ref::reshape(ref::matmul(ref::reshape(v, {1, 5}), b), {7});
        },
        16, scale::terms),
    pair(
        "two vectors",
        [](const auto&, const auto&, const auto& v, const auto&, const auto&, const auto&) {
          return tl::matmul(v, v);
        },
        [](const auto&, const auto&, const auto& v, const auto&, const auto&, const auto&) {
          return ref::reshape(ref::matmul(ref::reshape(v, {1, 5}), ref::reshape(v, {5, 1})), {});
        },
        16, scale::terms),
    pair(
        "batch and batch",
        [](const auto&, const auto&, const auto&, const auto& x, const auto& y, const auto&) {
          return tl::matmul(x, y);
        },
        [](const auto&, const auto&, const auto&, const auto& x, const auto& y, const auto&) {
          return ref::matmul(x, y);
        },
        16, scale::terms),
    pair(
        "batch and matrix",
        [](const auto&, const auto& b, const auto&, const auto& x, const auto&, const auto&) {
          return tl::matmul(x, b);
        },
        [](const auto&, const auto& b, const auto&, const auto& x, const auto&, const auto&) {
          return ref::matmul(x, b);
        },
        16, scale::terms),
    pair(
        "matrix and batch",
        [](const auto& a, const auto&, const auto&, const auto&, const auto& y, const auto&) {
          return tl::matmul(a, y);
        },
        [](const auto& a, const auto&, const auto&, const auto&, const auto& y, const auto&) {
          return ref::matmul(a, y);
        },
        16, scale::terms),
    pair(
        "batches that broadcast",
        [](const auto&, const auto&, const auto&, const auto&, const auto& y, const auto& z) {
          return tl::matmul(z, y);
        },
        [](const auto&, const auto&, const auto&, const auto&, const auto& y, const auto& z) {
          return ref::matmul(z, y);
        },
        16, scale::terms),
    pair(
        "batch and vector",
        [](const auto&, const auto&, const auto& v, const auto& x, const auto&, const auto&) {
          return tl::matmul(x, v);
        },
        [](const auto&, const auto&, const auto& v, const auto& x, const auto&, const auto&) {
          return ref::reshape(ref::matmul(x, ref::reshape(v, {5, 1})), {2, 3});
        },
        16, scale::terms));

template <class T> using named_arguments =
    arguments<tl::tensor<T, n, 5>, tl::tensor<T, 5, 3>, tl::tensor<T, n, 2>, tl::tensor<T, n, 3, 2>>;
constexpr auto named = cases<named_arguments<double>>(
    pair(
        "(n, 5) (5, 3)",
        [](const auto& x, const auto& w, const auto&, const auto&) { return tl::matmul(x, w); },
        [](const auto& x, const auto& w, const auto&, const auto&) { return ref::matmul(x, w); }, 16,
        scale::terms),
    pair(
        "(5, n) (n, 2)",
        [](const auto& x, const auto&, const auto& y, const auto&) {
          return tl::matmul(tl::transpose(x), y);
        },
        [](const auto& x, const auto&, const auto& y, const auto&) { return ref::matmul(x, y, true); }, 128,
        scale::terms),
    pair(
        "(n, 5) (5, n)",
        [](const auto& x, const auto&, const auto&, const auto&) { return tl::matmul(x, tl::transpose(x)); },
        [](const auto& x, const auto&, const auto&, const auto&) { return ref::matmul(x, x, false, true); },
        16, scale::terms),
    pair(
        "(n, 2, 3) (n, 3, 2)",
        [](const auto&, const auto&, const auto&, const auto& z) { return tl::matmul(tl::transpose(z), z); },
        [](const auto&, const auto&, const auto&, const auto& z) { return ref::matmul(z, z, true); }, 16,
        scale::terms),
    pair(
        "(5, 3) (n, 3, 2)",
        [](const auto&, const auto& w, const auto&, const auto& z) { return tl::matmul(w, z); },
        [](const auto&, const auto& w, const auto&, const auto& z) { return ref::matmul(w, z); }, 16,
        scale::terms));

// no terms: zeros. one of everything.
constexpr auto thin = cases<arguments<tl::tensor<double, 3, 0>, tl::tensor<double, 0, 2>,
                                      tl::tensor<double, 1, 1>, tl::tensor<double, 1, 13>>>(
    pair(
        "(3, 0) (0, 2)",
        [](const auto& a, const auto& b, const auto&, const auto&) { return tl::matmul(a, b); },
        [](const auto& a, const auto& b, const auto&, const auto&) { return ref::matmul(a, b); }),
    pair(
        "(1, 1) (1, 13)",
        [](const auto&, const auto&, const auto& c, const auto& d) { return tl::matmul(c, d); },
        [](const auto&, const auto&, const auto& c, const auto& d) { return ref::matmul(c, d); }),
    pair(
        "(13, 1) (1, 13)",
        [](const auto&, const auto&, const auto&, const auto& d) { return tl::matmul(tl::transpose(d), d); },
        [](const auto&, const auto&, const auto&, const auto& d) { return ref::matmul(d, d, true); }));

static_assert(covers(tl::detail::matmul_rules, fixed) && counts(tl::detail::matmul_rules, fixed));

} // namespace

TEST_CASE("matmul: the laws hold") { check_laws(fixed, no_names, {{-1, 1}}); }
TEST_CASE("matmul: the laws hold along a named extent") {
  check_laws(named, {0, 1, 2, 3, 7, 8, 9, 16, 17, 31}, {{-1, 1}});
}
TEST_CASE("matmul: the laws hold for extents 0 and 1") { check_laws(thin, no_names, {{-1, 1}}); }
TEST_CASE("matmul: float equals the reference") {
  check_values(with<fixed_arguments<float>>(fixed), no_names, {{-1, 1}});
  check_values(with<named_arguments<float>>(named), {0, 1, 17, 100}, {{-1, 1}});
}
