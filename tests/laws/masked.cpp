// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Reductions over the elements of a mask (ops/masked.hpp).
#include "laws.hpp"

#include <doctest/doctest.h>
#include <reference/masked.hpp>

#include <cstdint>
#include <tuple>
#include <vector>

namespace tl = tapeless;
using namespace laws;

namespace {

constexpr tl::extent_t n = tl::dyn<'n'>;
const std::vector<domain> distinct{{-1, 1, true}};
template <class T> using matrix = arguments<tl::tensor<T, n, 5>>;
using mask_constants = constants<tl::tensor<bool, n, 5>, tl::tensor<bool, n, 1>>; // of elements, of rows
template <class Op, class Ref> constexpr auto composed(const char* name, Op op, Ref r) {
  return pair(name, op, r, 64);
}
// At least two elements of each row count, and at least half of the rows.
constexpr auto some = [](const auto& c, std::int64_t) {
  std::int64_t k = 0;
  for (auto& m : std::get<0>(c)) m = k % 5 < 2 || k % 3 == 0, ++k;
  for (auto& m : std::get<1>(c)) m = k % 3 != 1, ++k;
};

constexpr auto sums = cases<matrix<double>, mask_constants>(
    composed(
        "sum<1>",
        [](const auto& x, const auto& m, const auto&) { return tl::sum<1>(tl::square(x), tl::over(m)); },
        [](const auto& x, const auto& m, const auto&) { return ref::masked_sum(ref::square(x), m, {1}); }),
    composed(
        "sum", [](const auto& x, const auto&, const auto& r) { return tl::sum(tl::square(x), tl::over(r)); },
        [](const auto& x, const auto&, const auto& r) { return ref::masked_sum(ref::square(x), r, {0, 1}); }),
    composed(
        "max<1>", [](const auto& x, const auto& m, const auto&) { return tl::max<1>(x, tl::over(m)); },
        [](const auto& x, const auto& m, const auto&) { return ref::masked_max(x, m, {1}); }),
    composed(
        "min<1>",
        [](const auto& x, const auto& m, const auto&) { return tl::square(tl::min<1>(x, tl::over(m))); },
        [](const auto& x, const auto& m, const auto&) { return ref::square(ref::masked_min(x, m, {1})); }),
    composed(
        "logsumexp<1>",
        [](const auto& x, const auto& m, const auto&) { return tl::logsumexp<1>(x, tl::over(m)); },
        [](const auto& x, const auto& m, const auto&) { return ref::masked_logsumexp(x, m, {1}); }),
    composed(
        "softmax", [](const auto& x, const auto& m, const auto&) { return tl::softmax(x, tl::over(m)); },
        [](const auto& x, const auto& m, const auto&) { return ref::masked_softmax(x, m); }),
    composed(
        "log_softmax",
        [](const auto& x, const auto& m, const auto&) {
          return tl::where(m, tl::log_softmax(x, tl::over(m)), 0.0);
        },
        [](const auto& x, const auto& m, const auto&) {
          return ref::within(m, ref::masked_log_softmax(x, m), 0);
        }));
constexpr auto means = cases<matrix<double>, mask_constants>(
    composed(
        "mean<1>, keepdims",
        [](const auto& x, const auto& m, const auto&) {
          return tl::mean<1>(x * x, tl::over(m), tl::keepdims);
        },
        [](const auto& x, const auto& m, const auto&) { return ref::masked_mean(x * x, m, {1}, true); }),
    composed(
        "mean<0>", [](const auto& x, const auto&, const auto& r) { return tl::mean<0>(x * x, tl::over(r)); },
        [](const auto& x, const auto&, const auto& r) { return ref::masked_mean(x * x, r, {0}); }),
    composed(
        "mean", [](const auto& x, const auto&, const auto& r) { return tl::mean(x * x, tl::over(r)); },
        [](const auto& x, const auto&, const auto& r) { return ref::masked_mean(x * x, r, {0, 1}); }),
    composed(
        "variance<1>",
        [](const auto& x, const auto& m, const auto&) { return tl::variance<1>(x, tl::over(m)); },
        [](const auto& x, const auto& m, const auto&) { return ref::masked_variance(x, m, {1}); }),
    composed(
        "variance<1>, unbiased",
        [](const auto& x, const auto& m, const auto&) {
          return tl::variance<1>(x, tl::over(m), tl::unbiased);
        },
        [](const auto& x, const auto& m, const auto&) { return ref::masked_variance(x, m, {1}, true); }),
    composed(
        "std_dev<1>",
        [](const auto& x, const auto& m, const auto&) { return tl::std_dev<1>(x, tl::over(m)); },
        [](const auto& x, const auto& m, const auto&) {
          return ref::map<typename std::remove_cvref_t<decltype(x)>::value_type>(
              ref::masked_variance(x, m, {1}), [](auto y) {
                using std::sqrt;
                return y == decltype(y)(0) ? y : sqrt(y);
              });
        }));

} // namespace

TEST_CASE("reductions over a mask: the laws hold") { check_laws(sums, {1, 2, 7, 17}, distinct, some); }
TEST_CASE("means and variances over a mask: the laws hold") { check_laws(means, {2, 7, 17}, distinct, some); }
TEST_CASE("reductions over a mask: float equals the reference") {
  check_values(with<matrix<float>, mask_constants>(sums), {1, 17}, distinct, some);
  check_values(with<matrix<float>, mask_constants>(means), {2, 17}, distinct, some);
}
