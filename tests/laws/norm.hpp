#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The cases of normalisation.
#include "laws.hpp"

#include <doctest/doctest.h>
#include <reference/norm.hpp>

namespace norm_laws {

namespace tl = tapeless;
using namespace laws;

constexpr tl::extent_t n = tl::dyn<'n'>;

// beta is far from 0, and gamma small: no result is near 0. What has no beta is moved away from it. 64 roundings are
// those of the sums and of the subtraction of the mean.
template <class Op, class Ref> constexpr auto composed(const char* name, Op op, Ref r) {
  return pair(name, op, r, 64);
}
inline constexpr auto away = [](const auto& y) {
  if constexpr (tl::detail::handle<decltype(y)>) return y * 0.5 + 8.0;
  else {
    using T = typename std::remove_cvref_t<decltype(y)>::value_type;
    return y * ref::constant(T(0.5)) + ref::constant(T(8));
  }
};
inline const std::vector<domain> with_statistics{
    {-1, 1, true}, {-0.5, 0.5, true}, {6, 7, true}, {-1, 1, true}, {0.5, 2, true}};

// x, gamma, beta, mean, variance
template <class T, tl::extent_t C, tl::extent_t... Rest> using channels =
    arguments<tl::tensor<T, n, C, Rest...>, tl::tensor<T, C>, tl::tensor<T, C>, tl::tensor<T, C>,
              tl::tensor<T, C>>;
template <class X> constexpr auto batch_cases = cases<X>(
    composed(
        "batch_norm",
        [](const auto& x, const auto& g, const auto& b, const auto&, const auto&) {
          return tl::batch_norm(x, g, b);
        },
        [](const auto& x, const auto& g, const auto& b, const auto&, const auto&) {
          return ref::batch_norm(x, g, b);
        }),
    composed(
        "batch_norm, eps 0.25",
        [](const auto& x, const auto& g, const auto& b, const auto&, const auto&) {
          return tl::batch_norm(x, g, b, 0.25);
        },
        [](const auto& x, const auto& g, const auto& b, const auto&, const auto&) {
          return ref::batch_norm(x, g, b, 0.25);
        }),
    composed(
        "batch_norm without gamma and beta",
        [](const auto& x, const auto&, const auto&, const auto&, const auto&) {
          return away(tl::batch_norm(x, 0.5));
        },
        [](const auto& x, const auto&, const auto&, const auto&, const auto&) {
          return away(ref::batch_norm(x, 0.5));
        }),
    pair(
        "mean of a batch",
        [](const auto& x, const auto&, const auto&, const auto&, const auto&) {
          return std::get<0>(tl::batch_norm_stats(x));
        },
        [](const auto& x, const auto&, const auto&, const auto&, const auto&) { return ref::batch_mean(x); },
        64, scale::terms),
    pair(
        "variance of a batch",
        [](const auto& x, const auto&, const auto&, const auto&, const auto&) {
          return std::get<1>(tl::batch_norm_stats(x)) + 1.0;
        },
        [](const auto& x, const auto&, const auto&, const auto&, const auto&) {
          using T = typename std::remove_cvref_t<decltype(x)>::value_type;
          return ref::batch_variance(x) + ref::constant(T(1));
        },
        64));
template <class X> constexpr auto row_cases =
    cases<X>(composed(
                 "batch_norm with given statistics",
                 [](const auto& x, const auto& g, const auto& b, const auto& m, const auto& v) {
                   return tl::batch_norm(x, g, b, m, v);
                 },
                 [](const auto& x, const auto& g, const auto& b, const auto& m, const auto& v) {
                   return ref::batch_norm(x, g, b, m, v);
                 }),
             composed(
                 "instance_norm",
                 [](const auto& x, const auto& g, const auto& b, const auto&, const auto&) {
                   return tl::instance_norm(x, g, b);
                 },
                 [](const auto& x, const auto& g, const auto& b, const auto&, const auto&) {
                   return ref::instance_norm(x, g, b);
                 }),
             composed(
                 "instance_norm without gamma and beta",
                 [](const auto& x, const auto&, const auto&, const auto&, const auto&) {
                   return away(tl::instance_norm(x));
                 },
                 [](const auto& x, const auto&, const auto&, const auto&, const auto&) {
                   return away(ref::instance_norm(x));
                 }));
template <int Groups> constexpr auto group_case(const char* name) {
  return composed(
      name,
      [](const auto& x, const auto& g, const auto& b, const auto&, const auto&) {
        return tl::group_norm<Groups>(x, g, b);
      },
      [](const auto& x, const auto& g, const auto& b, const auto&, const auto&) {
        return ref::group_norm(x, Groups, g, b);
      });
}
template <class X> constexpr auto group_cases =
    cases<X>(group_case<1>("group_norm<1>"), group_case<2>("group_norm<2>"), group_case<3>("group_norm<3>"),
             composed(
                 "group_norm<2> without gamma and beta",
                 [](const auto& x, const auto&, const auto&, const auto&, const auto&) {
                   return away(tl::group_norm<2>(x));
                 },
                 [](const auto& x, const auto&, const auto&, const auto&, const auto&) {
                   return away(ref::group_norm(x, 2));
                 }));

// x: (n, 3, D), a row's gamma and beta: (D), a plane's: (3, D)
template <class T, tl::extent_t D> using rows =
    arguments<tl::tensor<T, n, 3, D>, tl::tensor<T, D>, tl::tensor<T, D>, tl::tensor<T, 3, D>,
              tl::tensor<T, 3, D>>;
inline const std::vector<domain> of_rows{
    {-1, 1, true}, {-0.5, 0.5, true}, {6, 7, true}, {-0.5, 0.5, true}, {6, 7, true}};
template <class X> constexpr auto layer_cases =
    cases<X>(composed(
                 "layer_norm",
                 [](const auto& x, const auto& g, const auto& b, const auto&, const auto&) {
                   return tl::layer_norm(x, g, b);
                 },
                 [](const auto& x, const auto& g, const auto& b, const auto&, const auto&) {
                   return ref::layer_norm(x, 1, g, b);
                 }),
             composed(
                 "layer_norm<2>",
                 [](const auto& x, const auto&, const auto&, const auto& g, const auto& b) {
                   return tl::layer_norm<2>(x, g, b);
                 },
                 [](const auto& x, const auto&, const auto&, const auto& g, const auto& b) {
                   return ref::layer_norm(x, 2, g, b);
                 }),
             composed(
                 "layer_norm without gamma and beta",
                 [](const auto& x, const auto&, const auto&, const auto&, const auto&) {
                   return away(tl::layer_norm(x));
                 },
                 [](const auto& x, const auto&, const auto&, const auto&, const auto&) {
                   return away(ref::layer_norm(x));
                 }),
             composed(
                 "rms_norm",
                 [](const auto& x, const auto& g, const auto& b, const auto&, const auto&) {
                   return tl::rms_norm(x, g) + b;
                 },
                 [](const auto& x, const auto& g, const auto& b, const auto&, const auto&) {
                   return ref::rms_norm(x, 1, g) + b;
                 }),
             composed(
                 "rms_norm<2>",
                 [](const auto& x, const auto&, const auto&, const auto& g, const auto& b) {
                   return tl::rms_norm<2>(x, g, 0.5) + b;
                 },
                 [](const auto& x, const auto&, const auto&, const auto& g, const auto& b) {
                   return ref::rms_norm(x, 2, g, 0.5) + b;
                 }),
             composed(
                 "rms_norm without gamma",
                 [](const auto& x, const auto&, const auto&, const auto&, const auto&) {
                   return away(tl::rms_norm(x));
                 },
                 [](const auto& x, const auto&, const auto&, const auto&, const auto&) {
                   return away(ref::rms_norm(x));
                 }));

} // namespace norm_laws
