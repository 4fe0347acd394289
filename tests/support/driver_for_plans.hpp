// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Engines of cuDNN that compile their kernels load these into the driver already when a plan is made. Where there is no driver,
// they find this one: it takes kernels, and has no device. The program exports its symbols: -rdynamic.
#include <dlfcn.h>

#include <string_view>

inline bool has_driver_for_plans = true;

extern "C" {
void* dlopen(const char* name, int flags) noexcept {
  static const auto next = reinterpret_cast<void* (*)(const char*, int)>(dlsym(RTLD_NEXT, "dlopen"));
  void* const found = next(name, flags);
  const std::string_view file = name == nullptr ? "" : name;
  if (file.find("libnvrtc") != file.npos) next(name, flags); // cuDNN closes it after each plan: it stays open
  const bool is_driver = file.ends_with("libcuda.so.1");
  return found == nullptr && is_driver && has_driver_for_plans ? next(nullptr, RTLD_NOW) : found;
}
int cuLibraryLoadData(void** library, const void*, void*, void*, unsigned, void*, void*, unsigned) {
  static char one;
  *library = &one;
  return 0;
}
int cuLibraryGetKernel(void** kernel, void* library, const char*) {
  *kernel = library;
  return 0;
}
int cuLibraryUnload(void*) { return 0; }
// The others are looked up: CUDA_ERROR_NO_DEVICE
#define NOT_THERE(name) \
  int name() { return 100; }
#define NOT_THERE_3(a, b, c) NOT_THERE(a) NOT_THERE(b) NOT_THERE(c)
NOT_THERE_3(cuInit, cuDriverGetVersion, cuDeviceGet)
NOT_THERE_3(cuDeviceGetCount, cuDeviceGetAttribute, cuDevicePrimaryCtxRelease)
NOT_THERE_3(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxRetain, cuCtxGetCurrent)
NOT_THERE_3(cuCtxGetDevice, cuCtxGetLimit, cuCtxPopCurrent)
NOT_THERE_3(cuCtxPushCurrent, cuFuncGetAttribute, cuFuncSetAttribute)
NOT_THERE_3(cuGetErrorName, cuGetErrorString, cuKernelGetAttribute)
NOT_THERE_3(cuKernelSetAttribute, cuLaunchCooperativeKernel, cuLaunchKernel)
NOT_THERE_3(cuLaunchKernelEx, cuLibraryLoadFromFile, cuLinkAddData)
NOT_THERE_3(cuLinkAddData_v2, cuLinkAddFile_v2, cuLinkComplete)
NOT_THERE_3(cuLinkCreate, cuLinkCreate_v2, cuLinkDestroy)
NOT_THERE_3(cuMemcpyDtoH_v2, cuModuleGetFunction, cuModuleGetGlobal_v2)
NOT_THERE_3(cuModuleLoadData, cuModuleLoadDataEx, cuModuleLoadFatBinary)
NOT_THERE_3(cuModuleUnload, cuOccupancyMaxActiveBlocksPerMultiprocessor, cuOccupancyMaxPotentialClusterSize)
NOT_THERE_3(cuStreamGetCtx, cuStreamSynchronize, cuTensorMapEncodeTiled)
#undef NOT_THERE_3
#undef NOT_THERE
}
