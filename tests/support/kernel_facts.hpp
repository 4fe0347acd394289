// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// What the device's compiler says of kernels.
#include <tapeless/cuda/rtc/compile.hpp>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>
#include <vector>

namespace support {

struct kernel_facts {
  std::string name, error; // error: why it does not compile
  int registers = -1, spilled_bytes = -1, stack_bytes = -1;
  bool traps = true, warns = true;
};
// The number in front of `what`, the first time that it stands in the log; -1: it does not.
inline int number_before(const std::string& log, const std::string& what) {
  const std::size_t end = log.find(what);
  if (end == std::string::npos) return -1;
  const std::size_t first = log.find_last_not_of("0123456789", end - 1) + 1;
  return std::atoi(log.substr(first, end - first).c_str());
}
inline kernel_facts facts_of(const tapeless::cuda::nvrtc& compiler, const std::string& name,
                             const std::string& arch,
                             const std::string& text = tapeless::cuda::whole_kernel_text()) {
  kernel_facts r;
  r.name = name;
  try {
    tapeless::cuda::compile_report report;
    compile(compiler, name, arch, &report, text);
    const int stores = number_before(report.log, " bytes spill stores"),
              loads = number_before(report.log, " bytes spill loads");
    r.registers = number_before(report.log, " registers");
    r.spilled_bytes = stores < 0 || loads < 0 ? -1 : stores + loads;
    r.stack_bytes = number_before(report.log, " bytes stack frame");
    r.warns = report.log.find("warning") != std::string::npos;
    r.traps = report.ptx.find("trap;") != std::string::npos || report.ptx.find(".entry") == std::string::npos;
  } catch (const std::exception& e) { r.error = e.what(); }
  return r;
}
// In the order of the names, compiled by all cores.
inline std::vector<kernel_facts> facts_of(const tapeless::cuda::nvrtc& compiler,
                                          const std::vector<std::string>& names, const std::string& arch) {
  std::vector<kernel_facts> r(names.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t k; (k = next++) < names.size();) r[k] = facts_of(compiler, names[k], arch);
  };
  std::vector<std::thread> team;
  for (unsigned k = 1; k < std::thread::hardware_concurrency(); ++k) team.emplace_back(work);
  work();
  for (std::thread& t : team) t.join();
  return r;
}

// Byte 6 of the first word of a loop says whether it is of doubles.
inline bool is_loop_of_floats(const std::string& name) {
  const std::string begin = "loop_kernel<tapeless::cuda::words<";
  const std::size_t at = name.find(begin);
  if (at == std::string::npos) return false;
  return ((std::strtoull(name.c_str() + at + begin.size(), nullptr, 16) >> 48) & 255) == 0;
}
// What is wrong with a kernel; "" if it is good. Where most_registers is not 0, a loop of floats has so many at most, and spills
// nothing. Others may spill a few bytes, which the compiler trades for a further block on a multiprocessor; functions that reduce
// an angle have a stack of 40.
inline std::string fault_of(const kernel_facts& f, int most_registers) {
  if (!f.error.empty()) return f.error;
  const bool is_strict = most_registers > 0 && is_loop_of_floats(f.name);
  const int most_bytes = is_strict ? 0 : 64;
  std::string r;
  if (f.registers < 0 || f.spilled_bytes < 0 || f.stack_bytes < 0) r += " the log does not say;";
  if (f.spilled_bytes > most_bytes) r += " " + std::to_string(f.spilled_bytes) + " bytes are spilled;";
  if (f.stack_bytes > most_bytes) r += " " + std::to_string(f.stack_bytes) + " bytes of stack;";
  if (f.traps) r += " a trap;";
  if (f.warns) r += " a warning;";
  if (is_strict && f.registers > most_registers)
    r += " " + std::to_string(f.registers) + " registers, more than " + std::to_string(most_registers) + ";";
  return r.empty() ? r : f.name + ":" + r;
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
