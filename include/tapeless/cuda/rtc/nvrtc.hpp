// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// nvrtc: NVIDIA's compiler of kernels, a library that is opened when a kernel is to be compiled. It needs no device.
#pragma once
#include <dlfcn.h>
#include <sys/stat.h>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>
#include "error.hpp"

namespace tapeless::cuda {

// $name; "" where it is not set
inline std::string environment(const char* name) {
  const char* const s = std::getenv(name);
  return s == nullptr ? "" : s;
}

// Where NVRTC may be: path alone if it is given, or $TAPELESS_NVRTC; else where libraries are, then the folders of a toolkit.
inline std::vector<std::string> places_of_nvrtc(const std::string& path) {
  if (!path.empty()) return {path};
  if (const std::string named = environment("TAPELESS_NVRTC"); !named.empty()) return {named};
  std::vector<std::string> r;
  for (std::string folder :
       {std::string(), environment("CUDA_HOME"), environment("CUDA_PATH"), std::string("/usr/local/cuda")}) {
    if (folder.empty() && !r.empty()) continue;
    if (!folder.empty()) folder += "/lib64/";
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}) r.push_back(folder + name);
  }
  return r;
}

// It stays open for the life of the process.
class nvrtc {
public:
  using program = struct program_of_nvrtc*;
  using status = int; // of nvrtcResult

  // path: "" for places_of_nvrtc   Errors: cuda::error, status 0, where there is none.
  explicit nvrtc(const std::string& path = {}) {
    std::string said;
    for (const std::string& place : places_of_nvrtc(path)) {
      if (library_ = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL); library_ != nullptr) break;
      if (const char* const why = dlerror(); said.empty() && why != nullptr) said = why;
    }
    if (library_ == nullptr)
      throw error("bind", "NVRTC", 0,
                  "it cannot be opened: " + said +
                      "; install it (libnvrtc of a toolkit, or the package nvidia-cuda-nvrtc), name it by "
                      "TAPELESS_NVRTC, or ship the kernels that tl::cuda::prepare makes");
    find(version_, "nvrtcVersion");
    find(text_of_status, "nvrtcGetErrorString");
    find(create, "nvrtcCreateProgram");
    find(destroy, "nvrtcDestroyProgram");
    find(compile, "nvrtcCompileProgram");
    find(add_name, "nvrtcAddNameExpression");
    find(lowered_name, "nvrtcGetLoweredName");
    find(log_size, "nvrtcGetProgramLogSize");
    find(log, "nvrtcGetProgramLog");
    find(ptx_size, "nvrtcGetPTXSize");
    find(ptx, "nvrtcGetPTX");
    find(cubin_size, "nvrtcGetCUBINSize");
    find(cubin, "nvrtcGetCUBIN");
    find(count_archs_, "nvrtcGetNumSupportedArchs");
    find(archs_, "nvrtcGetSupportedArchs");
    int major = 0, minor = 0;
    check(version_(&major, &minor), "nvrtcVersion");
    name_ = "NVRTC " + std::to_string(major) + '.' + std::to_string(minor);
    // builds of one version differ in size
    Dl_info info{};
    struct stat file{};
    if (dladdr(reinterpret_cast<void*>(version_), &info) != 0 && stat(info.dli_fname, &file) == 0)
      name_ += ", " + std::to_string(file.st_size) + " bytes";
  }
  // Its version
  const std::string& name() const { return name_; }
  void check(status s, const char* function) const {
    if (s != 0) throw error("bind", "NVRTC", s, std::string(function) + ": " + text_of_status(s));
  }
  // Errors: cuda::error where it does not compile for devices of arch, as "sm_90".
  void require(const std::string& arch) const {
    int n = 0;
    check(count_archs_(&n), "nvrtcGetNumSupportedArchs");
    std::vector<int> known(static_cast<std::size_t>(n));
    check(archs_(known.data()), "nvrtcGetSupportedArchs");
    std::string said;
    for (const int k : known) {
      const std::string name = "sm_" + std::to_string(k);
      if (name == arch) return;
      said += ' ' + name;
    }
    throw error("bind", "NVRTC", 0, name_ + " does not compile for " + arch + ", but for" + said);
  }
  // A text that the compiler has, as get(log_size, log, p).
  std::string get(status (*size)(program, std::size_t*), status (*text)(program, char*), program p) const {
    std::size_t n = 0;
    check(size(p, &n), "size of a text");
    std::string r(n, '\0');
    check(text(p, r.data()), "a text");
    return r;
  }

private:
  void* library_ = nullptr;
  std::string name_;
  status (*version_)(int*, int*) = nullptr;
  status (*count_archs_)(int*) = nullptr;
  status (*archs_)(int*) = nullptr;

  template <class F> void find(F*& f, const char* name) {
    f = reinterpret_cast<F*>(dlsym(library_, name));
    if (f == nullptr) throw error("bind", "NVRTC", 0, std::string("it has no function ") + name);
  }

public:
  const char* (*text_of_status)(status) = nullptr;
  status (*create)(program*, const char* text, const char* name, int headers, const char* const* header,
                   const char* const* header_name) = nullptr;
  status (*destroy)(program*) = nullptr;
  status (*compile)(program, int options, const char* const* option) = nullptr;
  status (*add_name)(program, const char*) = nullptr;
  status (*lowered_name)(program, const char* name, const char** lowered) = nullptr;
  status (*log_size)(program, std::size_t*) = nullptr;
  status (*log)(program, char*) = nullptr;
  status (*ptx_size)(program, std::size_t*) = nullptr;
  status (*ptx)(program, char*) = nullptr;
  status (*cubin_size)(program, std::size_t*) = nullptr;
  status (*cubin)(program, char*) = nullptr;
};

} // namespace tapeless::cuda
