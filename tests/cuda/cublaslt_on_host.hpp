// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// cuBLASLt on the host: the library's functions that need a device are those of this file. They do what descriptors and layouts
// say. The others are the library's own. For one file of a program.
#include <tapeless/core/bf16.hpp>
#include <tapeless/cuda/libs/check.hpp>

#include <cublasLt.h>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace cublaslt_on_host {

inline bool has_algorithm = true, has_epilogues = true;
inline int plans_made = 0, products_run = 0, epilogues_run = 0;
inline std::uint32_t reductions = 0, least_alignment = 0, least_alignment_of_bias = 0;

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
    return static_cast<double>(static_cast<float>(reinterpret_cast<const tapeless::bf16*>(data)[k]));
  }
};

template <class T> T described(cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t name) {
  T value{};
  REQUIRE(cublasLtMatmulDescGetAttribute(product, name, &value, sizeof value, nullptr) ==
          CUBLAS_STATUS_SUCCESS);
  return value;
}
// What the descriptor of a product says of what follows it.
struct described_epilogue {
  bool relu = false;
  const std::byte* bias = nullptr;
  explicit described_epilogue(cublasLtMatmulDesc_t product) {
    const auto e = described<std::uint32_t>(product, CUBLASLT_MATMUL_DESC_EPILOGUE);
    REQUIRE((e == CUBLASLT_EPILOGUE_DEFAULT || e == CUBLASLT_EPILOGUE_RELU || e == CUBLASLT_EPILOGUE_BIAS ||
             e == CUBLASLT_EPILOGUE_RELU_BIAS));
    relu = (e & CUBLASLT_EPILOGUE_RELU) != 0;
    if ((e & CUBLASLT_EPILOGUE_BIAS) == 0) return;
    bias = described<const std::byte*>(product, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
    REQUIRE(bias != nullptr);
    REQUIRE(described<std::int64_t>(product, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE) == 0);
    REQUIRE(described<std::int32_t>(product, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE) == -1); // that of D
  }
  // of an element in row i of D
  double operator()(double x, std::uint64_t i, bool wide) const {
    if (bias != nullptr)
      x = wide ? x + reinterpret_cast<const double*>(bias)[i]
               : static_cast<double>(static_cast<float>(x) + reinterpret_cast<const float*>(bias)[i]);
    return relu ? std::fmax(x, 0) : x; // 0 for a NaN, as users report
  }
};

} // namespace cublaslt_on_host

extern "C" {
cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  static char a_library;
  *handle = reinterpret_cast<cublasLtHandle_t>(&a_library);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t product,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t wanted, int asked,
                                              cublasLtMatmulHeuristicResult_t found[], int* count) {
  using namespace cublaslt_on_host;
  const auto get = [&](cublasLtMatmulPreferenceAttributes_t name, auto& value) {
    REQUIRE(cublasLtMatmulPreferenceGetAttribute(wanted, name, &value, sizeof value, nullptr) ==
            CUBLAS_STATUS_SUCCESS);
  };
  get(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions);
  get(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, least_alignment);
  const described_epilogue then(product);
  if (then.bias != nullptr) least_alignment_of_bias = tapeless::cuda::alignment_of(then.bias, 64);
  std::uint64_t room = 0;
  get(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, room);
  REQUIRE(asked == 1);
  found[0] = {};
  found[0].state = CUBLAS_STATUS_SUCCESS;
  found[0].workspaceSize = room < 1000 ? 0 : 1000;
  *count = has_algorithm ? 1 : 0;
  ++plans_made;
  if ((then.bias != nullptr || then.relu) && !has_epilogues) return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t product, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t of_a, const void* b,
                              cublasLtMatrixLayout_t of_b, const void* beta, const void* c,
                              cublasLtMatrixLayout_t of_c, void* d, cublasLtMatrixLayout_t of_d,
                              const cublasLtMatmulAlgo_t*, void*, size_t, cudaStream_t) {
  using namespace cublaslt_on_host;
  const matrix x(a, of_a), y(b, of_b), z(d, of_d);
  REQUIRE((c == d && of_c == of_d));
  const auto transposed = [&](cublasLtMatmulDescAttributes_t name) {
    return described<std::int32_t>(product, name) == CUBLAS_OP_T;
  };
  const described_epilogue then(product);
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
        sum = then(sum, i, wide);
        if (wide) static_cast<double*>(d)[at] = sum;
        else static_cast<float*>(d)[at] = static_cast<float>(sum);
      }
  ++products_run;
  if (then.bias != nullptr || then.relu) ++epilogues_run;
  return CUBLAS_STATUS_SUCCESS;
}
cudaError_t cudaMemsetAsync(void* p, int value, size_t n, cudaStream_t) {
  std::memset(p, value, n);
  return cudaSuccess;
}
}
