// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// bench_workloads --list                    the names, one a line
// bench_workloads NAME... [--threads N]     JSON lines: the machine's limits; a check of every phase against the
//                                           naive reference; then the times, with the FMA peak between the batches
// bench_workloads --plans NAME...           the plan of each program, to compare before and after a change
// Status: 1 where a check fails (nothing is timed then), 2 for a call that is not understood.

#include "workloads/limits.hpp"
#include "workloads/reference.hpp"
#include "workloads/session.hpp"

#include <charconv>
#include <cstring>
#include <string_view>

namespace {

bool run(const std::vector<bench::workload>& chosen, bench::purpose of, int threads) {
  bench::session s(of, threads);
  for (const bench::workload& w : chosen) {
    s.begin(w.name);
    w.run(s);
  }
  return !s.failed();
}

int misuse(const char* what, std::string_view word) {
  std::fprintf(stderr,
               "bench_workloads: %s: %.*s\nusage: bench_workloads --list | [--plans] NAME... [--threads N]\n",
               what, static_cast<int>(word.size()), word.data());
  return 2;
}

} // namespace

int main(int argc, char** argv) {
  const std::vector<bench::workload> all = bench::all_workloads();
  std::vector<bench::workload> chosen;
  int threads = 1;
  bool plans = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--list") {
      for (const bench::workload& w : all) std::puts(w.name);
      return 0;
    }
    if (word == "--plans") {
      plans = true;
      continue;
    }
    if (word == "--threads") {
      const char* const number = i + 1 < argc ? argv[++i] : "";
      const char* const end = number + std::strlen(number);
      const auto parsed = std::from_chars(number, end, threads);
      if (parsed.ec != std::errc{} || parsed.ptr != end || threads < 1 || threads > 1024)
        return misuse("--threads wants a number from 1 to 1024", number);
      continue;
    }
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& w) { return word == w.name; });
    if (found == all.end()) return misuse("unknown workload", word);
    chosen.push_back(*found);
  }
  if (chosen.empty()) return misuse("no workload named", "");
  if (plans) {
    run(chosen, bench::purpose::plan, threads);
    return 0;
  }
  if (!bench::reference_agrees()) {
    std::fputs("bench_workloads: the fast loops of the reference differ from tests/reference\n", stderr);
    return 1;
  }
  std::printf("{\"limit\":\"fma_gflops\",\"threads\":%d,\"value\":%.1f}\n", threads,
              bench::fma_gflops(threads));
  std::printf("{\"limit\":\"stream_GBs\",\"threads\":%d,\"value\":%.1f}\n", threads,
              bench::stream_gigabytes(threads));
  std::fflush(stdout);
  if (!run(chosen, bench::purpose::check, threads)) return 1;
  run(chosen, bench::purpose::time, threads);
}
