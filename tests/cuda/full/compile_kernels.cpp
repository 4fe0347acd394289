// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// compile_kernels ARCH MOST_REGISTERS FILE...: compiles the kernels that the files name, a line each. It fails where one is not
// as support::fault_of wants it. It prints how many kernels there are of each number of registers. Ends with 77 where there is
// no compiler.
#include <support/kernel_facts.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  if (argc < 4) return std::fprintf(stderr, "compile_kernels ARCH MOST_REGISTERS FILE...\n"), 2;
  const tapeless::cuda::nvrtc* const compiler = support::compiler_of_kernels();
  if (compiler == nullptr) return std::puts("skipped: there is no NVRTC"), 77;
  std::set<std::string> distinct;
  for (int k = 3; k < argc; ++k) {
    std::ifstream file(argv[k]);
    if (!file) return std::fprintf(stderr, "%s cannot be read\n", argv[k]), 2;
    for (std::string line; std::getline(file, line);) distinct.insert(line);
  }
  const std::vector<std::string> names(distinct.begin(), distinct.end());
  if (names.empty()) return std::fprintf(stderr, "no kernels are named\n"), 2;
  std::map<int, int> kernels_of_registers;
  int bad = 0;
  for (const support::kernel_facts& f : support::facts_of(*compiler, names, argv[1])) {
    ++kernels_of_registers[f.registers];
    const std::string fault = support::fault_of(f, std::atoi(argv[2]));
    bad += fault.empty() ? 0 : 1;
    if (!fault.empty()) std::puts(fault.c_str());
  }
  std::printf("%s, %s: %zu kernels, %d bad\n", compiler->name().c_str(), argv[1], names.size(), bad);
  for (const auto& [registers, kernels] : kernels_of_registers)
    std::printf("%3d registers: %d\n", registers, kernels);
  return bad == 0 ? 0 : 1;
}
