// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// compile(nvrtc, name, arch): the machine code of one kernel. The text is that of the headers of kernels, kernel_text(), all of
// it for each kernel; the name says which one.
#pragma once
#include <unistd.h>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>
#include "error.hpp"
#include "nvrtc.hpp"
#include "text.hpp"

namespace tapeless::cuda {

// cubin: the machine code; lowered: the name of the function in it; compiler: what has made it
struct kernel_binary {
  std::string compiler, lowered, cubin;
};
// What tests ask for beside it.
struct compile_report {
  std::string log, ptx; // log: registers and spills among it
};

// The whole text, with its own integers in the place of <cstdint>.
inline const std::string& whole_kernel_text() {
  static const std::string text = [] {
    std::string r =
        "namespace std { using int8_t = signed char; using int16_t = short; using int32_t = int; "
        "using int64_t = long long; using uint8_t = unsigned char; using uint16_t = unsigned short; "
        "using uint32_t = unsigned; using uint64_t = unsigned long long; }\n";
    for (const header_text& h : kernel_text())
      ((((r += "#line 1 \"") += h.name) += "\"\n") += h.text) += '\n';
    return r;
  }();
  return text;
}

// arch: as "sm_90"
inline std::vector<std::string> compile_options(const std::string& arch) {
  return {"--gpu-architecture=" + arch, "-std=c++20", "-default-device"};
}

// A file for a log.   @return its name, or a word for none
inline std::string write_log(const std::string& log) {
  std::string folder = environment("TMPDIR");
  if (folder.empty()) folder = "/tmp";
  std::string path = folder + "/tapeless-kernel-XXXXXX";
  const int file = mkstemp(path.data());
  if (file < 0) return "no file, for " + folder + " cannot be written";
  const bool whole = write(file, log.data(), log.size()) == static_cast<ssize_t>(log.size());
  close(file);
  return whole ? path : path + " (in part)";
}

// Errors: cuda::error. A compilation that fails leaves a file with its log, which the message names.
inline kernel_binary compile(const nvrtc& compiler, const std::string& name, const std::string& arch,
                             compile_report* report = nullptr,
                             const std::string& text = whole_kernel_text()) {
  // behind a name stand the custom ops of the kernel
  const std::size_t end_of_name = name.find(';');
  const std::string function = name.substr(0, end_of_name),
                    own = end_of_name == std::string::npos
                              ? ""
                              : "#line 1 \"custom\"\n" + name.substr(end_of_name + 1);
  nvrtc::program p = nullptr;
  compiler.check(compiler.create(&p, (text + own).c_str(), "tapeless_kernels.cu", 0, nullptr, nullptr),
                 "nvrtcCreateProgram");
  const struct at_end {
    const nvrtc& n;
    nvrtc::program p;
    at_end(const nvrtc& x, nvrtc::program y) : n(x), p(y) {}
    at_end(const at_end&) = delete;
    ~at_end() { n.destroy(&p); }
  } end(compiler, p);
  compiler.check(compiler.add_name(p, function.c_str()), "nvrtcAddNameExpression");
  std::vector<std::string> options = compile_options(arch);
  if (report != nullptr) options.emplace_back("--ptxas-options=-v");
  std::vector<const char*> option;
  for (const std::string& s : options) option.push_back(s.c_str());
  const nvrtc::status s = compiler.compile(p, static_cast<int>(option.size()), option.data());
  if (s != 0) {
    std::string log = compiler.name() + "\n" + name + "\n";
    for (const std::string& o : options) log += o + '\n';
    log += compiler.get(compiler.log_size, compiler.log, p);
    throw error(
        "bind", "NVRTC", s,
        std::string(compiler.text_of_status(s)) + " for " + arch + "; the log is in " + write_log(log));
  }
  if (report != nullptr)
    *report = {compiler.get(compiler.log_size, compiler.log, p),
               compiler.get(compiler.ptx_size, compiler.ptx, p)};
  const char* lowered = nullptr;
  compiler.check(compiler.lowered_name(p, function.c_str(), &lowered), "nvrtcGetLoweredName");
  return {compiler.name(), lowered, compiler.get(compiler.cubin_size, compiler.cubin, p)};
}

} // namespace tapeless::cuda
