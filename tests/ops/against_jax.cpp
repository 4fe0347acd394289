// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Values, vjp and jvp of functions against mpmath and JAX: data/make_ops.py writes their numbers.
#include <tapeless/io/npz_arrays.hpp>
#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "support/compare.hpp"

namespace tl = tapeless;

namespace {

// f(arguments), its vjp of u by each argument, its jvp of the tangents
template <auto& f> constexpr auto of_one = [](auto a, auto u, auto a_dot) {
  return std::tuple{f(a), tl::vjp<0>(f)(a, u), tl::jvp<0>(f)(a, a_dot)};
};
template <auto& f> constexpr auto of_two = [](auto a, auto b, auto u, auto a_dot, auto b_dot) {
  return std::tuple{f(a, b), tl::vjp<0, 1>(f)(a, b, u), tl::jvp<0, 1>(f)(a, b, a_dot, b_dot)};
};
template <auto& f>
constexpr auto of_three = [](auto a, auto b, auto c, auto u, auto a_dot, auto b_dot, auto c_dot) {
  return std::tuple{f(a, b, c), tl::vjp<0, 1, 2>(f)(a, b, c, u),
                    tl::jvp<0, 1, 2>(f)(a, b, c, a_dot, b_dot, c_dot)};
};

std::vector<double> read(const std::string& name) {
  const tl::npy_array a = tl::npz_read<double>(std::filesystem::path(TAPELESS_TEST_DATA) / "ops.npz", name);
  std::vector<double> result(a.bytes.size() / sizeof(double));
  std::memcpy(result.data(), a.bytes.data(), a.bytes.size());
  return result;
}

// What a result may be off by, in units of rounding: of its own size, and of the largest number of the same result. Below the
// normal numbers a float is off by one of these.
struct tolerance {
  double own = 0, largest = 0;
};

// The file's array `name` holds the arguments, of types X, and the results. n is the extent that has a name.
template <auto& program, class T, class... X>
void compare(const std::string& name, const tolerance& allowed, std::int64_t n) {
  constexpr double unit = std::numeric_limits<T>::epsilon();
  INFO(name, " of ", sizeof(T), " bytes");
  const std::vector<double> all = read(name);
  std::size_t at = 0;
  auto argument = [&]<class Y>(tl::owned<Y> x) {
    tl::for_each_leaf(*x, [&](auto leaf) {
      for (T& element : leaf) element = static_cast<T>(all.at(at++));
    });
    return x;
  };
  const std::tuple<tl::owned<X>...> arguments{argument(tl::owned<X>{tl::dim<'n'>(n)})...};
  static constexpr auto compiled = tl::jit(program);
  auto run = std::apply([](const auto&... x) { return compiled.bind_for(*x...); }, arguments);
  const auto results = std::apply([&](const auto&... x) { return run(*x...); }, arguments);
  tl::for_each_leaf(results, [&](auto got) {
    REQUIRE(at + got.size() <= all.size());
    const std::vector<double> expected(all.begin() + at, all.begin() + at + got.size());
    at += got.size();
    double largest = 0;
    for (const double e : expected)
      if (std::isfinite(e)) largest = std::max(largest, std::abs(e));
    const double least = std::numeric_limits<T>::min();
    CHECK(support::close(got, expected, allowed.largest * unit * largest + least, allowed.own * unit));
  });
  CHECK(at == all.size());
}

// Functions of single elements
template <auto& f, int arguments> void elements(const std::string& name, double roundings) {
  const auto of = [&]<class T>(T) {
    using X = tl::tensor<T, tl::dyn<'n'>>;
    const std::int64_t n = static_cast<std::int64_t>(read(name).size()) / (3 * arguments + 3);
    if constexpr (arguments == 1) compare<of_one<f>, T, X, X, X>(name, {.own = roundings}, n);
    if constexpr (arguments == 2) compare<of_two<f>, T, X, X, X, X, X>(name, {.own = roundings}, n);
    if constexpr (arguments == 3) compare<of_three<f>, T, X, X, X, X, X, X, X>(name, {.own = roundings}, n);
  };
  of(double());
  of(float());
}

// Functions of rows, whose result is a number for each, or a row. Sums of seven terms, and differences of these, are off by
// some units of the largest number.
template <auto& f, int arguments, bool a_row = false> void rows(const std::string& name,
                                                                double roundings = 8) {
  const auto of = [&]<class T>(T) {
    using X = tl::tensor<T, 5, 7>;
    using Y = std::conditional_t<a_row, X, tl::tensor<T, 5>>;
    if constexpr (arguments == 1) compare<of_one<f>, T, X, Y, X>(name, {.own = 8, .largest = roundings}, 0);
    if constexpr (arguments == 2)
      compare<of_two<f>, T, X, X, Y, X, X>(name, {.own = 8, .largest = roundings}, 0);
  };
  of(double());
  of(float());
}

constexpr auto clamp = [](auto a) { return tl::clamp(a, -1.0, 2.0); };
constexpr auto hardtanh = [](auto a) { return tl::hardtanh(a); };
constexpr auto reciprocal = [](auto a) { return tl::reciprocal(a); };
constexpr auto leaky_relu = [](auto a) { return tl::leaky_relu(a, 0.25); };
constexpr auto elu = [](auto a) { return tl::elu(a, 0.5); };
constexpr auto selu = [](auto a) { return tl::selu(a); };
constexpr auto gelu = [](auto a) { return tl::gelu(a); };
constexpr auto gelu_tanh = [](auto a) { return tl::gelu_tanh(a); };
constexpr auto silu = [](auto a) { return tl::silu(a); };
constexpr auto mish = [](auto a) { return tl::mish(a); };
constexpr auto hardswish = [](auto a) { return tl::hardswish(a); };
constexpr auto log_sigmoid = [](auto a) { return tl::log_sigmoid(a); };
constexpr auto truncated = [](auto a) { return tl::trunc(a); };
constexpr auto nan_to_num = [](auto a) { return tl::nan_to_num(a, 0.5, 9.0, -9.0); };
constexpr auto of_nan = [](auto a, auto b) { return tl::where(tl::isnan(a), b, -b); };
constexpr auto of_infinite = [](auto a, auto b) { return tl::where(tl::isinf(a), b, -b); };
constexpr auto of_finite = [](auto a, auto b) { return tl::where(tl::isfinite(a), b, -b); };

constexpr auto erfinv = [](auto a) { return tl::erfinv(a); };
constexpr auto lgamma_of = [](auto a) { return tl::lgamma(a); };
constexpr auto digamma = [](auto a) { return tl::digamma(a); };
constexpr auto polygamma_1 = [](auto a) { return tl::polygamma<1>(a); };
constexpr auto polygamma_4 = [](auto a) { return tl::polygamma<4>(a); };
constexpr auto fmod_of = [](auto a, auto b) { return tl::fmod(a, b); };
constexpr auto remainder_of = [](auto a, auto b) { return tl::remainder(a, b); };
constexpr auto hypot_of = [](auto a, auto b) { return tl::hypot(a, b); };

constexpr auto mse = [](auto a, auto b) { return tl::mse_loss(a, b, tl::unreduced); };
constexpr auto l1 = [](auto a, auto b) { return tl::l1_loss(a, b, tl::unreduced); };
constexpr auto huber = [](auto a, auto b) { return tl::huber_loss(a, b, 0.5, tl::unreduced); };
constexpr auto entropy = [](auto a, auto b) {
  return tl::binary_cross_entropy_with_logits(a, b, tl::unreduced);
};
constexpr auto hinge = [](auto a, auto b) { return tl::hinge_loss(a, b, tl::unreduced); };
constexpr auto poisson = [](auto a, auto b) { return tl::poisson_nll_loss(a, b, tl::unreduced); };
constexpr auto gaussian = [](auto a, auto b, auto v) {
  return tl::gaussian_nll_loss(a, b, v, 0.5, tl::unreduced);
};

constexpr auto norm = [](auto a) { return tl::norm<1>(a); };
constexpr auto norm_1 = [](auto a) { return tl::norm<1>(a, 1.0); };
constexpr auto norm_3 = [](auto a) { return tl::norm<1>(a, 3.0); };
constexpr auto norm_half = [](auto a) { return tl::norm<1>(a, 0.5); };
constexpr auto norm_inf = [](auto a) { return tl::norm<1>(a, std::numeric_limits<double>::infinity()); };
constexpr auto normalize = [](auto a) { return tl::normalize<1>(a); };
constexpr auto normalize_1 = [](auto a) { return tl::normalize<1>(a, 1.0, 0.5); };
constexpr auto cosine_similarity = [](auto a, auto b) { return tl::cosine_similarity<1>(a, b); };
constexpr auto distance = [](auto a, auto b) { return tl::pairwise_distance<1>(a, b); };
constexpr auto distance_3 = [](auto a, auto b) { return tl::pairwise_distance<1>(a, b, 3.0); };
constexpr auto variance = [](auto a) { return tl::variance<1>(a); };
constexpr auto variance_unbiased = [](auto a) { return tl::variance<1>(a, tl::unbiased); };
constexpr auto std_dev = [](auto a) { return tl::std_dev<1>(a); };
constexpr auto std_dev_unbiased = [](auto a) { return tl::std_dev<1>(a, tl::unbiased); };
constexpr auto divergence = [](auto log_q, auto p) { return tl::kl_divergence<1>(log_q, p); };

} // namespace

