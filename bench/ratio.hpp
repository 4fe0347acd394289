#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// What is compared takes turns in one process, in batches; the figures are the fastest batch of each.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

namespace bench {

template <class... F> std::array<double, sizeof...(F)> fastest_seconds(benchmark::State& state,
                                                                       const F&... f) {
  using clock = std::chrono::steady_clock;
  constexpr double batch_seconds = 1e-4;
  const auto seconds = [](long calls, const auto& call) {
    const auto start = clock::now();
    for (long i = 0; i < calls; ++i) call();
    return std::chrono::duration<double>(clock::now() - start).count();
  };
  const auto batch = [&](const auto& call) {
    seconds(10, call);
    return std::max(1L, static_cast<long>(batch_seconds / (seconds(10, call) / 10)));
  };
  const std::array<long, sizeof...(F)> calls{batch(f)...};
  std::array<double, sizeof...(F)> best;
  best.fill(1e9);
  for ([[maybe_unused]] auto _ : state) {
    std::size_t k = 0;
    double all = 0;
    const auto turn = [&](const auto& call) {
      const double t = seconds(calls[k], call) / static_cast<double>(calls[k]);
      best[k] = std::min(best[k], t);
      all += t;
      ++k;
    };
    (turn(f), ...);
    state.SetIterationTime(all);
  }
  return best;
}

} // namespace bench
