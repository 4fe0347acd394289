// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Products of a sparse matrix, line by line, with matrices of several columns, by cuSPARSE's generic API:
//   products   Y[i, :] = sum_p values[e] X[j, :]     cusparseSpMM, CSR_ALG3
//   samples    out[e] = <L[i, :], R[j, :]>           cusparseSDDMM
//   sparse_products products;
//   products.prepare<T>(way, e, nowhere)                                at bind: bytes of workspace
//   products.multiply(device, e, lines, values, x, y, workspace, stream)
//   products.sample(device, e, lines, l, r, out, workspace, stream)
// Where they say that there is no plan, kernels/sparse.hpp has kernels. What is relied on, of cuSPARSE's documentation
// (docs.nvidia.com/cuda/cusparse: cusparseSpMM() and cusparseSDDMM(), properties):
// - "deterministic (bit-wise) results for each run": of SpMM on CSR only CSR_ALG3, for opA not transposed; SDDMM;
// - both support asynchronous execution and CUDA graph capture, and unsorted columns;
// - the call that prepares for a pattern is optional: it is left out, for a pattern may change in place between runs;
// - offsets are as many as lines, and one more: ours begin behind the first. So a kernel writes them in each run;
// - what beta = 0 does with what is not a number in the result is not said: the result is set to 0 ahead.
// Some versions fail where pointers are aligned to less than 16 bytes (kokkos-kernels 1889, pytorch 175347), though nothing is
// said of that: these are for the kernels. compute-sanitizer may report races within SpMM, which by the documentation are none.
// One object serves one thread at a time.
#pragma once
#include <cuda_runtime_api.h>
#include <cusparse.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <type_traits>
#include "../base/block.hpp"
#include "../kernels/lines.hpp"
#include "../rtc/error.hpp"
#include "check.hpp"
#include "plan_cache.hpp"

namespace tapeless::cuda {

inline void check(cusparseStatus_t status, const char* op) {
  if (status != CUSPARSE_STATUS_SUCCESS)
    failed(op, "cuSPARSE", static_cast<int>(status), cusparseGetErrorName(status));
}

// Products of lines whose entries are in order, or not; samples.
enum class sparse_way { products, sorted_products, samples };

class sparse_products {
public:
  sparse_products() { check(cusparseCreate(handle_.put()), "sparse matmul"); }

  // Bytes of workspace; none, if there is no plan. nowhere: some memory of the device, which stands for all that a run brings.
  template <class T>
  std::optional<std::size_t> prepare(sparse_way way, const line_extents& e, void* nowhere) {
    const plan* const p = find<T>(way != sparse_way::samples, e, nowhere);
    if (p == nullptr) return std::nullopt;
    return bytes_of_offsets(e) + (way == sparse_way::sorted_products ? bytes_of_values<T>(e) : 0) + p->buffer;
  }
  // False, and nothing is done, if there is no plan that the workspace suffices for, or if something is aligned to less
  // than 16 bytes.
  template <class T, class Device>
  bool multiply(const Device& device, const line_extents& e, const sparse_lines& a, const T* values,
                const T* x, T* y, const workspace& scratch, cudaStream_t stream) {
    const std::size_t sorted = a.entry == nullptr ? 0 : bytes_of_values<T>(e);
    if (!(are_aligned(a.cross, x, y) && (sorted > 0 || are_aligned(values)))) return false;
    plan* const p = find<T>(true, e, y);
    if (p == nullptr || scratch.bytes < bytes_of_offsets(e) + sorted + p->buffer) return false;
    auto* const at = static_cast<std::byte*>(scratch.data);
    if (sorted > 0) {
      auto* const by_place = reinterpret_cast<T*>(at + bytes_of_offsets(e));
      const auto places = static_cast<count_t>(e.entries);
      device.launch(entries_by_place_kernel<T>{values, a.entry, by_place, places}, places);
      values = by_place;
    }
    begin(device, *p, a, values, at, stream);
    set(p->left, x);
    set(p->right, y);
    fill_with_zeros(y, static_cast<std::size_t>(e.lines * e.k) * sizeof(T), stream, "sparse matmul");
    const T one = 1;
    check(cusparseSpMM(handle_.get(), as_is, as_is, &one, p->a.get(), p->left.get(), &one, p->right.get(),
                       type<T>, CUSPARSE_SPMM_CSR_ALG3, at + bytes_of_offsets(e) + sorted),
          "sparse matmul");
    return true;
  }
  template <class T, class Device>
  bool sample(const Device& device, const line_extents& e, const sparse_lines& a, const T* l, const T* r,
              T* out, const workspace& scratch, cudaStream_t stream) {
    if (a.entry != nullptr || !are_aligned(a.cross, l, r, out)) return false;
    plan* const p = find<T>(false, e, out);
    if (p == nullptr || scratch.bytes < bytes_of_offsets(e) + p->buffer) return false;
    auto* const at = static_cast<std::byte*>(scratch.data);
    begin(device, *p, a, out, at, stream);
    set(p->left, l);
    set(p->right, r);
    fill_with_zeros(out, static_cast<std::size_t>(e.entries) * sizeof(T), stream, "sparse matmul");
    const T one = 1, zero = 0;
    check(cusparseSDDMM(handle_.get(), as_is, transposed, &one, p->left.get(), p->right.get(), &zero,
                        p->a.get(), type<T>, CUSPARSE_SDDMM_ALG_DEFAULT, at + bytes_of_offsets(e)),
          "sparse matmul");
    return true;
  }
  std::size_t plans() const { return plans_.size(); }
  void keep(std::size_t n) { plans_.keep(n); }

private:
  static constexpr cusparseOperation_t as_is = CUSPARSE_OPERATION_NON_TRANSPOSE,
                                       transposed = CUSPARSE_OPERATION_TRANSPOSE;
  template <class T>
    requires(std::is_same_v<T, float> || std::is_same_v<T, double>)
  static constexpr cudaDataType type = std::is_same_v<T, float> ? CUDA_R_32F : CUDA_R_64F;

