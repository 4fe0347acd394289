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
