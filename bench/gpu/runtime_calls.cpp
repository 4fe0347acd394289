// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// calls_of_the_runtime() where the runtime is CUDA's: these functions stand before those of the library, count, and call them.
// What libraries of CUDA call is not counted.
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <support/cuda_runtime.hpp>

#include <cstddef>

namespace {
int calls = 0;
template <class F> F* next(F*, const char* name) {
  ++calls;
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}
} // namespace

int calls_of_the_runtime() { return calls; }

#define TAPELESS_COUNTED(name, ...) next(&name, #name)(__VA_ARGS__)
extern "C" {
cudaError_t cudaMalloc(void** p, std::size_t n) { return TAPELESS_COUNTED(cudaMalloc, p, n); }
cudaError_t cudaMallocHost(void** p, std::size_t n) { return TAPELESS_COUNTED(cudaMallocHost, p, n); }
cudaError_t cudaFree(void* p) { return TAPELESS_COUNTED(cudaFree, p); }
cudaError_t cudaStreamSynchronize(cudaStream_t s) { return TAPELESS_COUNTED(cudaStreamSynchronize, s); }
cudaError_t cudaMemsetAsync(void* p, int value, std::size_t n, cudaStream_t s) {
  return TAPELESS_COUNTED(cudaMemsetAsync, p, value, n, s);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t n, cudaMemcpyKind kind, cudaStream_t s) {
  return TAPELESS_COUNTED(cudaMemcpyAsync, to, from, n, kind, s);
}
cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode mode) {
  return TAPELESS_COUNTED(cudaStreamBeginCapture, s, mode);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t e, cudaStream_t s) {
  return TAPELESS_COUNTED(cudaGraphLaunch, e, s);
}
cudaError_t cudaLaunchKernel(const void* kernel, dim3 blocks, dim3 threads, void** arguments,
                             std::size_t shared, cudaStream_t s) {
  return TAPELESS_COUNTED(cudaLaunchKernel, kernel, blocks, threads, arguments, shared, s);
}
} // extern "C"
