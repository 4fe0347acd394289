// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// lt_products tells cuBLASLt the product that is meant. The library's functions that need a device are those of this file:
// they do, on the host, what descriptors and layouts say. The others are the library's own.
#include <tapeless/cuda/emulated.hpp>
#include <tapeless/cuda/libs/libraries.hpp>

#include <support/random.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace tl = tapeless;
using namespace tapeless::cuda;
using tapeless::matmul_extents;

namespace {

bool has_algorithm = true;
int plans_made = 0, products_run = 0;
std::uint32_t reductions = 0, least_alignment = 0;

struct matrix {
  const std::byte* data;
  cudaDataType_t type{};
  std::uint64_t rows = 0, columns = 0;
  std::int64_t next = 0, next_matrix = 0;
  std::int32_t matrices = 0;
  matrix(const void* p, cublasLtMatrixLayout_t l) : data(static_cast<const std::byte*>(p)) {
    const auto get = [&](cublasLtMatrixLayoutAttribute_t name, auto& value) {
      REQUIRE(cublasLtMatrixLayoutGetAttribute(l, name, &value, sizeof value, nullptr) ==
              CUBLAS_STATUS_SUCCESS);
    };
    std::uint32_t t = 0;
    get(CUBLASLT_MATRIX_LAYOUT_TYPE, t);
    type = static_cast<cudaDataType_t>(t);
    get(CUBLASLT_MATRIX_LAYOUT_ROWS, rows);
    get(CUBLASLT_MATRIX_LAYOUT_COLS, columns);
    get(CUBLASLT_MATRIX_LAYOUT_LD, next);
    get(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, next_matrix);
    get(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, matrices);
    REQUIRE(next >= static_cast<std::int64_t>(rows));
  }
  std::int64_t place(std::int64_t s, std::uint64_t i, std::uint64_t j) const {
    if (i >= rows || j >= columns) FAIL("outside of a matrix");
    return s * next_matrix + static_cast<std::int64_t>(j) * next + static_cast<std::int64_t>(i);
  }
  double at(std::int64_t s, std::uint64_t i, std::uint64_t j) const {
    const std::int64_t k = place(s, i, j);
    if (type == CUDA_R_64F) return reinterpret_cast<const double*>(data)[k];
    if (type == CUDA_R_32F) return static_cast<double>(reinterpret_cast<const float*>(data)[k]);
    REQUIRE(type == CUDA_R_16BF);
    return static_cast<double>(static_cast<float>(reinterpret_cast<const tl::bf16*>(data)[k]));
  }
};

} // namespace

extern "C" {
cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  static char a_library;
  *handle = reinterpret_cast<cublasLtHandle_t>(&a_library);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatmulPreference_t wanted,
                                              int asked, cublasLtMatmulHeuristicResult_t found[],
                                              int* count) {
  const auto get = [&](cublasLtMatmulPreferenceAttributes_t name, auto& value) {
    REQUIRE(cublasLtMatmulPreferenceGetAttribute(wanted, name, &value, sizeof value, nullptr) ==
            CUBLAS_STATUS_SUCCESS);
  };
  get(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions);
  get(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, least_alignment);
  std::uint64_t room = 0;
  get(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, room);
  REQUIRE(asked == 1);
  found[0] = {};
  found[0].state = CUBLAS_STATUS_SUCCESS;
  found[0].workspaceSize = room < 1000 ? 0 : 1000;
  *count = has_algorithm ? 1 : 0;
  ++plans_made;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t product, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t of_a, const void* b,
                              cublasLtMatrixLayout_t of_b, const void* beta, const void* c,
                              cublasLtMatrixLayout_t of_c, void* d, cublasLtMatrixLayout_t of_d,
                              const cublasLtMatmulAlgo_t*, void*, size_t, cudaStream_t) {
  const matrix x(a, of_a), y(b, of_b), z(d, of_d);
  REQUIRE((c == d && of_c == of_d));
  const auto transposed = [&](cublasLtMatmulDescAttributes_t name) {
    std::int32_t o = 0;
    REQUIRE(cublasLtMatmulDescGetAttribute(product, name, &o, sizeof o, nullptr) == CUBLAS_STATUS_SUCCESS);
    return o == CUBLAS_OP_T;
  };
  const bool tx = transposed(CUBLASLT_MATMUL_DESC_TRANSA), ty = transposed(CUBLASLT_MATMUL_DESC_TRANSB);
  const bool wide = z.type == CUDA_R_64F;
  const auto scale = [&](const void* p) {
    return wide ? *static_cast<const double*>(p) : static_cast<double>(*static_cast<const float*>(p));
  };
  REQUIRE((scale(alpha) == 1 && scale(beta) == 0));
  REQUIRE((x.matrices == z.matrices && y.matrices == z.matrices));
  const std::uint64_t terms = tx ? x.rows : x.columns;
  REQUIRE((terms == (ty ? y.columns : y.rows)));
  for (std::int32_t s = 0; s < z.matrices; ++s)
    for (std::uint64_t j = 0; j < z.columns; ++j)
      for (std::uint64_t i = 0; i < z.rows; ++i) {
        double sum = 0;
        for (std::uint64_t k = 0; k < terms; ++k)
          sum += (tx ? x.at(s, k, i) : x.at(s, i, k)) * (ty ? y.at(s, j, k) : y.at(s, k, j));
        const std::int64_t at = z.place(s, i, j);
        if (wide) static_cast<double*>(d)[at] = sum;
        else static_cast<float*>(d)[at] = static_cast<float>(sum);
      }
  ++products_run;
  return CUBLAS_STATUS_SUCCESS;
}
cudaError_t cudaMemsetAsync(void* p, int value, size_t n, cudaStream_t) {
  std::memset(p, value, n);
  return cudaSuccess;
}
}

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