  using dense = holder<cusparseDnMatDescr_t, cusparseDestroyDnMat>;
  struct plan {
    bool multiplies; // else it samples
    line_extents e;
    cudaDataType t;
    holder<cusparseSpMatDescr_t, cusparseDestroySpMat> a;
    dense left, right; // x and y; l and r
    std::size_t buffer = 0;
    bool possible = false;
    plan(bool m, const line_extents& of, cudaDataType type_of_values)
        : multiplies(m), e(of), t(type_of_values) {}
  };
  holder<cusparseHandle_t, cusparseDestroy> handle_;
  plan_cache<plan> plans_;

  template <class... P> static bool are_aligned(const P*... p) {
    return ((alignment_of(p, 16) == 16) && ...);
  }
  static constexpr std::size_t padded(index_t bytes) {
    return static_cast<std::size_t>((bytes + 255) / 256 * 256);
  }
  static constexpr std::size_t bytes_of_offsets(const line_extents& e) {
    return padded((e.lines + 1) * index_t{sizeof(count_t)});
  }
  template <class T> static constexpr std::size_t bytes_of_values(const line_extents& e) {
    return padded(e.entries * index_t{sizeof(T)});
  }
  // Offsets and columns are of 32 bits. Nothing to add is nothing for a library.
  static constexpr bool can_state(const line_extents& e) {
    constexpr index_t most = std::numeric_limits<std::int32_t>::max();
    return std::min({e.lines, e.crosses, e.entries, e.k}) > 0 &&
           std::max({e.lines, e.crosses, e.entries}) <= most &&
           e.entries <= e.lines * e.crosses; // of capacities there may be more
  }
  // The descriptors of descriptions that only differ in pointers are the same.
  template <class T> plan* find(bool multiplies, const line_extents& e, void* somewhere) {
    if (plan* const known = plans_.find(
            [&](const plan& p) { return p.multiplies == multiplies && p.e == e && p.t == type<T>; }))
      return known->possible ? known : nullptr;
    if (!can_state(e)) return nullptr;
    auto made = std::make_unique<plan>(multiplies, e, type<T>);
    plan& p = *made;
    check(cusparseCreateCsr(p.a.put(), e.lines, e.crosses, e.entries, somewhere, somewhere, somewhere,
                            CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, p.t),
          "sparse matmul");
    const auto make = [&](dense& d, index_t rows) {
      check(cusparseCreateDnMat(d.put(), rows, e.k, e.k, somewhere, p.t, CUSPARSE_ORDER_ROW),
            "sparse matmul");
    };
    make(p.left, multiplies ? e.crosses : e.lines);
    make(p.right, multiplies ? e.lines : e.crosses);
    const T one = 1, zero = 0;
    const cusparseStatus_t status =
        multiplies
            ? cusparseSpMM_bufferSize(handle_.get(), as_is, as_is, &one, p.a.get(), p.left.get(), &one,
                                      p.right.get(), p.t, CUSPARSE_SPMM_CSR_ALG3, &p.buffer)
            : cusparseSDDMM_bufferSize(handle_.get(), as_is, transposed, &one, p.left.get(), p.right.get(),
                                       &zero, p.a.get(), p.t, CUSPARSE_SDDMM_ALG_DEFAULT, &p.buffer);
    p.possible = status != CUSPARSE_STATUS_NOT_SUPPORTED;
    if (p.possible) check(status, "sparse matmul");
    plans_.add(std::move(made));
    return p.possible ? &p : nullptr;
  }
  template <class T> static void set(const dense& d, const T* values) {
    check(cusparseDnMatSetValues(d.get(), const_cast<T*>(values)), "sparse matmul");
  }
  // The matrix is that of this run.
  template <class T, class Device> void begin(const Device& device, const plan& p, const sparse_lines& a,
                                              const T* values, std::byte* offsets,
                                              cudaStream_t stream) const {
    check(cusparseSetStream(handle_.get(), stream), "sparse matmul");
    const auto lines = static_cast<count_t>(p.e.lines);
    device.launch(line_offsets_kernel{a, reinterpret_cast<count_t*>(offsets), lines}, lines + 1);
    check(cusparseCsrSetPointers(p.a.get(), offsets, const_cast<std::int32_t*>(a.cross),
                                 const_cast<T*>(values)),
          "sparse matmul");
  }
};

} // namespace tapeless::cuda
