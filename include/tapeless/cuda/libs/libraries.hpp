// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The libraries of a device. Each is begun when a program first needs it.
//   libraries.plan_product<T, X>(e, has_bias, relu);                               at bind, for each step
//   libraries.plan_convolution<X>(pass, e);                                        likewise
//   libraries.plan_line_products<T>(e, lines, nowhere);  libraries.plan_line_samples<T>(e, nowhere);
//   workspace scratch = ...;                                                       of libraries.need() bytes, for all of them
//   libraries.multiply<T, X>(e, a, b, c, scratch, stream, bias, relu)              false: nothing is done, a kernel has to
//   libraries.convolve<Pass>(device, e, first, second, result, scratch, stream)    likewise
//   libraries.line_products(device, e, lines, values, x, y, scratch, stream)       likewise
//   libraries.line_samples(device, e, rows, l, r, out, scratch, stream)            likewise
// After the plans are made these do not wait. One object serves one thread at a time.
#pragma once
#include <cuda_runtime_api.h>
#include <algorithm>
#include <cstddef>
#include <optional>
#include "../../core/geometry.hpp"
#include "../kernels/conv.hpp"
#include "../kernels/lines.hpp"
#include "check.hpp"
#include "cublaslt.hpp"
#include "options.hpp"
#if TAPELESS_CUDNN
#include "cudnn_conv.hpp"
#endif
#if TAPELESS_CUSPARSE
#include "cusparse.hpp"
#endif

namespace tapeless::cuda {

class libraries {
  options may_;
  std::optional<lt_products> products_;
#if TAPELESS_CUDNN
  std::optional<cudnn_convolutions> convolutions_;
  cudnn_convolutions& convolutions() { return convolutions_ ? *convolutions_ : convolutions_.emplace(may_); }
#endif
#if TAPELESS_CUSPARSE
  std::optional<sparse_products> sparse_;
  sparse_products& sparse() { return sparse_ ? *sparse_ : sparse_.emplace(); }
  template <class T> void plan_sparse(sparse_way way, const line_extents& e, void* nowhere) {
    if (!may_.own_sparse) note_need(sparse().prepare<T>(way, e, nowhere));
  }
#endif
  std::size_t need_ = 0, plans_of_bind_ = 0;
  lt_products& products() { return products_ ? *products_ : products_.emplace(may_); }

public:
  explicit libraries(const options& may = {}) : may_(may) {}
  std::size_t need() const { return need_; }
  // Extents that change from run to run have made more plans than graphs of a program could use. keep_recent() leaves as many as
  // bind has made, those used last: nothing of them runs, and no graph has them.
  bool has_many_plans() const { return plans() > 64 + 8 * plans_of_bind_; }
  void keep_recent() {
    if (products_) products_->keep(plans_of_bind_);
#if TAPELESS_CUDNN
    if (convolutions_) convolutions_->keep(plans_of_bind_);
#endif
#if TAPELESS_CUSPARSE
    if (sparse_) sparse_->keep(plans_of_bind_);
#endif
  }

  template <class T, class X>
  void plan_product(const matmul_extents& e, bool has_bias = false, bool relu = false) {
    if constexpr (lt_multiplies<X>) note_need(products().prepare<T, X>(e, has_bias, relu));
  }
  template <class X> void plan_convolution([[maybe_unused]] conv_pass pass,
                                           [[maybe_unused]] const conv_extents& e) {
#if TAPELESS_CUDNN
    note_need(convolutions().prepare<X>(pass, e));
#endif
  }
  template <class T, class X>
  bool multiply(const matmul_extents& e, const X* a, const X* b, T* c, const workspace& scratch,
                cudaStream_t stream, const T* bias = nullptr, bool relu = false) {
    if constexpr (lt_multiplies<X>) return products().run<T, X>(e, a, b, c, scratch, stream, bias, relu);
    else return false;
  }
  template <conv_pass Pass, class T, class X, class Device>
  bool convolve([[maybe_unused]] const Device& device, [[maybe_unused]] const conv_extents& e,
                [[maybe_unused]] const X* first, [[maybe_unused]] const X* second, [[maybe_unused]] T* result,
                [[maybe_unused]] const workspace& scratch, [[maybe_unused]] cudaStream_t stream) {
#if TAPELESS_CUDNN
    return convolutions().run(device, Pass, e, first, second, result, scratch, stream);
#else
    return false;
#endif
  }

  template <class T>
  void plan_line_products([[maybe_unused]] const line_extents& e, [[maybe_unused]] const sparse_lines& a,
                          [[maybe_unused]] void* nowhere) {
#if TAPELESS_CUSPARSE
    plan_sparse<T>(a.entry == nullptr ? sparse_way::products : sparse_way::sorted_products, e, nowhere);
#endif
  }
  template <class T>
  void plan_line_samples([[maybe_unused]] const line_extents& e, [[maybe_unused]] void* nowhere) {
#if TAPELESS_CUSPARSE
    plan_sparse<T>(sparse_way::samples, e, nowhere);
#endif
  }
  template <class T, class Device>
  bool line_products([[maybe_unused]] const Device& device, [[maybe_unused]] const line_extents& e,
                     [[maybe_unused]] const sparse_lines& a, [[maybe_unused]] const T* values,
                     [[maybe_unused]] const T* x, [[maybe_unused]] T* y,
                     [[maybe_unused]] const workspace& scratch, [[maybe_unused]] cudaStream_t stream) {
#if TAPELESS_CUSPARSE
    if (!may_.own_sparse) return sparse().multiply(device, e, a, values, x, y, scratch, stream);
#endif
    return false;
  }
  template <class T, class Device>
  bool line_samples([[maybe_unused]] const Device& device, [[maybe_unused]] const line_extents& e,
                    [[maybe_unused]] const sparse_lines& a, [[maybe_unused]] const T* l,
                    [[maybe_unused]] const T* r, [[maybe_unused]] T* out,
                    [[maybe_unused]] const workspace& scratch, [[maybe_unused]] cudaStream_t stream) {
#if TAPELESS_CUSPARSE
    if (!may_.own_sparse) return sparse().sample(device, e, a, l, r, out, scratch, stream);
#endif
    return false;
  }

private:
  std::size_t plans() const {
    std::size_t n = products_ ? products_->plans() : 0;
#if TAPELESS_CUDNN
    n += convolutions_ ? convolutions_->plans() : 0;
#endif
#if TAPELESS_CUSPARSE
    n += sparse_ ? sparse_->plans() : 0;
#endif
    return n;
  }
  void note_need(const std::optional<std::size_t>& bytes) {
    need_ = std::max(need_, bytes.value_or(0));
    plans_of_bind_ = plans();
  }
};

} // namespace tapeless::cuda
