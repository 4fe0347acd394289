// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// lt_products tells cuBLASLt the product that is meant.
#include "cublaslt_on_host.hpp"
#include <tapeless/cuda/emulated.hpp>
#include <tapeless/cuda/libs/libraries.hpp>

#include <support/random.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace tl = tapeless;
using namespace tapeless::cuda;
using tapeless::matmul_extents;

using namespace cublaslt_on_host;

namespace {

template <class X> std::vector<X> operand(std::int64_t n, std::uint64_t seed) {
  std::vector<X> x;
  x.reserve(static_cast<std::size_t>(n) + 1); // no null pointer
  using number = std::conditional_t<std::is_same_v<X, double>, double, float>;
  for (const double v : support::random_values<double>(static_cast<std::size_t>(n), seed))
    x.push_back(X(static_cast<number>(v)));
  return x;
}
template <class T, class X> double difference(lt_products& products, const matmul_extents& e) {
  const auto a = operand<X>((e.a_batched ? e.batch : 1) * e.m * e.k, 1),
             b = operand<X>((e.b_batched ? e.batch : 1) * e.k * e.n, 2);
  std::vector<T> c(static_cast<std::size_t>(e.batch * e.m * e.n), T(3)), expected = c;
  std::vector<char> scratch(products.prepare<T, X>(e).value());
  REQUIRE(products.run<T, X>(e, a.data(), b.data(), c.data(), {scratch.data(), scratch.size()}, nullptr));
  emulated_device{}.matmul<T, X>(e, a.data(), b.data(), expected.data());
  double most = 0;
  for (std::size_t i = 0; i < c.size(); ++i)
    most = std::fmax(most, std::abs(static_cast<double>(c[i]) - static_cast<double>(expected[i])));
  return most;
}

} // namespace

