// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Links the libraries of CUDA. It needs no device.
#include <tapeless/cuda/libs/cublaslt.hpp>
#if TAPELESS_CUDNN
#include <tapeless/cuda/libs/cudnn_conv.hpp>
#endif
#if TAPELESS_CUSPARSE
#include <tapeless/cuda/libs/cusparse.hpp>
#endif

int main() {
  using products = tapeless::cuda::lt_products;
  const products::plan plan({{.m = 2, .n = 3, .k = 4}, CUDA_R_32F, CUDA_R_32F}, {});
#if TAPELESS_CUDNN
  const tapeless::cuda::descriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
#endif
#if TAPELESS_CUSPARSE
  if (cusparseGetErrorName(CUSPARSE_STATUS_SUCCESS) == nullptr) return 1;
#endif
  return plan.product ? 0 : 1;
}
