// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include "laws.hpp"

#include <doctest/doctest.h>
#include <reference/functions.hpp>
#include <support/at_a_number.hpp>

#include <cstdint>
#include <numbers>

namespace tl = tapeless;
using namespace laws;
using support::at;

namespace {

constexpr tl::extent_t n = tl::dyn<'n'>;
const std::vector<std::int64_t> sizes{0, 1, 7, 17, 64};

// x in [-0.7, 0.7], p positive, q above 1
template <class T> using operands = arguments<tl::tensor<T, n>, tl::tensor<T, n>, tl::tensor<T, n>>;
const std::vector<domain> domains{{-0.7, 0.7, true}, {0.3, 2}, {1.2, 3}};
constexpr auto trigonometric = cases<operands<double>>(
    both("sin", [](const auto& x, const auto&, const auto&) { return sin(x); }),
    both("cos", [](const auto& x, const auto&, const auto&) { return cos(x); }),
    both("tan", [](const auto& x, const auto&, const auto&) { return tan(x); }),
    both("asin", [](const auto& x, const auto&, const auto&) { return asin(x); }),
    both("acos", [](const auto& x, const auto&, const auto&) { return acos(x); }),
    both("atan", [](const auto& x, const auto&, const auto&) { return atan(x); }),
    both("atan2", [](const auto& x, const auto& p, const auto&) { return atan2(x, p); }));
constexpr auto hyperbolic =
    cases<operands<double>>(both("sinh", [](const auto& x, const auto&, const auto&) { return sinh(x); }),
                            both("cosh", [](const auto& x, const auto&, const auto&) { return cosh(x); }),
                            both("asinh", [](const auto& x, const auto&, const auto&) { return asinh(x); }),
                            both("acosh", [](const auto&, const auto&, const auto& q) { return acosh(q); }),
                            both("atanh", [](const auto& x, const auto&, const auto&) { return atanh(x); }));
constexpr auto others = cases<operands<double>>(
    both("abs", [](const auto& x, const auto&, const auto&) { return abs(x); }),
    both("exp2", [](const auto& x, const auto&, const auto&) { return exp2(x); }),
    both("expm1", [](const auto& x, const auto&, const auto&) { return expm1(x); }),
    both("log1p", [](const auto& x, const auto&, const auto&) { return log1p(x); }),
    both("log2", [](const auto&, const auto& p, const auto&) { return log2(p); }),
    both("log10", [](const auto&, const auto& p, const auto&) { return log10(p); }),
    both("rsqrt", [](const auto&, const auto& p, const auto&) { return rsqrt(p); }),
    both("cbrt", [](const auto& x, const auto&, const auto&) { return cbrt(x); }),
    both("softplus", [](const auto& x, const auto&, const auto&) { return softplus(x); }),
    both("erfc", [](const auto& x, const auto&, const auto&) { return erfc(x); }));
// What is left of a division has a kink where the quotient steps: beside it the law sees a constant one.
constexpr auto of_two = cases<operands<double>>(
    both("hypot", [](const auto& x, const auto& p, const auto&) { return hypot(x, p); }),
    both(
        "fmod", [](const auto& x, const auto& p, const auto&) { return fmod(x, p); }, 8),
    both("remainder", [](const auto& x, const auto& p, const auto&) { return remainder(x, p); }, 8));
constexpr auto special = cases<operands<double>>(
    both(
        "erfinv", [](const auto& x, const auto&, const auto&) { return erfinv(x); }, 8),
    both(
        "lgamma", [](const auto&, const auto& p, const auto&) { return lgamma(p); }, 8),
    both(
        "digamma", [](const auto&, const auto&, const auto& q) { return digamma(q + q); }, 8),
    pair(
        "polygamma<2>", [](const auto&, const auto& p, const auto&) { return tl::polygamma<2>(p); },
        [](const auto&, const auto& p, const auto&) { return ref::polygamma<2>(p); }, 8));
// A step has no derivative: x is inside as a condition, which is constant nearby.
constexpr auto steps = cases<operands<double>>(
    both("floor", [](const auto& x, const auto& p, const auto&) { return floor(sign(x)) * p; }),
    both("ceil", [](const auto& x, const auto& p, const auto&) { return ceil(sign(x)) * p; }),
    both("round", [](const auto& x, const auto& p, const auto&) { return round(sign(x)) * p; }),
    both("sign", [](const auto& x, const auto& p, const auto&) { return sign(x) * p; }));

using tl::detail::function_rules;
static_assert(covers(function_rules, trigonometric, hyperbolic, others, of_two, special, steps));
static_assert(counts(function_rules, trigonometric, hyperbolic, others, of_two, special, steps));
static_assert(!covers(function_rules, trigonometric, hyperbolic, others, of_two,
                      special)); // the steps are missed

} // namespace

