// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// libraries: cuBLASLt and cuDNN, one object for a bound program. What they do not have is left to kernels of ours:
//   prepare_matmul, prepare_conv    bytes of workspace; none: they do not have it
//   matmul, conv                    false: they do not have it, and nothing is done
#pragma once
#include <cuda_runtime_api.h>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include "../../core/geometry.hpp"
#include "../kernels/conv.hpp"
#include "../libs/check.hpp"
#include "../libs/options.hpp"
#if !defined(TAPELESS_CUDA_EMULATED)
#include "../libs/cublaslt.hpp"
#if TAPELESS_CUDNN
#include "../libs/cudnn_conv.hpp"
#endif
#endif

namespace tapeless::cuda {

#if defined(TAPELESS_CUDA_EMULATED)
class libraries {
public:
  explicit libraries(const options&) {}
  template <class T, class X> std::optional<std::size_t> prepare_matmul(const matmul_extents&) { return {}; }
  template <class T, class X>
  bool matmul(const matmul_extents&, const X*, const X*, T*, const workspace&, cudaStream_t) {
    return false;
  }
#else
class libraries {
  lt_products products_;

public:
  template <class T, class X> std::optional<std::size_t> prepare_matmul(const matmul_extents& e) {
    if constexpr (!std::is_same_v<X, std::int32_t>)
      if (lt_supports(e)) return products_.template prepare<T, X>(e);
    return {};
  }
  template <class T, class X> bool matmul(const matmul_extents& e, const X* a, const X* b, T* c,
                                          const workspace& scratch, cudaStream_t stream) {
    if constexpr (!std::is_same_v<X, std::int32_t>)
      if (lt_supports(e)) {
        products_.template run<T, X>(e, a, b, c, scratch, stream);
        return true;
      }
    return false;
  }
#endif

#if TAPELESS_CUDNN && !defined(TAPELESS_CUDA_EMULATED)
private:
  cudnn_convolutions convolutions_;

public:
  explicit libraries(const options& may) : products_(may), convolutions_(may) {}
  template <class X> std::optional<std::size_t> prepare_conv(conv_pass pass, const conv_extents& e) {
    return convolutions_.template prepare<X>(pass, e);
  }
  template <class X, class T, class Device>
  bool conv(const Device& device, conv_pass pass, const conv_extents& e, const X* first, const X* second,
            T* result, const workspace& scratch, cudaStream_t stream) {
    return convolutions_.template run<X>(device, pass, e, first, second, result, scratch, stream);
  }
#else
#if !defined(TAPELESS_CUDA_EMULATED)
  explicit libraries(const options& may) : products_(may) {}
#endif
  template <class X> std::optional<std::size_t> prepare_conv(conv_pass, const conv_extents&) { return {}; }
  template <class X, class T, class Device>
  bool conv(const Device&, conv_pass, const conv_extents&, const X*, const X*, T*, const workspace&,
            cudaStream_t) {
    return false;
  }
#endif
};

} // namespace tapeless::cuda
