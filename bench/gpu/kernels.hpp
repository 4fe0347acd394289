// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// GPU_KERNELS=FILE: a program of bench/gpu writes the kernels of all its programs to FILE, for sm_90, and ends. It needs NVRTC
// and no device.
#pragma once
#include <cstdlib>

#include <support/device_backend.hpp>

namespace gpu {

inline bool only_writes_kernels() {
  const char* const file = std::getenv("GPU_KERNELS");
  if (file == nullptr) return false;
#if !defined(TAPELESS_CUDA_EMULATED)
  support::write_kernels(file, "sm_90");
#endif
  return true;
}

} // namespace gpu
