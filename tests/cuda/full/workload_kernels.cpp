// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Notes the kernels of the workloads that it is linked with, in $TAPELESS_KERNEL_NAMES: each phase is called once, and with
// $TAPELESS_KERNELS_ONLY no kernel runs.
#include <support/emulated_backend.hpp>

#include <workloads/session.hpp>

#include <doctest/doctest.h>

TEST_CASE("the phases of the workloads launch kernels") {
  static int phases = 0;
  bench::handler = [](const char*, const char*, void (*call)(const void*), const void* run) {
    call(run);
    ++phases;
  };
  bench::session session(bench::purpose::hand_over, 1);
  for (const bench::workload& w : bench::all_workloads()) {
    session.begin(w.name);
    w.run(session);
  }
  CHECK(phases > 0);
}
