// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Law: a sum of n products, n > 64, is off by at most 4 eps log2(n) times the sum of their sizes, for every kernel and along every
// axis that it sums over, and has the same bits on any team. The terms are those whose roundings add up: equal ones, and one
// that is large among ones that are lost when they meet it one by one.
#include <tapeless/cpu/conv/bf16.hpp>
#include <tapeless/cpu/matmul/small.hpp>

#include <cmath>

#include "products.hpp"

using namespace tapeless;
using namespace tapeless::cpu;

namespace {

constexpr float eps = std::numeric_limits<float>::epsilon();

struct terms {
  std::vector<float> v;
  double sum = 0, size = 0;
  terms(int kind, index_t n) : v(static_cast<std::size_t>(n)) {
    std::mt19937 random(5);
    std::uniform_real_distribution<float> draw(0, 1);
    for (std::size_t i = 0; i < v.size(); ++i)
      v[i] = kind == 0 ? 0.1f : kind == 1 ? (i == 0 ? 1.0f : 0.4375f * eps) : draw(random);
  }
  // as elements of T
  template <class T> std::vector<T> as() {
    std::vector<T> r;
    sum = size = 0;
    for (const float x : v) {
      r.push_back(T(x));
      sum += static_cast<float>(r.back());
      size += std::abs(static_cast<float>(r.back()));
    }
    return r;
  }
  bool is(float y) const {
    return std::abs(y - sum) <= 4 * double{eps} * std::log2(static_cast<double>(v.size())) * size;
  }
};

// f(team) is what a kernel computes: on one member, and, where asked, the same on others.
template <class F> std::vector<float> on_teams(bool others, F&& f) {
  const std::vector<float> y = f(serial_team{});
#ifdef TAPELESS_WITH_OPENMP
  for (const int members : {2, 3, 7})
    if (others) CHECK(f(openmp_team(members)) == y);
#else
  static_cast<void>(others);
#endif
  return y;
}
template <class T> T* room(std::vector<T>& v, index_t n) {
  v.resize(static_cast<std::size_t>(n));
  return v.data();
}

// Every row of op(a), or with of_b column of op(b), are the terms; the other operand is 1.
template <class T> void check_matmul(const matmul_extents& e, bool of_b = false) {
  CAPTURE(e.m);
  CAPTURE(e.n);
  CAPTURE(e.k);
  CAPTURE(e.ta);
  CAPTURE(e.tb);
  CAPTURE(of_b);
  for (int kind = 0; kind < (e.k > 1000000 ? 2 : 3); ++kind) {
    CAPTURE(kind);
    terms t(kind, e.k);
    const std::vector<T> v = t.as<T>();
    std::vector<T> a(static_cast<std::size_t>(e.m * e.k), T(1.0f)),
        b(static_cast<std::size_t>(e.n * e.k), T(1.0f));
    std::vector<T>& with = of_b ? b : a;
    const index_t lines = of_b ? e.n : e.m;
    const bool along = of_b ? e.tb : !e.ta;
    for (std::size_t i = 0; i < with.size(); ++i)
      with[i] = v[along ? i % v.size() : i / static_cast<std::size_t>(lines)];
    const auto y = on_teams(kind == 1, [&](const auto& team) {
      std::vector<float> c(static_cast<std::size_t>(e.m * e.n));
      std::vector<T> each, shared;
      if constexpr (std::is_same_v<T, float>)
        matmul(team, e, a.data(), b.data(), c.data(), room(each, team.size() * matmul_scratch<float>(e)),
               room(shared, matmul_shared<float>(e)));
      else
        matmul_bf16(team, e, a.data(), b.data(), c.data(),
                    room(each, team.size() * matmul_bf16_scratch<>(e)));
      return c;
    });
    CHECK(std::all_of(y.begin(), y.end(), [&](float x) { return t.is(x); }));
  }
}
template <class T> void check_forms(index_t m, index_t n, index_t k) {
  for (int form = 0; form < 8; ++form)
    check_matmul<T>({.m = m, .n = n, .k = k, .ta = (form & 1) != 0, .tb = (form & 2) != 0}, (form & 4) != 0);
}

template <conv_pass P, conv_kernel K> void check_conv(conv_extents e) {
  e.nhwc = takes_nhwc(K);
  e.p = e.h - e.r + 1;
  e.q = e.w - e.s + 1;
  REQUIRE(conv_kernel_takes<simd<float>>(P, K, e));
  CAPTURE(static_cast<int>(P));
  CAPTURE(static_cast<int>(K));
  const index_t cg = e.c / e.groups, taps = e.r * e.s, area = e.p * e.q;
  const auto size = [](index_t n) { return static_cast<std::size_t>(n); };
  const index_t in_x = e.n * e.c * e.h * e.w, in_y = e.n * e.k * area, in_w = e.k * cg * taps;
  for (int kind = 0; kind < 2; ++kind) {
    CAPTURE(kind);
    terms t(kind, P == conv_pass::wgrad ? e.n * area : (P == conv_pass::fprop ? cg : e.k / e.groups) * taps);
    t.as<float>();
    std::vector<float> a(size(P == conv_pass::dgrad ? in_y : in_x), 1.0f),
        b(size(P == conv_pass::wgrad ? in_y : in_w));
    for (index_t i = 0; i < static_cast<index_t>(b.size()); ++i)
      b[size(i)] = t.v[size(P == conv_pass::fprop   ? i % (cg * taps)
                            : P == conv_pass::dgrad ? i / (cg * taps) % (e.k / e.groups) * taps + i % taps
                            : e.nhwc                ? i / e.k
                                                    : i / (e.k * area) * area + i % area)];
    const auto need = conv2d_scratch<P, simd<float>>(K, e);
    const auto y = on_teams(kind == 1, [&](const auto& team) {
      std::vector<float> out(size(P == conv_pass::wgrad   ? in_w
                                  : P == conv_pass::fprop ? in_y
                                                          : in_x)),
          packed, each, shared;
      room(packed, need.packed);
      conv2d_pack<P, K, simd<float>>(team, e, b.data(), packed.data());
      conv2d_run<P, K, simd<float>>(
          team, e, a.data(), b.data(), out.data(),
          {packed.data(), room(each, team.size() * need.each), room(shared, need.shared)});
      return out;
    });
    for (index_t i = 0; i < static_cast<index_t>(y.size()); ++i) {
      if (P == conv_pass::dgrad) { // only pixels that meet all taps
        const index_t at = e.nhwc ? i / e.c % (e.h * e.w) : i % (e.h * e.w);
        const index_t row = at / e.w, col = at % e.w;
        if (row < e.r - 1 || col < e.s - 1 || row + e.r > e.h || col + e.s > e.w) continue;
      }
      CAPTURE(i);
      CAPTURE(y[size(i)]);
      if (!t.is(y[size(i)])) FAIL_CHECK("beyond the bound");
    }
  }
}

} // namespace

