// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include "laws.hpp"

#include <doctest/doctest.h>
#include <reference/pointwise_loss.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace tl = tapeless;
using namespace laws;

namespace {

constexpr tl::extent_t n = tl::dyn<'n'>;
const std::vector<std::int64_t> sizes{0, 1, 7, 17};
template <class T> using two = arguments<tl::tensor<T, n, 3>, tl::tensor<T, n, 3>>;
template <class Op, class Ref> constexpr auto composed(const char* name, Op op, Ref r) {
  return pair(name, op, r, 64);
}

// a in [0.1, 0.9], b in [1.5, 3]: between kinks
const std::vector<domain> apart{{0.1, 0.9}, {1.5, 3}};
constexpr auto losses = cases<two<double>>(
    composed(
        "mse_loss, unreduced", [](const auto& a, const auto& b) { return tl::mse_loss(a, b, tl::unreduced); },
        [](const auto& a, const auto& b) { return ref::square(a - b); }),
    composed(
        "l1_loss, unreduced", [](const auto& a, const auto& b) { return tl::l1_loss(a, b, tl::unreduced); },
        [](const auto& a, const auto& b) { return ref::l1(a, b); }),
    composed(
        "huber_loss, unreduced, near",
        [](const auto& a, const auto& b) { return tl::huber_loss(a, b, 4, tl::unreduced); },
        [](const auto& a, const auto& b) { return ref::huber(a, b, 4); }),
    composed(
        "huber_loss, unreduced, far",
        [](const auto& a, const auto& b) { return tl::huber_loss(a, b, tl::unreduced, 0.5); },
        [](const auto& a, const auto& b) { return ref::huber(a, b, 0.5); }),
    composed(
        "binary_cross_entropy_with_logits, unreduced",
        [](const auto& a, const auto& b) {
          return tl::binary_cross_entropy_with_logits(b, a, tl::unreduced);
        },
        [](const auto& a, const auto& b) { return ref::binary_cross_entropy(b, a); }),
    composed(
        "binary_cross_entropy_with_logits, unreduced, below 0",
        [](const auto& a, const auto& b) {
          return tl::binary_cross_entropy_with_logits(b * -1.0, a, tl::unreduced);
        },
        [](const auto& a, const auto& b) {
          using T = typename std::remove_cvref_t<decltype(b)>::value_type;
          return ref::binary_cross_entropy(b * ref::constant(T(-1)), a);
        }),
    composed(
        "binary_cross_entropy_with_logits, positive_weight, unreduced",
        [](const auto& a, const auto& b) {
          return tl::binary_cross_entropy_with_logits(b, a, tl::positive_weight(2.5), tl::unreduced);
        },
        [](const auto& a, const auto& b) { return ref::binary_cross_entropy(b, a, 2.5); }),
    composed(
        "logaddexp", [](const auto& a, const auto& b) { return tl::logaddexp(a, b); },
        [](const auto& a, const auto& b) { return ref::logaddexp(a, b); }),
    composed(
        "logaddexp, the other way", [](const auto& a, const auto& b) { return tl::logaddexp(b, a); },
        [](const auto& a, const auto& b) { return ref::logaddexp(b, a); }),
    composed(
        "hinge_loss, unreduced",
        [](const auto& a, const auto& b) { return tl::hinge_loss(a, b * -1.0, tl::unreduced); },
        [](const auto& a, const auto& b) {
          using T = typename std::remove_cvref_t<decltype(b)>::value_type;
          return ref::hinge(a, b * ref::constant(T(-1)));
        }),
    composed(
        "poisson_nll_loss, unreduced",
        [](const auto& a, const auto& b) { return tl::poisson_nll_loss(a, b, tl::unreduced); },
        [](const auto& a, const auto& b) { return ref::poisson(a, b); }),
    composed(
        "kl_divergence", [](const auto& a, const auto& b) { return tl::kl_divergence(b, a); },
        [](const auto& a, const auto& b) { return ref::kl(b, a); }));
constexpr auto means = cases<two<double>>(
    composed(
        "mse_loss", [](const auto& a, const auto& b) { return tl::mse_loss(a, b); },
        [](const auto& a, const auto& b) { return ref::mean(ref::square(a - b)); }),
    composed(
        "l1_loss", [](const auto& a, const auto& b) { return tl::l1_loss(a, b); },
        [](const auto& a, const auto& b) { return ref::mean(ref::l1(a, b)); }),
    composed(
        "huber_loss", [](const auto& a, const auto& b) { return tl::huber_loss(a, b, 4); },
        [](const auto& a, const auto& b) { return ref::mean(ref::huber(a, b, 4)); }),
    composed(
        "binary_cross_entropy_with_logits",
        [](const auto& a, const auto& b) { return tl::binary_cross_entropy_with_logits(b, a); },
        [](const auto& a, const auto& b) { return ref::mean(ref::binary_cross_entropy(b, a)); }),
    composed(
        "hinge_loss", [](const auto& a, const auto& b) { return tl::hinge_loss(-a, b); },
        [](const auto& a, const auto& b) { return ref::mean(ref::hinge(-a, b)); }),
    composed(
        "poisson_nll_loss", [](const auto& a, const auto& b) { return tl::poisson_nll_loss(a, b); },
        [](const auto& a, const auto& b) { return ref::mean(ref::poisson(a, b)); }),
    composed(
        "gaussian_nll_loss", [](const auto& a, const auto& b) { return tl::gaussian_nll_loss(a, b, a); },
        [](const auto& a, const auto& b) {
          using T = typename std::remove_cvref_t<decltype(a)>::value_type;
          const auto v = ref::map<T>(a, [](T x) { return ref::larger(x, T(1e-6)); });
          return ref::mean((ref::log(v) + ref::square(a - b) / v) * ref::constant(T(0.5)));
        }));

// f(a, b), and its derivative by a
template <class F> std::pair<double, double> at(F, double a, double b) {
  using V = tl::tensor<double, 1>;
  auto run = tl::jit([](auto x, auto y) { return tl::value_and_grad<0>(F{})(x, y); }).template bind<V, V>();
  const auto [y, g] = run(V(&a), V(&b));
  return {y[0], g[0]};
}

} // namespace

