// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// What the programs of bench/gpu ask the CUDA runtime for beside tests/support/cuda_runtime.cpp.
#include <cuda_runtime_api.h>

#include <support/cuda_runtime.hpp>

#include <chrono>
#include <cstddef>

namespace {

struct event {
  cudaStream_t stream = nullptr;
  std::chrono::steady_clock::time_point at;
};
event& of(cudaEvent_t e) { return *reinterpret_cast<event*>(e); }

} // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* n) {
  *n = 1;
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* all) {
  *all = std::size_t{1} << 40;
  *free = *all - memory_in_use();
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 0;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) { return cudaRuntimeGetVersion(version); }
cudaError_t cudaEventCreate(cudaEvent_t* e) {
  *e = reinterpret_cast<cudaEvent_t>(new event);
  return cudaSuccess;
}
// When the stream has come so far: nothing is on it, for it is waited for.
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) {
  const cudaError_t status = cudaStreamSynchronize(s);
  of(e) = {s, std::chrono::steady_clock::now()};
  return status;
}
cudaError_t cudaEventSynchronize(cudaEvent_t e) { return cudaStreamSynchronize(of(e).stream); }
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t a, cudaEvent_t b) {
  *ms = std::chrono::duration<float, std::milli>(of(b).at - of(a).at).count();
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t e) {
  delete &of(e);
  return cudaSuccess;
}

} // extern "C"
