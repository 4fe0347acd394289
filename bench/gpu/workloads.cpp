// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// workloads --list             the names, one a line: first those of a few elements, check-...
// workloads [--check] NAME     rows of bench/workloads.def, compiled for the device. check-... and, with --check, others are
//                              compared with the naive reference; others are timed:
//   {"what": "time", "workload": .., "phase": .., "peer": "tapeless-gpu-eager" or "tapeless-gpu-graph", "min_ms": .., ..}
// eager: launch by launch; graph: as a bound program runs from its third run on, one launch. Between two events each, as the
// peers; arguments and results stay on the device.
#include <workloads/session.hpp>

#include <cstring>
#include <exception>

#include "kernels.hpp"

namespace {

#if defined(GPU_SMALL)
constexpr int repeats = 2, warm = 2;
#else
constexpr int repeats = 50, warm = 5;
#endif

void time_phase(const char* workload, const char* phase, void (*call)(const void*), const void* run) {
  support::device_runs& how = support::how_programs_run();
  how = {.copies = true, .eager = true};
  call(run);
  how.copies = false;
  for (const bool eager : {true, false}) {
    how.eager = eager;
    const times t =
        timed(tapeless::cuda::stream::common().get(), [&](cudaStream_t) { call(run); }, repeats, warm);
    line("time")
        .put("workload", workload)
        .put("phase", phase)
        .put("peer", eager ? "tapeless-gpu-eager" : "tapeless-gpu-graph")
        .put("min_ms", t.min_us / 1e3)
        .put("median_ms", t.median_us / 1e3);
  }
  how = {};
}

bool run(const bench::workload& w, bench::purpose of) {
  try {
    bench::session s(of, 1);
    s.begin(w.name);
    w.run(s);
    return !s.failed();
  } catch (const std::exception& e) {
    line("error").put("workload", w.name).put("error", e.what());
    return false;
  }
}
bool is_small(const char* name) { return std::strncmp(name, "check-", 6) == 0; }

} // namespace

// Peaks of the host are not asked for.
namespace bench {
double fma_gflops_now(int) { return 0; }
} // namespace bench

int main(int argc, char** argv) {
  if (gpu::only_writes_kernels()) return 0;
  const std::vector<bench::workload> all = bench::all_workloads();
  if (argc > 1 && std::strcmp(argv[1], "--list") == 0) {
    for (const bool small : {true, false})
      for (const bench::workload& w : all)
        if (is_small(w.name) == small) std::puts(w.name);
    return 0;
  }
  const bool check = argc > 1 && std::strcmp(argv[1], "--check") == 0;
  gpu::need_device("workloads");
  bench::handler = time_phase;
  bool right = true;
  for (int i = check ? 2 : 1; i < argc; ++i)
    for (const bench::workload& w : all) {
      if (std::strcmp(w.name, argv[i]) != 0) continue;
      if (check || is_small(w.name)) right = run(w, bench::purpose::check) && right;
#if defined(GPU_SMALL)
      right = run(w, bench::purpose::hand_over) && right;
#else
      if (!check && !is_small(w.name)) right = run(w, bench::purpose::hand_over) && right;
#endif
    }
  return right ? 0 : 1;
}