TEST_CASE("functions: the laws hold for trigonometric functions") {
  check_laws(trigonometric, sizes, domains);
}
TEST_CASE("functions: the laws hold for hyperbolic functions") { check_laws(hyperbolic, sizes, domains); }
TEST_CASE("functions: the laws hold for other functions") { check_laws(others, sizes, domains); }
TEST_CASE("functions: the laws hold for functions of two operands") { check_laws(of_two, sizes, domains); }
TEST_CASE("functions: the laws hold for erfinv and what has to do with Gamma") {
  check_laws(special, sizes, domains);
}
TEST_CASE("functions: the laws hold through steps") { check_laws(steps, sizes, domains); }
TEST_CASE("functions: float equals the reference") {
  check_values(with<operands<float>>(trigonometric), sizes, domains);
  check_values(with<operands<float>>(hyperbolic), sizes, domains);
  check_values(with<operands<float>>(others), sizes, domains);
  check_values(with<operands<float>>(of_two), sizes, domains);
  check_values(with<operands<float>>(special), sizes, domains);
  check_values(with<operands<float>>(steps), sizes, domains);
}
TEST_CASE("functions: values and derivatives are right at kinks, at the ends of ranges and far out") {
  using pair = std::pair<double, double>;
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(at([](auto x) { return abs(x); }, 0) == pair(0, 0));
  CHECK(at([](auto x) { return abs(x); }, -2) == pair(2, -1));
  CHECK(at([](auto x) { return sign(x); }, -3) == pair(-1, 0));
  CHECK(at([](auto x) { return floor(x); }, -1.5) == pair(-2, 0));
  CHECK(at([](auto x) { return ceil(x); }, -1.5) == pair(-1, 0));
  CHECK(at([](auto x) { return round(x); }, 2.5) == pair(2, 0)); // ties to even
  CHECK(at([](auto x) { return round(x); }, 3.5) == pair(4, 0));
  CHECK(at([](auto x) { return asin(x); }, 1) == pair(std::asin(1.0), inf));
  CHECK(at([](auto x) { return acosh(x); }, 1) == pair(0, inf));
  CHECK(at([](auto x) { return atanh(x); }, 1) == pair(inf, inf));
  CHECK(at([](auto x) { return log1p(x); }, -1) == pair(-inf, inf));
  CHECK(at([](auto x) { return cbrt(x); }, 0) == pair(0, inf));
  CHECK(at([](auto x) { return rsqrt(x); }, 0) == pair(inf, -inf));
  CHECK(at([](auto x) { return rsqrt(x); }, 2.52e-206).second ==
        doctest::Approx(-1.2498763e308).epsilon(1e-3)); // y / a would be infinite
  CHECK(at([](auto x) { return softplus(x); }, 1000) == pair(1000, 1));
  CHECK(at([](auto x) { return softplus(x); }, -1000) == pair(0, 0));
  CHECK(at([](auto x) { return sin(x); }, 1e22).first == doctest::Approx(-0.8522008497671888).epsilon(1e-15));
  CHECK(at([](auto x) { return atan2(x, x); }, 0).second == 0);
  CHECK(at([](auto x) { return atan2(x, 1e-300 + 0 * x); }, 1e300).second ==
        doctest::Approx(0).epsilon(1e-12));
  CHECK(at([](auto x) { return atan2(x, 1e200 + 0 * x); }, 1e200).second == doctest::Approx(5e-201).scale(0));
  CHECK(at([](auto x) { return atan2(x, 2.0); }, inf).second == 0);
  CHECK(std::isnan(at([](auto x) { return asin(x); }, 1.5).first));
  const pair below = at([](auto x) { return acosh(x); }, -2);
  CHECK((std::isnan(below.first) && std::isnan(below.second)));
  CHECK(at([](auto x) { return asinh(x); }, 1e200).second == doctest::Approx(1e-200).scale(0));
  CHECK(at([](auto x) { return asinh(x); }, -1e17).second == doctest::Approx(1e-17).scale(0));
  CHECK(at([](auto x) { return acosh(x); }, 1e200).second == doctest::Approx(1e-200).scale(0));
  CHECK(at([](auto x) { return expm1(x); }, -50).second == doctest::Approx(std::exp(-50.0)).scale(0));
  CHECK(at([](auto x) { return fmod(x, 3.0); }, -7) == pair(-1, 1));
  CHECK(at([](auto x) { return remainder(x, 3.0); }, -7) == pair(2, 1));
  CHECK(at([](auto y) { return fmod(7.5, y); }, -2) == pair(1.5, 3));
  CHECK(at([](auto y) { return remainder(7.5, y); }, -2) == pair(-0.5, 4));
  CHECK(at([](auto x) { return fmod(x, 0.1); }, 0.3).second ==
        1); // the quotient is 2, 0.3 / 0.1 is rounded to 3
  CHECK(at([](auto y) { return fmod(0.3, y); }, 0.1).second == -2);
  CHECK(std::isnan(at([](auto x) { return fmod(x, 0.0); }, 1).first));
  CHECK(at([](auto x) { return remainder(x, 1.0); }, -1e-20) == pair(1, 1));
  CHECK(at([](auto x) { return remainder(x, std::numeric_limits<double>::infinity()); }, -2).first == inf);
  CHECK(at([](auto y) { return remainder(1.0, y); }, -inf) == pair(-inf, 1)); // x + y
  CHECK(at([](auto y) { return remainder(-2.0, y); }, inf) == pair(inf, 1));
  CHECK(at([](auto y) { return remainder(1.0, y); }, inf) == pair(1, 0));
  CHECK(at([](auto y) { return remainder(-1.0, y); }, -inf) == pair(-1, 0));
  CHECK(at([](auto y) { return remainder(-1e-20, y); }, 1) == pair(1, 1));
  CHECK(std::isnan(
      at([](auto y) { return remainder(std::numeric_limits<double>::infinity(), y); }, inf).second));
  CHECK(at([](auto x) { return hypot(x, 0.0); }, 0) == pair(0, 0));
  CHECK(at([](auto x) { return hypot(x, 0.0); }, -2) == pair(2, -1));
  CHECK(at([](auto x) { return hypot(x, 4e200); }, 3e200).first == doctest::Approx(5e200).epsilon(1e-15));
  CHECK(at([](auto x) { return hypot(x, 4e-200); }, 3e-200).second == doctest::Approx(0.6).epsilon(1e-15));
  CHECK(at([](auto x) { return erfinv(x); }, 1) == pair(inf, inf));
  CHECK(std::isnan(at([](auto x) { return erfinv(x); }, 1.5).first));
  CHECK(at([](auto x) { return lgamma(x); }, 0).first == inf);
  CHECK(at([](auto x) { return lgamma(x); }, -3).first == inf);
  CHECK(at([](auto x) { return lgamma(x); }, 1).second ==
        doctest::Approx(-0.5772156649015329).epsilon(1e-15));
  CHECK(at([](auto x) { return digamma(x); }, 0).first == -inf);
  CHECK(at([](auto x) { return digamma(x); }, -0.0).first == inf);
  CHECK(std::isnan(at([](auto x) { return digamma(x); }, -1).first));
  CHECK(at([](auto x) { return tl::polygamma<0>(x); }, 1).second ==
        doctest::Approx(1.6449340668482264).epsilon(1e-15));
  CHECK(at([](auto x) { return tl::polygamma<1>(x); }, -2).first == inf);
  CHECK(std::isnan(at([](auto x) { return tl::polygamma<2>(x); }, -2).first));
}
TEST_CASE("functions: abs and sign take int32") {
  using X = tl::tensor<std::int32_t, 21>;
  tl::owned<X> x;
  for (int i = 0; i < 21; ++i) (*x)[i] = i - 10;
  auto run = tl::jit([](auto a) { return std::tuple{abs(a), sign(a)}; }).bind<X>();
  const auto [size, s] = run(*x);
  for (int i = 0; i < 21; ++i) {
    CHECK(size[i] == std::abs(i - 10));
    CHECK(s[i] == (i > 10) - (i < 10));
  }
}
