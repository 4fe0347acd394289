// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include "laws.hpp"

#include <doctest/doctest.h>
#include <reference/activations.hpp>
#include <support/at_a_number.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

namespace tl = tapeless;
using namespace laws;
using support::at;

namespace {

constexpr tl::extent_t n = tl::dyn<'n'>;
const std::vector<std::int64_t> sizes{0, 1, 7, 17, 64};
template <class T> using operands = arguments<tl::tensor<T, n>>;

// Between kinks
const std::vector<domain> domains{{-0.9, 0.9, true}};
constexpr auto near_zero = cases<operands<double>>(
    both("leaky_relu", [](const auto& x) { return leaky_relu(x, 0.2); }),
    both("elu", [](const auto& x) { return elu(x); }),
    both("elu, alpha", [](const auto& x) { return elu(x, 0.7); }),
    both("selu", [](const auto& x) { return selu(x); }), both("gelu", [](const auto& x) { return gelu(x); }),
    both("gelu_tanh", [](const auto& x) { return gelu_tanh(x); }),
    both("silu", [](const auto& x) { return silu(x); }), both("mish", [](const auto& x) { return mish(x); }),
    both("hardswish", [](const auto& x) { return hardswish(x); }),
    both("hardtanh", [](const auto& x) { return hardtanh(x); }),
    both("clamp", [](const auto& x) { return clamp(x, -2.0, 2.5); }),
    both("log_sigmoid", [](const auto& x) { return log_sigmoid(x); }),
    both("nan_to_num", [](const auto& x) { return nan_to_num(x, 3.0); }),
    both("trunc", [](const auto& x) { return trunc(x) * x; }));
// Beyond them
const std::vector<domain> far_above{{3.2, 5}}, far_below{{-5, -3.2}};
constexpr auto far = cases<operands<double>>(
    both("leaky_relu", [](const auto& x) { return leaky_relu(x); }),
    both("elu", [](const auto& x) { return elu(x); }), both("selu", [](const auto& x) { return selu(x); }),
    both("silu", [](const auto& x) { return silu(x); }), both("mish", [](const auto& x) { return mish(x); }),
    both("hardswish", [](const auto& x) { return hardswish(x); }),
    both("hardtanh", [](const auto& x) { return hardtanh(x) * x; }),
    both("clamp", [](const auto& x) { return clamp(x, -2.0, 2.5) * x; }),
    both("log_sigmoid", [](const auto& x) { return log_sigmoid(x); }),
    both("reciprocal", [](const auto& x) { return reciprocal(x); }));

// Far below 0 the rounding of a / sqrt(2) alone is more than the law allows: numbers stand below.
constexpr auto far_up =
    cases<operands<double>>(both("gelu", [](const auto& x) { return gelu(x); }),
                            both("gelu_tanh", [](const auto& x) { return gelu_tanh(x); }));

} // namespace