TEST_CASE("cuBLASLt is told the product of the kernel: transposes, batches, shared operands, no terms") {
  lt_products products;
  products_run = 0;
  int cases = 0;
  for (const int transposed : {0, 1, 2, 3})
    for (const int batched : {0, 1, 2, 3})
      for (const std::int64_t k : {0, 1, 9}) {
        const matmul_extents e{.batch = batched == 0 ? 1 : 3,
                               .m = 4,
                               .n = 5,
                               .k = k,
                               .ta = (transposed & 1) != 0,
                               .tb = (transposed & 2) != 0,
                               .a_batched = (batched & 1) != 0,
                               .b_batched = (batched & 2) != 0};
        CHECK(difference<float, float>(products, e) <= 1e-5);
        CHECK(difference<double, double>(products, e) <= 1e-14);
        CHECK(difference<float, tl::bf16>(products, e) <= 1e-5);
        cases += k > 0 ? 3 : 0;
      }
  CHECK(products_run == cases);
}
TEST_CASE("cuBLASLt: nothing is run for a product without elements") {
  lt_products products;
  products_run = 0;
  for (const matmul_extents& e : {matmul_extents{.batch = 0, .m = 2, .n = 2, .k = 2},
                                  matmul_extents{.n = 2, .k = 2}, matmul_extents{.m = 2, .k = 2}}) {
    CHECK(products.prepare<float, float>(e) == 0);
    CHECK(products.run<float, float>(e, nullptr, nullptr, nullptr, {}, nullptr));
  }
  CHECK(products_run == 0);
}
TEST_CASE("cuBLASLt: a plan is made once for equal products; partial sums are of the type of the sum") {
  lt_products products;
  const matmul_extents e{.m = 4, .n = 5, .k = 9};
  alignas(256) static float a[64], b[64], c[64];
  std::vector<char> scratch(products.prepare<float, float>(e).value());
  CHECK(scratch.size() == 1000);
  plans_made = 0;
  const auto run = [&](const float* at) {
    CHECK(products.run<float, float>(e, a, at, c, {scratch.data(), scratch.size()}, nullptr));
    return plans_made;
  };
  CHECK(run(b) == 0);
  CHECK(run(b + 1) == 1);      // less aligned
  CHECK(least_alignment == 4); // b is the library's first operand
  CHECK(run(b + 3) == 1);
  CHECK(run(b) == 1);
  CHECK(reductions == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
  scratch.clear(); // a plan that needs less
  CHECK(run(b) == 2);
  CHECK(run(b) == 2);
}
TEST_CASE("cuBLASLt: where it has no algorithm, nothing is run, and it is asked once") {
  lt_products products;
  has_algorithm = false;
  plans_made = products_run = 0;
  const matmul_extents e{.m = 4, .n = 5, .k = 9}, too_many{.batch = 1ll << 31, .m = 1, .n = 1, .k = 1};
  float x = 0;
  for (int k = 0; k < 2; ++k) {
    CHECK_FALSE(products.prepare<float, float>(e));
    CHECK_FALSE(products.prepare<float, float>(too_many));
    CHECK_FALSE(products.run<float, float>(too_many, &x, &x, &x, {}, nullptr));
  }
  CHECK((plans_made == 1 && products_run == 0));
  has_algorithm = true;
}

// A program whose products are the library's, and all else kernels on the host
namespace {

struct device_with_libraries : emulated_device {
  libraries* of = nullptr;
  bool* plans = nullptr;
  int* by_kernels = nullptr;
  std::vector<char>* scratch = nullptr;
  template <class Kernel> void launch(const Kernel& k, count_t members, int lanes = 1) const {
    if (!*plans) emulated_device::launch(k, members, lanes);
  }
  template <class T, class X> void matmul(const matmul_extents& e, const X* a, const X* b, T* c) const {
    if (*plans) return of->plan_product<T, X>(e);
    if (of->multiply<T, X>(e, a, b, c, {scratch->data(), scratch->size()}, nullptr)) return;
    ++*by_kernels;
    multiply(*this, e, a, b, c);
  }
};

} // namespace
TEST_CASE("libraries: plans at bind, then products; those of integers are the kernel's") {
  libraries of;
  bool plans = true;
  int by_kernels = 0;
  std::vector<char> scratch;
  device_with_libraries device;
  device.of = &of;
  device.plans = &plans;
  device.by_kernels = &by_kernels;
  device.scratch = &scratch;
  const matmul_extents e{.m = 4, .n = 5, .k = 9};
  const std::vector<float> a(36, 2.0f), b(45, 3.0f);
  const std::vector<std::int32_t> i(45, 2);
  std::vector<float> c(20);
  std::vector<std::int32_t> j(20);
  const auto step = [&] {
    device.matmul(e, a.data(), b.data(), c.data());
    device.matmul(e, i.data(), i.data(), j.data());
  };
  CHECK(of.need() == 0);
  step();
  CHECK(of.need() == 1000);
  CHECK(c == std::vector<float>(20, 0.0f));
  scratch.resize(of.need());
  plans = false;
  products_run = 0;
  step();
  CHECK(c == std::vector<float>(20, 54.0f));
  CHECK(j == std::vector<std::int32_t>(20, 36));
  CHECK((products_run == 1 && by_kernels == 1));
}

// ---- Products with a bias, a relu, or both behind them
namespace {

// Ahead of 12.8.4 a bias is left out where m or n is 1. A batch that shares B is one product.
static_assert(lt_adds_bias({.m = 2, .n = 2}, 120803) && !lt_adds_bias({.m = 1, .n = 2}, 120803) &&
              !lt_adds_bias({.m = 2, .n = 1}, 120803) && lt_adds_bias({.m = 1, .n = 1}, 120804));
static_assert(lt_adds_bias({.batch = 3, .m = 1, .n = 2, .b_batched = false}, 120803) &&
              !lt_adds_bias({.batch = 3, .m = 1, .n = 2}, 120803));

template <class T, class X>
double difference_behind(lt_products& products, const matmul_extents& e, bool has_bias, bool relu) {
  const auto a = operand<X>((e.a_batched ? e.batch : 1) * e.m * e.k, 1),
             b = operand<X>((e.b_batched ? e.batch : 1) * e.k * e.n, 2);
  const auto bias = operand<T>(e.n, 3);
  std::vector<T> c(static_cast<std::size_t>(e.batch * e.m * e.n), T(3)), expected = c;
  std::vector<char> scratch(products.prepare<T, X>(e, has_bias, relu).value());
  REQUIRE(products.run<T, X>(e, a.data(), b.data(), c.data(), {scratch.data(), scratch.size()}, nullptr,
                             has_bias ? bias.data() : nullptr, relu));
  emulated_device{}.matmul<T, X>(e, a.data(), b.data(), expected.data());
  double most = 0;
  for (std::size_t i = 0; i < c.size(); ++i) {
    double y = static_cast<double>(expected[i]) + (has_bias ? static_cast<double>(bias[i % bias.size()]) : 0);
    if (relu && y < 0) y = 0;
    most = std::fmax(most, std::abs(static_cast<double>(c[i]) - y));
  }
  return most;
}

} // namespace
TEST_CASE("cuBLASLt is told the bias of the columns and the relu") {
  lt_products products({.fused_relu = true});
  epilogues_run = 0;
  int cases = 0;
  for (const int transposed : {0, 1, 2, 3})
    for (const int batched : {0, 1, 2, 3})
      for (const int behind : {1, 2, 3})
        for (const std::int64_t m : {1, 4}) {
          const matmul_extents e{.batch = batched == 0 ? 1 : 3,
                                 .m = m,
                                 .n = 5,
                                 .k = 9,
                                 .ta = (transposed & 1) != 0,
                                 .tb = (transposed & 2) != 0,
                                 .a_batched = (batched & 1) != 0,
                                 .b_batched = (batched & 2) != 0};
          const bool bias = (behind & 1) != 0, relu = (behind & 2) != 0;
          CHECK(difference_behind<float, float>(products, e, bias, relu) <= 1e-5);
          CHECK(difference_behind<double, double>(products, e, bias, relu) <= 1e-14);
          CHECK(difference_behind<float, tl::bf16>(products, e, bias, relu) <= 1e-5);
          cases += 3;
        }
  CHECK(epilogues_run == cases);
}
TEST_CASE("cuBLASLt: a product of no terms has no bias; no relu that is not asked for") {
  lt_products products;
  std::vector<float> a(8, 1.0f), b(8, 1.0f), c(4, 3.0f), bias(2, 1.0f);
  const matmul_extents e{.m = 2, .n = 2, .k = 2}, no_terms{.m = 2, .n = 2, .k = 0};
  products_run = 0;
  const auto run = [&](const matmul_extents& of, const float* with, bool relu) {
    return products.run<float, float>(of, a.data(), b.data(), c.data(), {}, nullptr, with, relu);
  };
  CHECK(products.prepare<float, float>(no_terms, true) == 0u);
  CHECK_FALSE(run(no_terms, bias.data(), false));
  CHECK_FALSE(products.prepare<float, float>(e, false, true));
  CHECK_FALSE(products.prepare<float, float>(e, true, true));
  CHECK_FALSE(run(e, nullptr, true));
  CHECK_FALSE(run(e, bias.data(), true));
  CHECK((products_run == 0 && c == std::vector<float>(4, 3.0f)));
  CHECK(run(no_terms, nullptr, true)); // the relu of zeros
  CHECK(c == std::vector<float>(4, 0.0f));
  CHECK(run(e, bias.data(), false));
  CHECK((products_run == 1 && c == std::vector<float>(4, 3.0f)));
}
TEST_CASE("cuBLASLt: plans are kept by what is behind the product, and how the bias is aligned") {
  lt_products products({.fused_relu = true});
  const matmul_extents e{.m = 4, .n = 5, .k = 9};
  alignas(256) static float a[64], b[64], c[64], bias[64];
  for (const bool relu : {false, true})
    for (const bool has : {false, true}) products.prepare<float, float>(e, has, relu);
  plans_made = 0;
  const auto run = [&](const float* with, bool relu) {
    std::vector<char> scratch(1000);
    CHECK(products.run<float, float>(e, a, b, c, {scratch.data(), 1000}, nullptr, with, relu));
    return plans_made;
  };
  bias[0] = 1;
  bias[1] = -2;
  CHECK(run(nullptr, false) == 0);
  CHECK((run(bias, false) == 0 && c[0] == 1 && c[1] == -2));
  CHECK((run(bias, true) == 0 && c[0] == 1 && c[1] == 0));
  CHECK((run(nullptr, true) == 0 && c[0] == 0));
  CHECK((run(bias + 1, false) == 1 && c[0] == -2)); // less aligned
  CHECK(least_alignment_of_bias == 4);
  CHECK((run(bias + 3, false) == 1 && c[0] == 0));
  CHECK((run(bias, false) == 1 && c[0] == 1));
}
TEST_CASE("cuBLASLt: where it has no algorithm for an epilogue, nothing is run, and it is asked once") {
  lt_products products;
  has_epilogues = false;
  plans_made = products_run = 0;
  const matmul_extents e{.m = 4, .n = 5, .k = 9};
  alignas(64) float x[64]{};
  for (int k = 0; k < 2; ++k) {
    CHECK_FALSE(products.prepare<float, float>(e, true));
    CHECK_FALSE(products.run<float, float>(e, x, x, x, {}, nullptr, x));
  }
  CHECK((plans_made == 1 && products_run == 0));
  has_epilogues = true;
}
TEST_CASE("libraries: of many plans those of other extents go that were not used last") {
  libraries of;
  const std::vector<float> a(200, 2.0f), b(5, 3.0f);
  std::vector<float> c(1000);
  const auto makes_a_plan = [&](std::int64_t m) {
    plans_made = 0;
    CHECK(of.multiply<float, float>({.m = m, .n = 5, .k = 1}, a.data(), b.data(), c.data(), {}, nullptr));
    return plans_made == 1;
  };
  of.plan_product<float, float>({.m = 1, .n = 5, .k = 1});
  std::int64_t m = 1;
  while (!of.has_many_plans() && m < 200) CHECK(makes_a_plan(++m));
  CHECK((m > 50 && m < 100));
  for (std::int64_t k = 2; k <= m; ++k) CHECK_FALSE(makes_a_plan(k)); // none has gone yet
  of.keep_recent();
  CHECK_FALSE(of.has_many_plans());
  CHECK_FALSE(makes_a_plan(m));
  CHECK(makes_a_plan(m - 1));
}
