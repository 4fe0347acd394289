// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include "laws.hpp"

#include <doctest/doctest.h>
#include <reference/loss.hpp>
#include <reference/reduce.hpp>
#include <reference/shape.hpp>

namespace tl = tapeless;
using namespace laws;

namespace {

constexpr tl::extent_t n = tl::dyn<'n'>;

template <class T> using cube = arguments<tl::tensor<T, 3, 5, 7>>;
constexpr auto sums =
    cases<cube<double>>(pair(
                            "sum", [](const auto& x) { return tl::sum(x); },
                            [](const auto& x) { return ref::sum(x); }, 16, scale::terms),
                        pair(
                            "sum<0>", [](const auto& x) { return tl::sum<0>(x); },
                            [](const auto& x) { return ref::sum(x, {0}); }, 16, scale::terms),
                        pair(
                            "sum<1>", [](const auto& x) { return tl::sum<1>(x); },
                            [](const auto& x) { return ref::sum(x, {1}); }, 16, scale::terms),
                        pair(
                            "sum<-1>", [](const auto& x) { return tl::sum<-1>(x); },
                            [](const auto& x) { return ref::sum(x, {2}); }, 16, scale::terms),
                        pair(
                            "sum<0, 1>", [](const auto& x) { return tl::sum<0, 1>(x); },
                            [](const auto& x) { return ref::sum(x, {0, 1}); }, 16, scale::terms),
                        pair(
                            "sum<0, 2>", [](const auto& x) { return tl::sum<0, 2>(x); },
                            [](const auto& x) { return ref::sum(x, {0, 2}); }, 16, scale::terms),
                        pair(
                            "sum<2, 1>", [](const auto& x) { return tl::sum<2, 1>(x); },
                            [](const auto& x) { return ref::sum(x, {1, 2}); }, 16, scale::terms),
                        pair(
                            "sum<1>, keepdims", [](const auto& x) { return tl::sum<1>(x, tl::keepdims); },
                            [](const auto& x) { return ref::sum(x, {1}, true); }, 16, scale::terms),
                        pair(
                            "mean", [](const auto& x) { return tl::mean(x); },
                            [](const auto& x) { return ref::mean(x); }, 16, scale::terms),
                        pair(
                            "mean<0, 2>", [](const auto& x) { return tl::mean<0, 2>(x); },
                            [](const auto& x) { return ref::mean(x, {0, 2}); }, 16, scale::terms),
                        pair(
                            "sum of squares", [](const auto& x) { return tl::sum<1>(tl::square(x)); },
                            [](const auto& x) { return ref::sum(ref::square(x), {1}); }, 16),
                        pair(
                            "square of a sum", [](const auto& x) { return tl::square(tl::sum<0>(x)); },
                            [](const auto& x) { return ref::square(ref::sum(x, {0})); }, 16, scale::terms),
                        pair(
                            "square of a mean", [](const auto& x) { return tl::square(tl::mean<1>(x)); },
                            [](const auto& x) { return ref::square(ref::mean(x, {1})); }, 16, scale::terms));
constexpr auto maxima = cases<cube<double>>(
    pair(
        "max", [](const auto& x) { return tl::max(x); }, [](const auto& x) { return ref::max(x); }),
    pair(
        "max<0>", [](const auto& x) { return tl::max<0>(x); },
        [](const auto& x) { return ref::max(x, {0}); }),
    pair(
        "max<1>", [](const auto& x) { return tl::max<1>(x); },
        [](const auto& x) { return ref::max(x, {1}); }),
    pair(
        "max<2>", [](const auto& x) { return tl::max<2>(x); },
        [](const auto& x) { return ref::max(x, {2}); }),
    pair(
        "max<0, 1>", [](const auto& x) { return tl::max<0, 1>(x); },
        [](const auto& x) { return ref::max(x, {0, 1}); }),
    pair(
        "max<0, 2>", [](const auto& x) { return tl::max<0, 2>(x); },
        [](const auto& x) { return ref::max(x, {0, 2}); }),
    pair(
        "max<1, 2>", [](const auto& x) { return tl::max<1, 2>(x); },
        [](const auto& x) { return ref::max(x, {1, 2}); }),
    pair(
        "max<1>, keepdims, squared", [](const auto& x) { return tl::square(tl::max<1>(x, tl::keepdims)); },
        [](const auto& x) { return ref::square(ref::max(x, {1}, true)); }),
    pair(
        "min", [](const auto& x) { return tl::min(x); }, [](const auto& x) { return ref::min(x); }),
    pair(
        "min<0, 2>, squared", [](const auto& x) { return tl::square(tl::min<0, 2>(x)); },
        [](const auto& x) { return ref::square(ref::min(x, {0, 2})); }),
    pair(
        "min<-1>, keepdims", [](const auto& x) { return tl::min<-1>(x, tl::keepdims); },
        [](const auto& x) { return ref::min(x, {2}, true); }));

// Functions of several ops. Of |x| they are at least 1: what is subtracted in them does not cancel. 64 roundings are
// those of some 20 operations and of n + 5 terms in a row.
template <class T> using matrix = arguments<tl::tensor<T, n, 5>>;
template <class Op, class Ref> constexpr auto composed(const char* name, Op op, Ref r) {
  return pair(name, op, r, 64);
}
constexpr auto exponentials =
    cases<matrix<double>>(composed(
                              "logsumexp<1>", [](const auto& x) { return tl::logsumexp<1>(x * 3.0); },
                              [](const auto& x) {
                                using T = typename std::remove_cvref_t<decltype(x)>::value_type;
                                return ref::logsumexp(x * ref::constant(T(3)), {1});
                              }),
                          composed(
                              "softmax", [](const auto& x) { return tl::softmax(x); },
                              [](const auto& x) { return ref::softmax(x); }),
                          composed(
                              "log_softmax", [](const auto& x) { return tl::log_softmax(x); },
                              [](const auto& x) { return ref::log_softmax(x); }));
constexpr auto exponentials_of_the_other_axis =
    cases<matrix<double>>(composed(
                              "logsumexp<0>", [](const auto& x) { return tl::logsumexp<0>(x); },
                              [](const auto& x) { return ref::logsumexp(x, {0}); }),
                          composed(
                              "softmax<0>", [](const auto& x) { return tl::softmax<0>(x); },
                              [](const auto& x) { return ref::softmax(x, 0); }));
template <class T> using two_matrices = arguments<tl::tensor<T, n, 5>, tl::tensor<T, n, 5>>;
using label_constants = constants<tl::tensor<std::int32_t, n>>;
constexpr auto losses = cases<two_matrices<double>, label_constants>(
    composed(
        "softmax_cross_entropy",
        [](const auto& x, const auto&, const auto& l) { return tl::softmax_cross_entropy(x, l); },
        [](const auto& x, const auto&, const auto& l) { return ref::softmax_cross_entropy(x, l); }),
    composed(
        "mse_loss", [](const auto& x, const auto& y, const auto&) { return tl::mse_loss(x, y); },
        [](const auto& x, const auto& y, const auto&) { return ref::mse(x, y); }));
constexpr auto labels = [](const auto& c, std::int64_t) {
  std::int32_t k = 3;
  for (auto& l : std::get<0>(c)) l = k = (k * 7 + 1) % 5;
};

constexpr auto named =
    cases<matrix<double>>(pair(
                              "sum<0> of (n, 5)", [](const auto& x) { return tl::sum<0>(tl::square(x)); },
                              [](const auto& x) { return ref::sum(ref::square(x), {0}); }, 64),
                          pair(
                              "sum<1> of (n, 5)", [](const auto& x) { return tl::sum<1>(x); },
                              [](const auto& x) { return ref::sum(x, {1}); }, 64, scale::terms),
                          pair(
                              "sum of (n, 5)", [](const auto& x) { return tl::sum(tl::exp(x)); },
                              [](const auto& x) { return ref::sum(ref::exp(x)); }, 64),
                          pair(
                              "max<1> of (n, 5)", [](const auto& x) { return tl::max<1>(x); },
                              [](const auto& x) { return ref::max(x, {1}); }));
constexpr auto named_not_empty =
    cases<matrix<double>>(pair(
                              "mean<0> of (n, 5)", [](const auto& x) { return tl::mean<0>(x); },
                              [](const auto& x) { return ref::mean(x, {0}); }, 64, scale::terms),
                          pair(
                              "max<0> of (n, 5)", [](const auto& x) { return tl::max<0>(x); },
                              [](const auto& x) { return ref::max(x, {0}); }),
                          pair(
                              "max of (n, 5)", [](const auto& x) { return tl::max(x); },
                              [](const auto& x) { return ref::max(x); }));

// axes of extent 1 are no work: to the reference they are not there; an empty axis sums to 0
constexpr auto thin = cases<arguments<tl::tensor<double, 1, 7, 1>, tl::tensor<double, 3, 0>>>(
    pair(
        "sum<0, 2> of (1, 7, 1)", [](const auto& x, const auto&) { return tl::sum<0, 2>(x); },
        [](const auto& x, const auto&) { return ref::reshape(x, {7}); }),
    pair(
        "sum of (1, 7, 1)", [](const auto& x, const auto&) { return tl::sum(x); },
        [](const auto& x, const auto&) { return ref::sum(ref::reshape(x, {7})); }, 16, scale::terms),
    pair(
        "max<1> of (1, 7, 1)", [](const auto& x, const auto&) { return tl::max<1>(x); },
        [](const auto& x, const auto&) { return ref::max(x, {1}); }),
    pair(
        "sum<1> of (3, 0)", [](const auto&, const auto& e) { return tl::sum<1>(e); },
        [](const auto&, const auto& e) { return ref::sum(e, {1}); }),
    pair(
        "sum<0> of (3, 0)", [](const auto&, const auto& e) { return tl::sum<0>(e); },
        [](const auto&, const auto& e) { return ref::sum(e, {0}); }));

static_assert(covers(tl::detail::reduce_rules, sums, maxima));
static_assert(counts(tl::detail::reduce_rules, sums, maxima));
static_assert(!covers(tl::detail::reduce_rules, sums));
const std::vector<domain> distinct{{-1, 1, true}};

} // namespace

