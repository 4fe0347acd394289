// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include "laws.hpp"

#include <doctest/doctest.h>
#include <reference/elementwise.hpp>
#include <reference/reduce.hpp>

#include <cmath>

namespace tl = tapeless;
using namespace laws;

namespace {

constexpr tl::extent_t n = tl::dyn<'n'>;

// log(1 + exp(x)), without a jvp of its own
struct softplus {
  static constexpr double flops = 3;
  template <class T> static T primal(T x) { return std::log(T(1) + std::exp(x)); }
  static constexpr auto vjp(auto x, auto, auto y_bar) { return y_bar * tl::sigmoid(x); }
};
// a sin b, with one
struct a_sin_b;
struct a_cos_b {
  static constexpr double flops = 2;
  template <class T> static T primal(T a, T b) { return a * std::cos(b); }
  static constexpr auto vjp(auto a, auto b, auto, auto y_bar);
};
struct a_sin_b {
  static constexpr double flops = 2;
  template <class T> static T primal(T a, T b) { return a * std::sin(b); }
  static constexpr auto vjp(auto, auto b, auto y, auto y_bar);
  static constexpr auto jvp(auto a, auto b, auto, auto a_dot, auto b_dot);
};
constexpr auto a_cos_b::vjp(auto a, auto b, auto, auto y_bar) {
  return std::tuple{tl::custom<a_cos_b>(y_bar, b), -tl::custom<a_sin_b>(y_bar * a, b)};
}
constexpr auto a_sin_b::vjp(auto a, auto b, auto, auto y_bar) {
  return std::tuple{tl::custom<a_sin_b>(y_bar, b), tl::custom<a_cos_b>(y_bar * a, b)};
}
constexpr auto a_sin_b::jvp(auto a, auto b, auto, auto a_dot, auto b_dot) {
  return tl::custom<a_sin_b>(a_dot, b) + tl::custom<a_cos_b>(a * b_dot, b);
}

// y_i = x_0 + ... + x_i along the last axis, and its transpose; each is the other's derivative
template <bool Forward> struct running_sum {
  static constexpr tl::shape result(tl::shape x) { return x; }
  static void primal(auto y, auto x) {
    const std::int64_t c = x.extent(1);
    for (std::int64_t i = 0; i < x.extent(0); ++i) {
      typename decltype(y)::value_type s = 0;
      for (std::int64_t k = 0; k < c; ++k) {
        const std::int64_t j = i * c + (Forward ? k : c - 1 - k);
        y[j] = s += x[j];
      }
    }
  }
  static void launch(auto, auto y, auto x) { primal(y, x); } // on the emulated device
  static constexpr auto vjp(auto, auto, auto y_bar) { return tl::custom<running_sum<!Forward>>(y_bar); }
};
struct running_sum_with_jvp : running_sum<true> {
  static constexpr auto jvp(auto, auto, auto x_dot) { return tl::custom<running_sum_with_jvp>(x_dot); }
};
// y_ij = a_i b_j: two operands, another shape
struct outer {
  static constexpr tl::shape result(tl::shape a, tl::shape b) { return {2, {a[0], b[0]}}; }
  static void primal(auto y, auto a, auto b) {
    for (std::int64_t i = 0; i < a.extent(0); ++i)
      for (std::int64_t j = 0; j < b.extent(0); ++j) y(i, j) = a[i] * b[j];
  }
  static void launch(auto, auto y, auto a, auto b) { primal(y, a, b); }
  static constexpr auto vjp(auto a, auto b, auto, auto y_bar) {
    return std::tuple{tl::matmul(y_bar, b), tl::matmul(a, y_bar)};
  }
};

// In float: the functions are off by an eps or so, and log's argument, near 1, by three half ones.
constexpr auto sin_of = [](const auto& a, const auto& b) {
  using T = typename std::remove_cvref_t<decltype(a)>::value_type;
  return ref::zip<T>(a, b, [](T x, T y) { return x * ref::once(y, [](auto z) { return std::sin(z); }); });
};
template <class T> using elementwise_arguments = arguments<tl::tensor<T, n, 5>, tl::tensor<T, 5>>;
constexpr auto elementwise = cases<elementwise_arguments<double>>(
    pair(
        "softplus", [](const auto& x, const auto&) { return tl::custom<softplus>(x); },
        [](const auto& x, const auto&) {
          using T = typename std::remove_cvref_t<decltype(x)>::value_type;
          return ref::log(ref::constant(T(1)) + ref::exp(x));
        },
        8),
    pair(
        "a sin b, row", [](const auto& a, const auto& b) { return tl::custom<a_sin_b>(a, b); },
        [](const auto& a, const auto& b) { return sin_of(a, b); }, 8),
    pair(
        "a sin b of an expression",
        [](const auto& a, const auto& b) { return tl::custom<a_sin_b>(b, tl::square(a)); },
        [](const auto& a, const auto& b) { return sin_of(b, ref::square(a)); }, 8));

template <class T> ref::array<T> prefix(const ref::array<T>& x) {
  ref::array<T> y = x;
  for (std::int64_t i = 0; i < x.shape[0]; ++i) {
    T sum = T(0);
    for (std::int64_t j = 0; j < x.shape[1]; ++j) y(i, j) = sum += x(i, j);
  }
  return y;
}
// Sums of up to 17 positive terms. Each is one flop a term: ref::counted sees the first addition, to 0, too.
template <class T> using whole_arguments = arguments<tl::tensor<T, n, 5>, tl::tensor<T, n>, tl::tensor<T, 7>>;
constexpr auto whole = cases<whole_arguments<double>>(
    pair(
        "running_sum",
        [](const auto& x, const auto&, const auto&) { return tl::custom<running_sum<true>>(tl::square(x)); },
        [](const auto& x, const auto&, const auto&) { return prefix(ref::square(x)); }, 16),
    pair(
        "running_sum with a jvp",
        [](const auto& x, const auto&, const auto&) {
          return tl::square(tl::custom<running_sum_with_jvp>(tl::exp(x)));
        },
        [](const auto& x, const auto&, const auto&) { return ref::square(prefix(ref::exp(x))); }, 16),
    pair(
        "running_sum of a view",
        [](const auto& x, const auto&, const auto&) {
          return tl::custom<running_sum<true>>(tl::transpose(tl::square(x)));
        },
        [](const auto& x, const auto&, const auto&) {
          using T = typename std::remove_cvref_t<decltype(x)>::value_type;
          ref::array<T> t(ref::dims{x.shape[1], x.shape[0]});
          for (std::int64_t i = 0; i < x.shape[0]; ++i)
            for (std::int64_t j = 0; j < x.shape[1]; ++j) t(j, i) = x(i, j) * x(i, j);
          return prefix(t);
        },
        16),
    pair(
        "outer", [](const auto&, const auto& a, const auto& b) { return tl::custom<outer>(a, b); },
        [](const auto&, const auto& a, const auto& b) {
          using T = typename std::remove_cvref_t<decltype(a)>::value_type;
          return ref::array<T>(ref::dims{a.shape[0], 1}, a.data) * b;
        },
        rounds_once),
    pair( // the second derivative of each operand's own rule
        "outer, squared",
        [](const auto&, const auto& a, const auto& b) { return tl::square(tl::custom<outer>(a, b)); },
        [](const auto&, const auto& a, const auto& b) {
          using T = typename std::remove_cvref_t<decltype(a)>::value_type;
          return ref::square(ref::array<T>(ref::dims{a.shape[0], 1}, a.data) * b);
        }));

static_assert(covers(tl::detail::custom_rules, elementwise, whole));
static_assert(counts(tl::detail::custom_rules, elementwise, whole));
static_assert(!covers(tl::detail::custom_rules, elementwise));

// The square of x, right and with one member wrong.
struct right {
  static constexpr double flops = 1;
  template <class T> static T primal(T x) { return x * x; }
  static constexpr auto vjp(auto x, auto, auto y_bar) { return y_bar * (2.0 * x); }
};
struct wrong_value : right {
  template <class T> static T primal(T x) { return x * x * T(1 + 1e-14); }
};
struct wrong_flops : right {
  static constexpr double flops = 2;
};
struct wrong_vjp : right {
  static constexpr auto vjp(auto x, auto, auto y_bar) { return y_bar * (2.0001 * x); }
};
struct wrong_jvp : right {
  static constexpr auto jvp(auto x, auto, auto x_dot) { return x_dot * (2.0001 * x); }
};
struct wrong_second : right { // right at every point, but d/dx of it is not seen
  static constexpr auto vjp(auto x, auto, auto y_bar) { return y_bar * (2.0 * tl::stop_gradient(x)); }
};
template <class Op> constexpr auto squares(const char* name) {
  return pair(
      name, [](const auto& x) { return tl::custom<Op>(x); }, [](const auto& x) { return ref::square(x); });
}
constexpr auto suspects = cases<arguments<tl::tensor<double, 5>>>(
    squares<right>("right"), squares<wrong_value>("wrong value"), squares<wrong_flops>("wrong flops"),
    squares<wrong_vjp>("wrong vjp"), squares<wrong_jvp>("wrong jvp"), squares<wrong_second>("wrong second"));

} // namespace

