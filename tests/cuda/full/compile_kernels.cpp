// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// compile_kernels ARCH MOST_REGISTERS FILE...: compiles the kernels that the files name, a line each. It fails where one spills,
// or has a trap in its PTX, or is a loop of floats with more registers than MOST_REGISTERS, unless that is 0. It prints how
// many there are of each number of registers. Ends with 77 where there is no compiler.
#include <support/kernel_facts.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace cuda = tapeless::cuda;

namespace {

// Byte 6 of the first word says whether it is of doubles.
bool is_loop_of_floats(const std::string& name) {
  const std::string begin = "loop_kernel<tapeless::cuda::words<";
  const std::size_t at = name.find(begin);
  if (at == std::string::npos) return false;
  return ((std::strtoull(name.c_str() + at + begin.size(), nullptr, 16) >> 48) & 255) == 0;
}

class checked_kernels {
  std::mutex mutex_;
  std::map<int, int> kernels_of_registers_;
  int bad_ = 0;

public:
  void check(const cuda::nvrtc& compiler, const std::string& name, const char* arch, int most_registers) {
    cuda::compile_report report;
    std::string wrong;
    support::kernel_facts facts;
    try {
      cuda::compile(compiler, name, arch, &report);
      facts = support::facts_of(report);
      if (facts.registers < 0 || facts.spilled_bytes < 0) wrong += " the log does not say";
      if (facts.spilled_bytes > 0) wrong += " spills " + std::to_string(facts.spilled_bytes) + " bytes";
      if (facts.stack_bytes > 0) wrong += " stack of " + std::to_string(facts.stack_bytes) + " bytes";
      if (facts.traps) wrong += " traps";
      if (most_registers > 0 && facts.registers > most_registers && is_loop_of_floats(name))
        wrong += " more than " + std::to_string(most_registers) + " registers";
    } catch (const std::exception& e) { wrong = e.what(); }
    const std::lock_guard lock(mutex_);
    ++kernels_of_registers_[facts.registers];
    if (wrong.empty()) return;
    ++bad_;
    std::printf("%d registers,%s: %s\n", facts.registers, wrong.c_str(), name.c_str());
  }
  int print() const {
    for (const auto& [registers, kernels] : kernels_of_registers_)
      std::printf("%3d registers: %d kernels\n", registers, kernels);
    std::printf("%d kernels are bad\n", bad_);
    return bad_;
  }
};

} // namespace

int main(int argc, char** argv) {
  if (argc < 4) return std::fprintf(stderr, "compile_kernels ARCH MOST_REGISTERS FILE...\n"), 2;
  const cuda::nvrtc* const compiler = support::compiler_of_kernels();
  if (compiler == nullptr) return std::puts("skipped: there is no NVRTC"), 77;
  std::set<std::string> distinct;
  for (int k = 3; k < argc; ++k) {
    std::ifstream file(argv[k]);
    if (!file) return std::fprintf(stderr, "%s cannot be read\n", argv[k]), 2;
    for (std::string line; std::getline(file, line);) distinct.insert(line);
  }
  const std::vector<std::string> names(distinct.begin(), distinct.end());
  if (names.empty()) return std::fprintf(stderr, "no kernels are named\n"), 2;
  checked_kernels checked;
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t k; (k = next++) < names.size();)
      checked.check(*compiler, names[k], argv[1], std::atoi(argv[2]));
  };
  std::vector<std::thread> team;
  for (unsigned k = 1; k < std::thread::hardware_concurrency(); ++k) team.emplace_back(work);
  work();
  for (std::thread& t : team) t.join();
  std::printf("%s for %s: %zu kernels\n", compiler->name().c_str(), argv[1], names.size());
  return checked.print() == 0 ? 0 : 1;
}