// In units of rounding. A function of the library is off by two, one of three of them and a factor by eight. The rounding of
// an exponent is multiplied by it: that of gelu is a^2 / 2, up to 200, where erfc reads a / sqrt(2), two roundings; that of
// gelu_tanh is up to 88. A loss is a difference, or its derivatives are, of terms that are up to a hundred times as large.
TEST_CASE("activations are those of mpmath") {
  elements<clamp, 1>("clamp", 2);
  elements<hardtanh, 1>("hardtanh", 2);
  elements<reciprocal, 1>("reciprocal", 4);
  elements<leaky_relu, 1>("leaky_relu", 2);
  elements<elu, 1>("elu", 8);
  elements<selu, 1>("selu", 8);
  elements<gelu, 1>("gelu", 400);
  elements<gelu_tanh, 1>("gelu_tanh", 100);
  elements<silu, 1>("silu", 8);
  elements<mish, 1>("mish", 8);
  elements<hardswish, 1>("hardswish", 8);
  elements<log_sigmoid, 1>("log_sigmoid", 8);
  elements<truncated, 1>("trunc", 0);
  elements<nan_to_num, 1>("nan_to_num", 0);
  elements<of_nan, 2>("isnan", 0);
  elements<of_infinite, 2>("isinf", 0);
  elements<of_finite, 2>("isfinite", 0);
}

