// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Statuses of the CUDA runtime as exceptions, what a library makes as a value, and what is known of pointers.
#pragma once
#include <cuda_runtime_api.h>
#include <cstddef>
#include <cstdint>
#include <utility>
#include "../rtc/error.hpp"

// Are there cuDNN and cuSPARSE? The target tapeless::cuda says so.
#if !defined(TAPELESS_CUSPARSE)
#if __has_include(<cusparse.h>)
#define TAPELESS_CUSPARSE 1
#else
#define TAPELESS_CUSPARSE 0
#endif
#endif
#if !defined(TAPELESS_CUDNN)
#if __has_include(<cudnn.h>)
#define TAPELESS_CUDNN 1
#else
#define TAPELESS_CUDNN 0
#endif
#elif TAPELESS_CUDNN && !__has_include(<cudnn.h>)
#error "tapeless: cuda: TAPELESS_CUDNN is 1 and there is no cudnn.h: -isystem its folder"
#endif

namespace tapeless::cuda {

inline void check(cudaError_t status, const char* op) {
  if (status == cudaErrorInsufficientDriver)
    failed(op, "CUDA runtime", static_cast<int>(status),
           "there is no NVIDIA driver here, or it is older than the toolkit");
  if (status != cudaSuccess) failed(op, "CUDA runtime", static_cast<int>(status), cudaGetErrorString(status));
}

// Owns h, which End(h) destroys.
template <class H, auto End> class holder {
  H h_{};

public:
  holder() = default;
  explicit holder(H h) : h_(h) {}
  holder(holder&& o) noexcept : h_(std::exchange(o.h_, H{})) {}
  holder& operator=(holder&& o) noexcept {
    std::swap(h_, o.h_);
    return *this;
  }
  ~holder() {
    if (h_ != H{}) End(h_);
  }
  H get() const { return h_; }
  explicit operator bool() const { return h_ != H{}; }
  H* put() { return &h_; }                       // for functions that make one     @pre *this holds none
  H release() { return std::exchange(h_, H{}); } // the caller ends it, or nobody
};

// The largest power of two, at most `most`, that divides the address.
inline std::uint32_t alignment_of(const void* p, std::uint32_t most) {
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  std::uint32_t a = 1;
  while (a < most && at % (2 * std::uintptr_t{a}) == 0) a *= 2;
  return a;
}

// Memory of the device that a library may use while it computes.
struct workspace {
  void* data = nullptr;
  std::size_t bytes = 0;
};

// n bytes of zeros on the stream.
inline void fill_with_zeros(void* p, std::size_t n, cudaStream_t stream, const char* op) {
  if (n > 0) check(cudaMemsetAsync(p, 0, n, stream), op);
}

} // namespace tapeless::cuda
