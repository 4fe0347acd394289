// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The workloads with one version of the library: a shared object that compare.cpp opens.
#include <string_view>

#include "workloads/session.hpp"

#define TAPELESS_EXPORT extern "C" __attribute__((visibility("default")))

TAPELESS_EXPORT void each_name(void (*f)(const char*)) {
  for (const bench::workload& w : bench::all_workloads()) f(w.name);
}
TAPELESS_EXPORT void run_phases(const char* name, bench::phase_handler* handler) {
  bench::handler = handler;
  for (const bench::workload& w : bench::all_workloads())
    if (std::string_view(name) == w.name) {
      bench::session s(bench::purpose::hand_over, 1);
      s.begin(w.name);
      w.run(s);
    }
}
