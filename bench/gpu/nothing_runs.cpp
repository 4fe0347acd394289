// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// A CUDA runtime, cuBLASLt, cuSPARSE and cuDNN for LD_PRELOAD, where no device is: memory is the host's, every kernel loads and none runs,
// cuBLASLt and cuDNN have no plans, and cuSPARSE computes nothing. With it bench/gpu/build --check binds the programs that are for a GPU.
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#if __has_include(<cusparse.h>)
#include <cusparse.h>
#endif

#include <cstddef>
#include <cstdint>

// of tests/support/cuda_runtime.cpp, whose kernels run
#define cudaLaunchKernel launch_of_the_host
#define cudaLibraryLoadData load_of_the_host
#define cudaLibraryGetKernel kernel_of_the_host
#define cudaLibraryUnload unload_of_the_host
#define cudaFuncGetAttributes attributes_of_the_host
#include "../../tests/support/cuda_runtime.cpp"
#undef cudaLaunchKernel
#undef cudaLibraryLoadData
#undef cudaLibraryGetKernel
#undef cudaLibraryUnload
#undef cudaFuncGetAttributes

namespace {
template <class Handle> void give(Handle* h) { *h = reinterpret_cast<Handle>(std::uintptr_t{8}); }
} // namespace

extern "C" {

cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, std::size_t, cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void*, cudaJitOption*, void**, unsigned,
                                cudaLibraryOption*, void**, unsigned) {
  give(library);
  return cudaSuccess;
}
cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t, const char*) {
  give(kernel);
  return cudaSuccess;
}
cudaError_t cudaLibraryUnload(cudaLibrary_t) { return cudaSuccess; }
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, const void*) { return cudaSuccess; }

cublasStatus_t cublasLtCreate(cublasLtHandle_t* h) {
  give(h);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int,
                                              cublasLtMatmulHeuristicResult_t*, int* found) {
  *found = 0;
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

#if __has_include(<cusparse.h>)
cusparseStatus_t cusparseCreate(cusparseHandle_t* h) {
  give(h);
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDestroy(cusparseHandle_t) { return CUSPARSE_STATUS_SUCCESS; }
cusparseStatus_t cusparseSetStream(cusparseHandle_t, cudaStream_t) { return CUSPARSE_STATUS_SUCCESS; }
cusparseStatus_t cusparseSpMM_bufferSize(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t,
                                         const void*, cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t,
                                         const void*, cusparseDnMatDescr_t, cudaDataType, cusparseSpMMAlg_t,
                                         std::size_t*) {
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMM(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void*,
                              cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t, const void*,
                              cusparseDnMatDescr_t, cudaDataType, cusparseSpMMAlg_t, void*) {
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSDDMM_bufferSize(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t,
                                          const void*, cusparseConstDnMatDescr_t, cusparseConstDnMatDescr_t,
                                          const void*, cusparseSpMatDescr_t, cudaDataType, cusparseSDDMMAlg_t,
                                          std::size_t*) {
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSDDMM(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void*,
                               cusparseConstDnMatDescr_t, cusparseConstDnMatDescr_t, const void*,
                               cusparseSpMatDescr_t, cudaDataType, cusparseSDDMMAlg_t, void*) {
  return CUSPARSE_STATUS_SUCCESS;
}
#endif

cudnnStatus_t cudnnCreate(cudnnHandle_t* h) {
  give(h);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t) { return CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t) { return CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t, cudnnBackendDescriptor_t* d) {
  give(d);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t) { return CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t) { return CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t, cudnnBackendAttributeName_t,
                                       cudnnBackendAttributeType_t, std::int64_t, const void*) {
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendGetAttribute(const cudnnBackendDescriptor_t, cudnnBackendAttributeName_t,
                                       cudnnBackendAttributeType_t, std::int64_t, std::int64_t* count,
                                       void*) {
  if (count != nullptr) *count = 0;
  return CUDNN_STATUS_SUCCESS;
}

} // extern "C"