TEST_CASE("losses of elements: the laws hold") { check_laws(losses, sizes, apart); }
TEST_CASE("losses of elements: the laws hold for their means") { check_laws(means, {1, 7, 17}, apart); }
TEST_CASE("losses of elements: float equals the reference") {
  check_values(with<two<float>>(losses), sizes, apart);
  check_values(with<two<float>>(means), {1, 7, 17}, apart);
}
TEST_CASE("losses of elements: values and derivatives are right at kinks and far out") {
  using pair = std::pair<double, double>;
  constexpr auto entropy = [](auto a, auto y) { return tl::binary_cross_entropy_with_logits(a, y); };
  const auto close = [](const pair& x, double value, double slope) {
    return std::abs(x.first - value) <= 1e-14 * std::abs(value) &&
           std::abs(x.second - slope) <= 1e-14 * std::abs(slope);
  };
  CHECK(close(at(entropy, 0, 1), std::log(2.0), -0.5));
  CHECK(close(at(entropy, 100, 1), std::exp(-100.0), -std::exp(-100.0)));
  CHECK(close(at(entropy, -100, 0), std::exp(-100.0), std::exp(-100.0)));
  CHECK(close(at(entropy, 1000, 0), 1000, 1));
  CHECK(close(at(entropy, -1000, 1), 1000, -1));
  CHECK(at([](auto a, auto b) { return tl::l1_loss(a, b); }, 2, 2) == pair(0, 0));
  CHECK(at([](auto a, auto b) { return tl::huber_loss(a, b); }, 2, 2) == pair(0, 0));
  CHECK(at([](auto a, auto b) { return tl::huber_loss(a, b); }, 3, 2) == pair(0.5, 1));
  CHECK(at([](auto a, auto b) { return tl::huber_loss(a, b); }, -1e300, 0) == pair(1e300, -1));
  CHECK(at([](auto a, auto b) { return tl::hinge_loss(a, b); }, 1, 1) == pair(0, 0));
  CHECK(at([](auto a, auto b) { return tl::kl_divergence<0>(a, b); }, -3, 0) == pair(0, 0));
  CHECK(at([](auto a, auto b) { return tl::gaussian_nll_loss(a, b, a * 0.0); }, 1, 1).first ==
        doctest::Approx(0.5 * std::log(1e-6)));
  // it is smooth where both are equal
  constexpr auto slope = [](auto a, auto b) {
    return tl::sum(
        tl::grad<0>([](auto x, auto y) { return tl::sum(tl::huber_loss(x, y, tl::unreduced)); })(a, b));
  };
  CHECK(at(slope, 2, 2) == pair(0, 1));
  // a number as the target
  CHECK(at([](auto a, auto) { return tl::binary_cross_entropy_with_logits(a, 1.0); }, 0, 0).second == -0.5);
  CHECK(at([](auto a, auto) { return tl::huber_loss(a, 1.0); }, 3, 0) == pair(1.5, 1));
}