TEST_CASE("sums of products: matmul along k") {
  for (const index_t k : {100, 512, 5000}) {
    check_forms<float>(1, 1, k);
    check_forms<float>(1, 40, k);
    check_forms<float>(3, 9, k);
    check_forms<float>(40, 2, k);
    check_forms<float>(50, 36, k);
  }
  check_forms<float>(2, 5, 100000);
  check_matmul<float>({.m = 9, .n = 1030, .k = 3000});              // few rows
  check_matmul<float>({.m = 260, .n = 270, .k = 6000, .ta = true}); // a result of several parts
  check_matmul<float>({.m = 2, .n = 2, .k = 10000000, .ta = true});
  check_matmul<float>({.m = 1, .n = 1, .k = 10000000, .tb = true});
  check_matmul<float>({.m = 1, .n = 2, .k = 10000000});
}

TEST_CASE("sums of products: matmul of bf16") {
  for (const index_t k : {100, 600, 70000}) {
    check_forms<bf16>(1, 9, k);
    check_forms<bf16>(2, 3, k);
    check_forms<bf16>(7, 9, k);
  }
}

TEST_CASE("sums of products: small products") {
  const auto check = []<index_t M, index_t N, index_t K>() {
    constexpr small_product S = small_product_of({.m = M, .n = N, .k = K}, 4);
    static_assert(S.m > 0);
    terms t(1, K);
    t.as<float>();
    std::vector<float> a, b(static_cast<std::size_t>(N * K), 1.0f), c(static_cast<std::size_t>(M * N));
    for (index_t i = 0; i < M; ++i) a.insert(a.end(), t.v.begin(), t.v.end());
    matmul_small<S>(serial_team{}, {.m = M, .n = N, .k = K}, a.data(), b.data(), c.data(),
                    static_cast<const float*>(nullptr));
    CHECK(std::all_of(c.begin(), c.end(), [&](float x) { return t.is(x); }));
  };
  check.operator()<12, 16, 100>();
  check.operator()<12, 16, 512>();
  check.operator()<1, 8, 1000>();
  check.operator()<1, 1, 1500>();
}

