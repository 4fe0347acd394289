// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// cuda::stream: a queue of a device. What is put on it runs in that order, and the host does not wait for it.
#pragma once
#include <cuda_runtime_api.h>
#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include "../libs/check.hpp"
#include "../rtc/error.hpp"

namespace tapeless::cuda {

// Makes a device the current one of the thread, and then that before it again.
class on_device {
  int before_ = 0, now_;

public:
  explicit on_device(int ordinal) : now_(ordinal) {
    check(cudaGetDevice(&before_), "run");
    if (before_ != now_) check(cudaSetDevice(now_), "run");
  }
  on_device(const on_device&) = delete;
  ~on_device() {
    if (before_ != now_) cudaSetDevice(before_);
  }
};
inline int current_device() {
  int ordinal = 0;
  check(cudaGetDevice(&ordinal), "stream");
  return ordinal;
}
// nullptr, the default stream, is of the current one.
inline int device_of(cudaStream_t s) {
  int ordinal = current_device();
  if (s != nullptr) check(cudaStreamGetDevice(s, &ordinal), "stream");
  return ordinal;
}

// stream s;                a new one of the current device
// stream s(foreign);       a stream of the caller's, of whichever device; the caller keeps it until nothing uses s
// s.wait();                until all is done that was put on it   Errors: cuda::error, also those of what has run
class stream {
  holder<cudaStream_t, cudaStreamDestroy> own_;
  cudaStream_t queue_ = nullptr;
  int device_;

public:
  stream() : device_(current_device()) {
    check(cudaStreamCreateWithFlags(own_.put(), cudaStreamNonBlocking), "stream");
    queue_ = own_.get();
  }
  explicit stream(cudaStream_t foreign) : queue_(foreign), device_(device_of(foreign)) {}
  void wait() const {
    const on_device here(device_);
    check(cudaStreamSynchronize(queue_), "stream.wait()");
  }
  cudaStream_t get() const { return queue_; }
  int device() const { return device_; }

  // The one of the current device that is taken where none is given. Each device has its own, for the life of the process.
  static const stream& common() {
    static constexpr std::size_t most_devices = 64;
    static std::mutex making;
    static auto& made =
        *new std::array<std::unique_ptr<stream>, most_devices>; // outlives the driver's own end
    const auto device = static_cast<std::size_t>(current_device());
    if (device >= most_devices) failed("stream", "CUDA runtime", 0, "more than 64 devices: give a stream");
    const std::lock_guard lock(making);
    if (made[device] == nullptr) made[device] = std::make_unique<stream>();
    return *made[device];
  }
};

} // namespace tapeless::cuda
