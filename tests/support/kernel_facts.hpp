// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// What the device's compiler says of a kernel.
#include <tapeless/cuda/rtc/compile.hpp>

#include <cstdlib>
#include <string>

namespace support {

struct kernel_facts {
  int registers = -1, spilled_bytes = -1, stack_bytes = -1;
  bool traps = true;
};
// The number in front of `what`, the first time that it stands in the log; -1: it does not.
inline int number_before(const std::string& log, const std::string& what) {
  const std::size_t end = log.find(what);
  if (end == std::string::npos) return -1;
  const std::size_t first = log.find_last_not_of("0123456789", end - 1) + 1;
  return std::atoi(log.substr(first, end - first).c_str());
}
inline kernel_facts facts_of(const tapeless::cuda::compile_report& report) {
  const int stores = number_before(report.log, " bytes spill stores"),
            loads = number_before(report.log, " bytes spill loads");
  return {number_before(report.log, " registers"), stores < 0 || loads < 0 ? -1 : stores + loads,
          number_before(report.log, " bytes stack frame"),
          report.ptx.find("trap;") != std::string::npos || report.ptx.find(".entry") == std::string::npos};
}

// The compiler; nullptr where there is none, and nothing says that there must be one.
inline const tapeless::cuda::nvrtc* compiler_of_kernels() {
  static const tapeless::cuda::nvrtc* const found = []() -> const tapeless::cuda::nvrtc* {
    try {
      return new tapeless::cuda::nvrtc; // it stays open
    } catch (const tapeless::cuda::error&) {
      if (std::getenv("TAPELESS_NO_SKIP") != nullptr) throw;
      return nullptr;
    }
  }();
  return found;
}

} // namespace support
