// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// C[b] = op(A[b]) op(B[b]), see matmul_extents, by cuBLASLt. A plan is made once for each product: extents, types, epilogue,
// and how pointers are aligned. Sums are deterministic: partial sums, if any, are of the type of the sum and are added in order.
//   lt_products products(options);
//   products.prepare<T, X>(e)                                 at bind: bytes of workspace
//   products.run<T, X>(e, a, b, c, workspace, stream)
//   products.prepare<T, X>(e, has_bias, relu);  products.run<T, X>(e, a, b, c, workspace, stream, bias, relu)
// The last two have an epilogue: a bias of n numbers is added to each row of C, and then its relu is taken. Where they say that
// there is no plan, kernels/matmul.hpp has a kernel, without epilogues.
// One object serves one thread at a time.
#pragma once
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <type_traits>
#include "../../core/bf16.hpp"
#include "../../core/error.hpp"
#include "../../core/geometry.hpp"
#include "../rtc/error.hpp"
#include "check.hpp"
#include "options.hpp"
#include "plan_cache.hpp"

namespace tapeless::cuda {

inline void check(cublasStatus_t status, const char* op) {
  if (status != CUBLAS_STATUS_SUCCESS)
    failed(op, "cuBLASLt", static_cast<int>(status), cublasLtGetStatusName(status));
}

// Products of other types are the kernel's.
template <class X> inline constexpr bool lt_multiplies =
    std::is_same_v<X, float> || std::is_same_v<X, double> || std::is_same_v<X, bf16>;
template <class X>
  requires lt_multiplies<X>
inline constexpr cudaDataType_t library_type = std::is_same_v<X, float>    ? CUDA_R_32F
                                               : std::is_same_v<X, double> ? CUDA_R_64F
                                                                           : CUDA_R_16BF;

// Matrices of A that B serves all of are one matrix.
constexpr matmul_extents with_merged_batch(matmul_extents e) {
  if (e.batch != 1 && e.a_batched && !e.b_batched && !e.ta) {
    e.m *= e.batch;
    e.batch = 1;
    e.a_batched = false;
  }
  return e;
}

// The library counts the matrices of a batch in 32 bits.
constexpr bool lt_can_state(const matmul_extents& e) {
  return with_merged_batch(e).batch <= std::numeric_limits<std::int32_t>::max();
}

// Ahead of 12.8.4 the library adds no bias, or a wrong one, where m or n is 1.
constexpr bool lt_adds_bias(const matmul_extents& e, std::size_t version) {
  const matmul_extents one = with_merged_batch(e);
  return version >= 120804 || (one.m > 1 && one.n > 1);
}

class lt_products {
public:
  // Places in the arena and leaves of owned trees are aligned to 64 bytes, or more.
  static constexpr std::uint32_t most_aligned = 64;
  struct key {
    matmul_extents extents;
    cudaDataType_t result, operand;
    std::uint32_t align_a = most_aligned, align_b = most_aligned, align_c = most_aligned;
    std::uint32_t align_bias = 0; // 0: there is none
    bool relu = false;
    bool has_epilogue() const { return align_bias > 0 || relu; }
    bool operator==(const key&) const = default;
  };
  // Row-major C = op(A) op(B) is column-major C^T = op(B)^T op(A)^T: B is the library's first operand.
  struct plan {
    key k;
    holder<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy> product;
    holder<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy> a, b, c;
    cublasLtMatmulAlgo_t algorithm{};
    std::size_t workspace = 0, room = 0; // what it takes, and what it might have taken
    bool possible = false;               // there is an algorithm
    plan(const key& k, const options& may);
    void set_bias(const void* bias) const { describe(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias); }

  private:
    template <class V> void describe(cublasLtMatmulDescAttributes_t name, const V& value) const {
      check(
          cublasLtMatmulDescSetAttribute(product.get(), name, static_cast<const void*>(&value), sizeof value),
          "matmul");
    }
  };

  explicit lt_products(const options& may = {}) : may_(may) { check(cublasLtCreate(lt_.put()), "matmul"); }

  // Bytes of workspace; none, if there is no plan.
  template <class T, class X>
  std::optional<std::size_t> prepare(const matmul_extents& e, bool bias = false, bool relu = false) {
    if (e.batch == 0 || e.m == 0 || e.n == 0 || e.k == 0) return 0;
    key k{with_merged_batch(e), library_type<T>, library_type<X>};
    k.align_bias = bias ? most_aligned : 0;
    k.relu = relu;
    const plan* const p = find(k, may_.matmul_workspace);
    if (p == nullptr) return std::nullopt;
    return p->workspace;
  }
  // False, and nothing is done, if there is no plan that the workspace suffices for. bias: nullptr, or n numbers
  template <class T, class X>
  bool run(const matmul_extents& e, const X* a, const X* b, T* c, const workspace& scratch,
           cudaStream_t stream, const T* bias = nullptr, bool relu = false) {
    if (e.batch == 0 || e.m == 0 || e.n == 0) return true;
    if (e.k == 0) {
      if (bias != nullptr) return false;
      fill_with_zeros(c, static_cast<std::size_t>(e.batch * e.m * e.n) * sizeof(T), stream, "matmul");
      return true;
    }
    const plan* const p =
        find({with_merged_batch(e), library_type<T>, library_type<X>, alignment_of(a, most_aligned),
              alignment_of(b, most_aligned), alignment_of(c, most_aligned),
              bias == nullptr ? 0 : alignment_of(bias, most_aligned), relu},
             scratch.bytes);
    if (p == nullptr) return false;
    if (bias != nullptr) p->set_bias(bias);
    using scale = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const scale one = 1, zero = 0;
    check(cublasLtMatmul(lt_.get(), p->product.get(), &one, b, p->b.get(), a, p->a.get(), &zero, c,
                         p->c.get(), c, p->c.get(), &p->algorithm, scratch.data, p->workspace, stream),
          "matmul");
    return true;
  }
  // Plans so far, of which keep(n) leaves n, see plan_cache.
  std::size_t plans() const { return plans_.size(); }
  void keep(std::size_t n) { plans_.keep(n); }

private:
  holder<cublasLtHandle_t, cublasLtDestroy> lt_;
  options may_;
  plan_cache<plan> plans_;