// Left of 0 what is near a pole or a root is off by what x is beside its distance from there.
TEST_CASE("functions are those of mpmath") {
  elements<erfinv, 1>("erfinv", 128);
  elements<lgamma_of, 1>("lgamma", 64);
  elements<digamma, 1>("digamma", 64);
  elements<polygamma_1, 1>("polygamma_1", 64);
  elements<polygamma_4, 1>("polygamma_4", 64);
  elements<fmod_of, 2>("fmod", 4);
  elements<remainder_of, 2>("remainder", 4);
  elements<hypot_of, 2>("hypot", 8);
}

TEST_CASE("losses of elements are those of mpmath") {
  elements<mse, 2>("mse_loss", 8);
  elements<l1, 2>("l1_loss", 8);
  elements<huber, 2>("huber_loss", 8);
  elements<entropy, 2>("binary_cross_entropy_with_logits", 64);
  elements<hinge, 2>("hinge_loss", 8);
  elements<poisson, 2>("poisson_nll_loss", 64);
  elements<gaussian, 3>("gaussian_nll_loss", 512);
}

TEST_CASE("lengths, deviations and divergences of rows are those of JAX") {
  rows<norm, 1>("norm");
  rows<norm_1, 1>("norm_1");
  rows<norm_3, 1>("norm_3");
  rows<norm_half, 1>("norm_half");
  rows<norm_inf, 1>("norm_inf");
  rows<normalize, 1, true>("normalize");
  rows<normalize_1, 1, true>("normalize_1");
  rows<cosine_similarity, 2>("cosine_similarity");
  rows<distance, 2>("pairwise_distance");
  rows<distance_3, 2>("pairwise_distance_3");
  rows<variance, 1>("variance");
  rows<variance_unbiased, 1>("variance_unbiased");
  rows<std_dev, 1>("std_dev");
  rows<std_dev_unbiased, 1>("std_dev_unbiased");
  rows<divergence, 2>("kl_divergence");
}
