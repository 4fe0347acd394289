// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// GPU_KERNELS=FILE: a program of bench/gpu writes the kernels of all its programs to FILE, for sm_90, and ends. It needs NVRTC
// and no device.
#pragma once
#include <cstdlib>

#include <support/device_backend.hpp>

#include "study/common.hpp"

namespace gpu {

inline bool only_writes_kernels() {
  const char* const file = std::getenv("GPU_KERNELS");
  if (file == nullptr) return false;
#if !defined(TAPELESS_CUDA_EMULATED)
  support::write_kernels(file, "sm_90");
#endif
  return true;
}

// Names the stage: that of bench/gpu/run which has started this program. Ends the program, with status 4, where no device is.
inline void need_device(const char* otherwise) {
  const char* const said = std::getenv("GPU_STAGE");
  stage_name() = said != nullptr ? said : otherwise;
  int n = 0;
  const cudaError_t status = cudaGetDeviceCount(&n);
  if (status == cudaSuccess && n > 0) return;
  line("no device").put("error", cudaGetErrorString(status));
  std::exit(4);
}

} // namespace gpu