TEST_CASE("sums of products: gradients of weights along images and pixels") {
  using enum conv_kernel;
  constexpr auto wgrad = conv_pass::wgrad;
  const conv_extents image{.c = 2, .h = 1000, .w = 1001, .k = 2, .r = 2, .s = 2},
      images{.n = 30000, .c = 2, .h = 3, .w = 3, .k = 2, .r = 2, .s = 2};
  check_conv<wgrad, direct>(image);
  check_conv<wgrad, direct>(images);
  check_conv<wgrad, indirect>({.c = 2, .h = 2000, .w = 300, .k = 2, .r = 2, .s = 2});
  check_conv<wgrad, indirect>(images);
  check_conv<wgrad, nhwc_direct>(image);
  check_conv<wgrad, nhwc_direct>(images);
  check_conv<wgrad, dense>({.n = 10000000, .c = 1, .k = 1});
  check_conv<wgrad, pointwise>({.n = 10, .c = 1, .h = 1000, .w = 1000, .k = 1});
  check_conv<wgrad, pointwise>({.c = 5, .h = 700, .w = 900, .k = 3});
  check_conv<wgrad, nhwc_pointwise>({.n = 10, .c = 2, .h = 100, .w = 300, .k = 9});
  constexpr index_t W = static_cast<index_t>(simd<float>::size);
  const conv_extents small{.n = 30000, .c = 8, .h = 5, .w = 5, .k = W, .r = 3, .s = 3};
  check_conv<wgrad, nhwc_trimmed>(small);
  check_conv<wgrad, via_nhwc>(small);
  const conv_extents planes{.n = 2, .c = 2, .h = 700, .w = 602, .k = 2, .r = 3, .s = 3, .groups = 2};
  check_conv<wgrad, depthwise>(planes);
  check_conv<wgrad, nhwc_depthwise>(planes);
  check_conv<wgrad, depthwise>({.n = 40000, .c = 1, .h = 5, .w = 6, .k = 1, .r = 3, .s = 4});
  if constexpr (W >= 8)
    check_conv<wgrad, narrow_groups>({.c = W, .h = 500, .w = 500, .k = W, .r = 3, .s = 3, .groups = W / 4});
}

TEST_CASE("sums of products: convolutions along channels and taps") {
  using enum conv_kernel;
  const auto check = []<conv_pass P>(std::integral_constant<conv_pass, P>, index_t channels) {
    conv_extents e{.c = 2, .h = 6, .w = 6, .k = 2, .r = 3, .s = 3};
    (P == conv_pass::fprop ? e.c : e.k) = channels;
    check_conv<P, direct>(e);
    check_conv<P, indirect>(e);
    check_conv<P, nhwc_direct>(e);
    check_conv<P, nhwc_trimmed>(e);
    e.r = e.s = 1;
    check_conv<P, pointwise>(e);
    check_conv<P, nhwc_pointwise>(e);
    check_conv<P, depthwise>({.c = 1, .h = 25, .w = 25, .k = 1, .r = 11, .s = 11});
    check_conv<P, nhwc_depthwise>({.c = 9, .h = 25, .w = 25, .k = 9, .r = 11, .s = 11, .groups = 9});
  };
  for (const index_t channels : {100, 700, 30000}) {
    check(std::integral_constant<conv_pass, conv_pass::fprop>{}, channels);
    check(std::integral_constant<conv_pass, conv_pass::dgrad>{}, channels);
  }
}