TEST_CASE("activations: the laws hold between kinks") { check_laws(near_zero, sizes, domains); }
TEST_CASE("activations: the laws hold beyond kinks") {
  check_laws(far, sizes, far_above);
  check_laws(far_up, sizes, far_above);
  check_laws(far, sizes, far_below);
}
TEST_CASE("activations: float equals the reference") {
  check_values(with<operands<float>>(near_zero), sizes, domains);
  check_values(with<operands<float>>(far), sizes, far_above);
  check_values(with<operands<float>>(far_up), sizes, far_above);
  check_values(with<operands<float>>(far), sizes, far_below);
}
TEST_CASE("activations: values and derivatives are right at kinks and far out") {
  using pair = std::pair<double, double>;
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(at([](auto x) { return leaky_relu(x); }, 0) == pair(0, 0.01));
  CHECK(at([](auto x) { return elu(x, 0.5); }, 0) == pair(0, 0.5));
  CHECK(at([](auto x) { return elu(x); }, 1000) == pair(1000, 1));
  CHECK(at([](auto x) { return selu(x); }, 1e300).second == doctest::Approx(1.0507009873554805));
  CHECK(at([](auto x) { return clamp(x, 0.0, 6.0); }, 0) == pair(0, 1));
  CHECK(at([](auto x) { return clamp(x, 0.0, 6.0); }, 6) == pair(6, 1));
  CHECK(at([](auto x) { return clamp(x, 0.0, 6.0); }, 7) == pair(6, 0));
  CHECK(at([](auto x) { return clamp(x, 2.0, 1.0); }, 5) == pair(1, 0));
  CHECK(std::isnan(at([](auto x) { return clamp(x, 0.0, 6.0); }, nan).first));
  CHECK(at([](auto x) { return gelu(x); }, -10).first ==
        doctest::Approx(-7.619853024160527e-23).epsilon(1e-12).scale(0));
  const pair plain = at([](auto x) { return gelu(x); }, -4),
             cubic = at([](auto x) { return gelu_tanh(x); }, -4);
  CHECK(plain.first == doctest::Approx(-0.000126684967332479685).epsilon(1e-14).scale(0));
  CHECK(plain.second == doctest::Approx(-0.000503649661226421486).epsilon(1e-14).scale(0));
  CHECK(cubic.first == doctest::Approx(-0.0000702459481923726898).epsilon(1e-14).scale(0));
  CHECK(cubic.second == doctest::Approx(-0.000335123197122670758).epsilon(1e-13).scale(0));
  CHECK(at([](auto x) { return gelu(x); }, 1e10) == pair(1e10, 1));
  CHECK(at([](auto x) { return gelu_tanh(x); }, 1e10) == pair(1e10, 1));
  CHECK(at([](auto x) { return gelu_tanh(x); }, 1e200) == pair(1e200, 1));
  CHECK(at([](auto x) { return gelu_tanh(x); }, -1e200) == pair(0, 0));
  CHECK(at([](auto x) { return silu(x); }, -800).first == doctest::Approx(0));
  CHECK(at([](auto x) { return silu(x); }, 800) == pair(800, 1));
  CHECK(at([](auto x) { return mish(x); }, 800) == pair(800, 1));
  CHECK(at([](auto x) { return hardswish(x); }, 5) == pair(5, 1));
  CHECK(at([](auto x) { return hardswish(x); }, -5) == pair(0, 0));
  CHECK(at([](auto x) { return log_sigmoid(x); }, -1000) == pair(-1000, 1));
  CHECK(at([](auto x) { return log_sigmoid(x); }, 1000) == pair(0, 0));
  CHECK(at([](auto x) { return trunc(x); }, -1.75) == pair(-1, 0));
  CHECK(at([](auto x) { return trunc(x); }, 1.75) == pair(1, 0));
  CHECK(std::signbit(at([](auto x) { return trunc(x); }, -0.5).first));
  CHECK(at([](auto x) { return nan_to_num(x); }, nan) == pair(0, 0));
  CHECK(at([](auto x) { return nan_to_num(x); }, inf) == pair(std::numeric_limits<double>::max(), 0));
  CHECK(at([](auto x) { return nan_to_num(x, 0, 1, 2); }, -inf) == pair(2, 0));
}
TEST_CASE("isnan, isinf, isfinite, nan_to_num: float, with infinities") {
  using X = tl::tensor<float, 5>;
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  float data[] = {1, -inf, inf, nan, -nan};
  auto run = tl::jit([](auto x) {
               return std::tuple{isnan(x), isinf(x), isfinite(x), nan_to_num(x, 7.0)};
             }).bind<X>();
  const auto [is_nan, is_inf, is_finite, number] = run(X(data));
  const bool nans[] = {false, false, false, true, true}, infs[] = {false, true, true, false, false};
  const float most = std::numeric_limits<float>::max(), numbers[] = {1, -most, most, 7, 7};
  for (int i = 0; i < 5; ++i) {
    CHECK(is_nan[i] == nans[i]);
    CHECK(is_inf[i] == infs[i]);
    CHECK(is_finite[i] == (i == 0));
    CHECK(number[i] == numbers[i]);
  }
}
TEST_CASE("clamp: int32, and tensors as ends") {
  using I = tl::tensor<std::int32_t, 4>;
  std::int32_t data[] = {-5, 0, 3, 9}, low[] = {-1, 1, 1, 1};
  auto run =
      tl::jit([](auto x, auto lo) { return std::tuple{clamp(x, 0, 4), clamp(x, lo, lo + 1)}; }).bind<I, I>();
  const auto [a, b] = run(I(data), I(low));
  const std::int32_t as[] = {0, 0, 3, 4}, bs[] = {-1, 1, 2, 2};
  for (int i = 0; i < 4; ++i) {
    CHECK(a[i] == as[i]);
    CHECK(b[i] == bs[i]);
  }
}
