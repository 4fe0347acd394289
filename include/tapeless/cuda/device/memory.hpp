// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Blocks of memory, set to 0: device_memory, and pinned_memory of the host, which the device copies from and to by itself.
#pragma once
#include <cuda_runtime_api.h>
#include <cstddef>
#include <cstring>
#include <utility>
#include "../libs/check.hpp"

namespace tapeless::cuda {

struct free_device {
  static void at(void* p) { cudaFree(p); }
};
struct free_pinned {
  static void at(void* p) { cudaFreeHost(p); }
};
template <class Free> class basic_memory {
protected:
  void* p_ = nullptr;
  std::size_t size_ = 0;

public:
  basic_memory() = default;
  basic_memory(basic_memory&& o) noexcept
      : p_(std::exchange(o.p_, nullptr)), size_(std::exchange(o.size_, 0)) {}
  basic_memory& operator=(basic_memory&& o) noexcept {
    basic_memory taken(std::move(o)); // o is left empty
    std::swap(p_, taken.p_);
    std::swap(size_, taken.size_);
    return *this;
  }
  ~basic_memory() {
    if (p_ != nullptr) Free::at(p_);
  }
  std::byte* data() const { return static_cast<std::byte*>(p_); }
  std::size_t size() const { return size_; }
};

// An error of the runtime is kept until it is asked for: what could not be had is no error of the next call.
inline void check_memory(cudaError_t status, const char* op) {
  if (status != cudaSuccess) static_cast<void>(cudaGetLastError());
  check(status, op);
}
class device_memory : public basic_memory<free_device> {
public:
  device_memory() = default;
  // On the current device; the zeros are there before what is put on the stream next.
  device_memory(std::size_t bytes, cudaStream_t stream, const char* op) {
    if (bytes == 0) return;
    check_memory(cudaMalloc(&p_, bytes), op);
    size_ = bytes;
    fill_with_zeros(p_, bytes, stream, op);
  }
};
class pinned_memory : public basic_memory<free_pinned> {
public:
  pinned_memory() = default;
  explicit pinned_memory(std::size_t bytes) {
    if (bytes == 0) return;
    check_memory(cudaMallocHost(&p_, bytes), "pinned");
    size_ = bytes;
    std::memset(p_, 0, bytes);
  }
};

// Between any two of host and device.
inline void copy_bytes(void* to, const void* from, std::size_t bytes, cudaStream_t stream, const char* op) {
  if (bytes > 0) check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), op);
}

} // namespace tapeless::cuda
