// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// fastest(device, key, plans): the number of the plan that takes the least time on the device; of the first one, where memory
// does not suffice to try them.
#pragma once
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>
#include "../kernels/conv.hpp"
#include "check.hpp"
#include "cudnn.hpp"
#include "cudnn_plan.hpp"

namespace tapeless::cuda {

// Zeros in memory of the device, while plans are timed.
class tuning_buffer {
  holder<void*, cudaFree> at_;
  bool is_there_ = true;

public:
  tuning_buffer(std::size_t n, cudaStream_t stream) {
    if (n == 0) return;
    is_there_ = cudaMalloc(at_.put(), n) == cudaSuccess;
    if (is_there_) fill_with_zeros(at_.get(), n, stream, "autotune");
    else static_cast<void>(cudaGetLastError()); // the runtime keeps an error until it is asked for
  }
  explicit operator bool() const { return is_there_; }
  void* get() const { return at_.get(); }
};

// The least of three times, after one run that loads the kernels.   @pre device has a handle
inline std::size_t fastest(const cudnn_device& device, const conv_key& k,
                           const std::vector<conv_plan>& plans) {
  constexpr int runs = 3;
  holder<cudaStream_t, cudaStreamDestroy> stream;
  holder<cudaEvent_t, cudaEventDestroy> begin, end;
  check(cudaStreamCreateWithFlags(stream.put(), cudaStreamNonBlocking), "autotune");
  check(cudaEventCreate(begin.put()), "autotune");
  check(cudaEventCreate(end.put()), "autotune");
  const auto bytes = [&](conv_pass pass) {
    return static_cast<std::size_t>(results_of(pass, k.extents)) * (k.type == CUDNN_DATA_DOUBLE ? 8 : 4);
  };
  std::size_t most = 0;
  for (const conv_plan& p : plans) most = std::max(most, p.workspace());
  const tuning_buffer x(bytes(conv_pass::dgrad), stream.get()), w(bytes(conv_pass::wgrad), stream.get()),
      y(bytes(conv_pass::fprop), stream.get()), scratch(most, stream.get());
  if (!x || !w || !y || !scratch) return 0;
  check(cudnnSetStream(device.handle(), stream.get()), "autotune");
  std::size_t best = 0;
  float least = std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < plans.size(); ++i)
    for (int run = 0; run <= runs; ++run) {
      check(cudaEventRecord(begin.get(), stream.get()), "autotune");
      plans[i].run(device.handle(), x.get(), w.get(), y.get(), scratch.get());
      check(cudaEventRecord(end.get(), stream.get()), "autotune");
      check(cudaEventSynchronize(end.get()), "autotune");
      float time = 0;
      check(cudaEventElapsedTime(&time, begin.get(), end.get()), "autotune");
      if (run > 0 && time < least) {
        least = time;
        best = i;
      }
    }
  return best;
}

} // namespace tapeless::cuda