TEST_CASE("custom: the laws hold for elementwise ops") {
  check_laws(elementwise, {0, 1, 2, 7, 17}, {{-1, 1}});
}
TEST_CASE("custom: the laws hold for whole-tensor ops") { check_laws(whole, {0, 1, 2, 7, 17}, {{-1, 1}}); }
TEST_CASE("custom: float equals the reference") {
  check_values(with<elementwise_arguments<float>>(elementwise), {0, 1, 17}, {{-1, 1}});
  check_values(with<whole_arguments<float>>(whole), {0, 1, 17}, {{-1, 1}});
}
TEST_CASE("an op with a wrong value, flops, vjp, jvp or second derivative breaks its law") {
  const findings found = examine_laws(suspects, no_names, {{-1, 1}});
  const auto broken = [&](const char* name) {
    std::vector<std::string> laws;
    for (const finding& f : found)
      if (f.name == name && !f.holds) laws.push_back(f.law);
    return laws;
  };
  using names = std::vector<std::string>;
  CHECK(broken("right") == names{});
  CHECK(broken("wrong value") == names{"value"});
  CHECK(broken("wrong flops") == names{"flops"});
  CHECK(broken("wrong vjp") == names{"J^T u is the finite difference"});
  CHECK(broken("wrong jvp") == names{"<u, J v> == <J^T u, v>", "J v by jvp == by vjp of vjp"});
  CHECK(broken("wrong second") == names{"H v is the finite difference"});
}
