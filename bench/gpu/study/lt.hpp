// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// cublasLt products in column-major order: C(m x n) = op(A) op(B), fp32, deterministic reductions only.
#pragma once
#include "common.hpp"
#include <cublasLt.h>
struct lt_problem {
  int m, n, k;
  bool ta, tb;
  int lda, ldb, ldc;
  const float *A, *B;
  float* C;
};
class lt_products {
  cublasLtHandle_t lt_ = nullptr;
  void* workspace_ = nullptr;
  static constexpr std::size_t bytes_ = 64u << 20;

public:
  explicit lt_products(cudaStream_t) {
    if (cublasLtCreate(&lt_) != CUBLAS_STATUS_SUCCESS)
      line("error").put("call", "cublasLtCreate"), lt_ = nullptr;
    GPU_OK(cudaMalloc(&workspace_, bytes_));
  }
  // f(k, name, run(stream)) for the first `most` algorithms of the heuristics
  template <class F> void each(const lt_problem& p, int most, F&& f) {
    if (lt_ == nullptr) return;
    cublasLtMatmulDesc_t d;
    cublasLtMatrixLayout_t a, b, c;
    cublasLtMatmulPreference_t pref;
    bool ok = cublasLtMatmulDescCreate(&d, CUBLAS_COMPUTE_32F, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS;
    const cublasOperation_t ta = p.ta ? CUBLAS_OP_T : CUBLAS_OP_N, tb = p.tb ? CUBLAS_OP_T : CUBLAS_OP_N;
    const auto u = [](int v) { return static_cast<std::uint64_t>(v); };
    ok = ok && cublasLtMatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_TRANSA, &ta, sizeof ta) ==
                   CUBLAS_STATUS_SUCCESS;
    ok = ok && cublasLtMatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_TRANSB, &tb, sizeof tb) ==
                   CUBLAS_STATUS_SUCCESS;
    ok = ok && cublasLtMatrixLayoutCreate(&a, CUDA_R_32F, u(p.ta ? p.k : p.m), u(p.ta ? p.m : p.k), p.lda) ==
                   CUBLAS_STATUS_SUCCESS;
    ok = ok && cublasLtMatrixLayoutCreate(&b, CUDA_R_32F, u(p.tb ? p.n : p.k), u(p.tb ? p.k : p.n), p.ldb) ==
                   CUBLAS_STATUS_SUCCESS;
    ok = ok && cublasLtMatrixLayoutCreate(&c, CUDA_R_32F, u(p.m), u(p.n), p.ldc) == CUBLAS_STATUS_SUCCESS;
    ok = ok && cublasLtMatmulPreferenceCreate(&pref) == CUBLAS_STATUS_SUCCESS;
    const std::uint32_t schemes =
        CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
    ok = ok && cublasLtMatmulPreferenceSetAttribute(pref, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes_,
                                                    sizeof bytes_) == CUBLAS_STATUS_SUCCESS;
    ok = ok && cublasLtMatmulPreferenceSetAttribute(pref, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                                    &schemes, sizeof schemes) == CUBLAS_STATUS_SUCCESS;
    cublasLtMatmulHeuristicResult_t found[16];
    int many = 0;
    const cublasStatus_t e =
        ok ? cublasLtMatmulAlgoGetHeuristic(lt_, d, a, b, c, c, pref, most < 16 ? most : 16, found, &many)
           : CUBLAS_STATUS_NOT_INITIALIZED;
    if (e != CUBLAS_STATUS_SUCCESS) {
      line("error").put("call", "cublasLt heuristics").put("error", cublasLtGetStatusName(e));
      return;
    }
    for (int k = 0; k < many; ++k) {
      std::uint32_t split = 0, scheme = 0, tile = 0;
      std::size_t n = 0;
      cublasLtMatmulAlgoConfigGetAttribute(&found[k].algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &split,
                                           sizeof split, &n);
      cublasLtMatmulAlgoConfigGetAttribute(&found[k].algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &scheme,
                                           sizeof scheme, &n);
      cublasLtMatmulAlgoConfigGetAttribute(&found[k].algo, CUBLASLT_ALGO_CONFIG_TILE_ID, &tile, sizeof tile,
                                           &n);
      const std::string name = "number " + std::to_string(k) + " tile " + std::to_string(tile) + " split " +
                               std::to_string(split) + " scheme " + std::to_string(scheme);
      const float one = 1, zero = 0;
      cublasStatus_t last = CUBLAS_STATUS_SUCCESS;
      const auto run = [&](cudaStream_t s) {
        const cublasStatus_t r = cublasLtMatmul(lt_, d, &one, p.A, a, p.B, b, &zero, p.C, c, p.C, c,
                                                &found[k].algo, workspace_, bytes_, s);
        if (r != CUBLAS_STATUS_SUCCESS) last = r;
      };
      run(cudaStream_t(nullptr));
      GPU_OK(cudaDeviceSynchronize());
      if (last != CUBLAS_STATUS_SUCCESS) continue;
      f(k, name, run);
    }
    cublasLtMatmulDescDestroy(d);
    cublasLtMatrixLayoutDestroy(a);
    cublasLtMatrixLayoutDestroy(b);
    cublasLtMatrixLayoutDestroy(c);
    cublasLtMatmulPreferenceDestroy(pref);
  }
};
