// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The kernels of a process as the CUDA runtime knows them: compiled, or taken from where they are kept, and loaded once.
#pragma once
#include <cuda_runtime_api.h>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>
#include "../libs/check.hpp"
#include "../rtc/compile.hpp"
#include "../rtc/kernel_store.hpp"

namespace tapeless::cuda {

// Any number of threads may call it. Kernels stay loaded: for all devices of the architecture, until the process ends.
class loaded_kernels {
  std::mutex loading_;
  std::map<std::pair<std::string, std::string>, cudaKernel_t> there_; // by name and architecture

public:
  std::vector<cudaKernel_t> get(const std::vector<std::string>& names, const std::string& arch) {
    const std::lock_guard lock(loading_);
    std::vector<std::string> missing;
    for (const std::string& name : names)
      if (!there_.contains({name, arch})) missing.push_back(name);
    kernels().prepare(missing, arch);
    for (const std::string& name : missing) {
      const kernel_binary& code = kernels().get(name, arch);
      cudaLibrary_t library = nullptr;
      check(cudaLibraryLoadData(&library, code.cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
            "bind");
      holder<cudaLibrary_t, cudaLibraryUnload> held(library); // until the kernel is found
      cudaKernel_t kernel = nullptr;
      check(cudaLibraryGetKernel(&kernel, library, code.lowered.c_str()), "bind");
      there_.emplace(std::pair{name, arch}, kernel);
      held.release();
    }
    std::vector<cudaKernel_t> r;
    for (const std::string& name : names) r.push_back(there_.at({name, arch}));
    return r;
  }
  static loaded_kernels& of_process() {
    static auto& all = *new loaded_kernels; // outlives the driver's own end
    return all;
  }
};

} // namespace tapeless::cuda