  // The plan, which takes at most `room` bytes; nullptr: there is none.
  const plan* find(const key& k, std::size_t room) {
    room = std::min(room, may_.matmul_workspace);
    if (const plan* const known = plans_.find(
            [&](const plan& p) { return p.k == k && (p.possible ? p.workspace <= room : p.room >= room); }))
      return known->possible ? known : nullptr;
    if (!lt_can_state(k.extents) || (k.relu && !may_.fused_relu) ||
        (k.align_bias > 0 && !lt_adds_bias(k.extents, cublasLtGetVersion())))
      return nullptr;
    auto made = std::make_unique<plan>(k, may_);
    choose(*made, room);
    const plan& kept = plans_.add(std::move(made));
    return kept.possible ? &kept : nullptr;
  }
  void choose(plan& p, std::size_t room) const {
    holder<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy> wanted;
    check(cublasLtMatmulPreferenceCreate(wanted.put()), "matmul");
    const auto want = [&](cublasLtMatmulPreferenceAttributes_t name, const auto& value) {
      check(cublasLtMatmulPreferenceSetAttribute(wanted.get(), name, &value, sizeof value), "matmul");
    };
    want(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{room});
    want(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
    want(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, p.k.align_b);
    want(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, p.k.align_a);
    want(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, p.k.align_c);
    want(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, p.k.align_c);
    cublasLtMatmulHeuristicResult_t best{};
    int found = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(lt_.get(), p.product.get(), p.b.get(), p.a.get(), p.c.get(), p.c.get(),
                                       wanted.get(), 1, &best, &found);
    if (status != CUBLAS_STATUS_NOT_SUPPORTED && !p.k.has_epilogue()) check(status, "matmul");
    p.room = room;
    p.possible = status == CUBLAS_STATUS_SUCCESS && found > 0 && best.state == CUBLAS_STATUS_SUCCESS;
    p.algorithm = best.algo;
    p.workspace = best.workspaceSize;
  }
};

inline lt_products::plan::plan(const key& of, const options& may) : k(of) {
  const matmul_extents& e = k.extents;
  const bool wide = k.operand == CUDA_R_64F, tf32 = may.tf32 && k.operand == CUDA_R_32F;
  check(cublasLtMatmulDescCreate(product.put(),
                                 wide   ? CUBLAS_COMPUTE_64F
                                 : tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                        : CUBLAS_COMPUTE_32F,
                                 wide ? CUDA_R_64F : CUDA_R_32F),
        "matmul");
  describe(CUBLASLT_MATMUL_DESC_TRANSA, e.tb ? CUBLAS_OP_T : CUBLAS_OP_N);
  describe(CUBLASLT_MATMUL_DESC_TRANSB, e.ta ? CUBLAS_OP_T : CUBLAS_OP_N);
  if (k.has_epilogue()) // a row of C is a column of what the library computes: it adds a bias to columns
    describe(CUBLASLT_MATMUL_DESC_EPILOGUE, k.align_bias == 0 ? CUBLASLT_EPILOGUE_RELU
                                            : k.relu          ? CUBLASLT_EPILOGUE_RELU_BIAS
                                                              : CUBLASLT_EPILOGUE_BIAS);
  // From the pointer the library sees how it will be aligned.
  if (k.align_bias > 0) set_bias(reinterpret_cast<const void*>(std::uintptr_t{k.align_bias}));
  // rows: of the column-major matrix, which lie side by side
  const auto layout = [&](auto& l, cudaDataType_t type, std::int64_t rows, std::int64_t columns,
                          bool batched) {
    check(cublasLtMatrixLayoutCreate(l.put(), type, static_cast<std::uint64_t>(rows),
                                     static_cast<std::uint64_t>(columns), rows),
          "matmul");
    const auto set = [&](cublasLtMatrixLayoutAttribute_t name, const auto& value) {
      check(cublasLtMatrixLayoutSetAttribute(l.get(), name, &value, sizeof value), "matmul");
    };
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(e.batch));
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, batched ? rows * columns : std::int64_t{0});
  };
  layout(a, k.operand, e.ta ? e.m : e.k, e.ta ? e.k : e.m, e.a_batched);
  layout(b, k.operand, e.tb ? e.k : e.n, e.tb ? e.n : e.k, e.b_batched);
  layout(c, k.result, e.n, e.m, e.batch != 1);
}

} // namespace tapeless::cuda