TEST_CASE("reduce: the laws hold for the sum over every subset of three axes") {
  check_laws(sums, no_names, distinct);
}
TEST_CASE("reduce: the laws hold for the maximum over every subset of three axes") {
  check_laws(maxima, no_names, distinct);
}
TEST_CASE("reduce: the laws hold for functions of several reductions") {
  check_laws(exponentials, {0, 1, 2, 7, 17}, distinct);
  check_laws(exponentials_of_the_other_axis, {1, 2, 7, 17}, distinct);
}
TEST_CASE("loss: the laws hold") { check_laws(losses, {1, 2, 7, 17}, distinct, labels); }
TEST_CASE("reduce: the laws hold along a named extent") {
  check_laws(named, {0, 1, 2, 3, 7, 8, 9, 17, 31}, distinct);
  check_laws(named_not_empty, {1, 2, 3, 7, 8, 9, 17, 31}, distinct);
}
TEST_CASE("reduce: the laws hold for axes of extent 1 and 0") { check_laws(thin, no_names, distinct); }
TEST_CASE("reduce: float equals the reference, also where a sum is cut into chunks") {
  check_values(with<cube<float>>(sums), no_names, distinct);
  check_values(with<cube<float>>(maxima), no_names, distinct);
  check_values(with<matrix<float>>(named), {1, 5, 30000}, distinct);
}
TEST_CASE("reduce, loss: float equals the reference for functions of several ops") {
  check_values(with<matrix<float>>(exponentials), {0, 1, 17}, distinct);
  check_values(with<matrix<float>>(exponentials_of_the_other_axis), {1, 17}, distinct);
  check_values(with<two_matrices<float>, label_constants>(losses), {1, 17}, distinct, labels);
}
