// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Values, vjp and jvp of functions against mpmath and JAX: data/make_ops.py writes their numbers.
#include "against_jax.hpp"

#include <doctest/doctest.h>

#include <limits>

namespace tl = tapeless;
using namespace against_jax;

namespace {

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
