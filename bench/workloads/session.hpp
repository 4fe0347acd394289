#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// A workload is a function of a session. It is called twice: once to check every phase against the naive
// reference, and when all phases of all workloads are right, once more to time them. Or once, to print its plans, or to
// hand its phases to who compares two versions of the library (bench/against).

#include <tapeless/tapeless.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

#include "limits.hpp"

namespace bench {

namespace tl = tapeless;

class session;

struct workload {
  int line; // of workloads.def: the order of --list
  const char* name;
  void (*run)(session&);
};
// Each kind lists its own, before main.
inline std::vector<workload>& listed_workloads() {
  static std::vector<workload> all;
  return all;
}
inline bool list(std::span<const workload> rows) {
  listed_workloads().insert(listed_workloads().end(), rows.begin(), rows.end());
  return true;
}
// In the order of workloads.def.
inline std::vector<workload> all_workloads() {
  std::vector<workload> all = listed_workloads();
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.line < b.line; });
  return all;
}

using values = std::vector<double>;
using leaves = std::vector<values>;

// Uniform in [-1, 1), the same on every machine (splitmix64).
inline void fill(std::uint64_t seed, float* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    seed += 0x9e3779b97f4a7c15u;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    to[i] = static_cast<float>(z >> 40) * 0x1p-23f - 1.0f;
  }
}
template <class View> void fill(std::uint64_t seed, const View& v) { fill(seed, v.data(), v.size()); }

template <class View> values copy(const View& v) { return values(v.begin(), v.end()); }

// A sum of `terms` numbers of random signs has a size of sqrt(terms) of them and, in float, a rounding error of up
// to about sqrt(terms) 2^-24 of that size where it is summed one by one; a term left out or counted twice changes
// it by 1 / sqrt(terms). Errors are measured against the largest element.
inline double tolerance(double terms) { return 4 * std::sqrt(std::max(terms, 4.0)) * 0x1p-24; }

enum class purpose { check, time, plan, hand_over };

// Of purpose::hand_over: gets each phase in place of the session's clock; call(run) is one call.
using phase_handler = void(const char* workload, const char* phase, void (*call)(const void*),
                           const void* run);
inline phase_handler* handler = nullptr;

class session {
public:
  session(purpose of, int threads) : of_(of), threads_(threads) {}

  void begin(const char* workload) { workload_ = workload; }
  bool checking() const { return of_ == purpose::check; }
  tl::threads threads() const { return tl::threads(threads_); }
  bool failed() const { return failed_; }

  // Prints the plan of a bound program.
  template <class Backend, bool Load, class F, class... A>
  void plan(const tl::detail::bound<Backend, Load, F, A...>&) const {
    if (of_ != purpose::plan) return;
    std::printf("%s\n%s\n", workload_,
                tl::detail::explain_text(tl::detail::laid_out_for<Backend, F, A...>::value,
                                         tl::detail::planned_for<Load, Backend, F, A...>::value)
                    .c_str());
  }

  // run(): one call of a bound program.   expected(): the leaves of its result in order.
  // terms: the length of the longest sum.
  template <class Run, class Expected>
  void phase(const char* name, double terms, const Run& run, const Expected& expected) {
    if (of_ == purpose::plan) return;
    if (of_ == purpose::time) return report(name, time(run));
    if (of_ == purpose::hand_over)
      return handler(workload_, name, [](const void* r) { (*static_cast<const Run*>(r))(); }, &run);
    leaves got;
    const auto tree = run();
    tl::for_each_leaf(tree, [&](const auto& leaf) { got.push_back(copy(leaf)); });
    check(name, got, expected(), tolerance(terms));
  }

private:
  struct timing {
    double min_ms, median_ms;
    double fma_gflops; // the machine's between the batches, median
  };

  static double median(std::vector<double>& all) {
    std::sort(all.begin(), all.end());
    return all[all.size() / 2];
  }

  // Short programs are timed in batches of 0.2 ms; 20 batches and 0.3 s at least, 12 s at most. Every 10 ms
  // the machine's limit is taken, too.
  template <class Run> timing time(const Run& run) const {
    using clock = std::chrono::steady_clock;
    const auto since = [](clock::time_point t) {
      return std::chrono::duration<double>(clock::now() - t).count();
    };
    auto start = clock::now();
    long calls = 0;
    for (; calls < 3 || since(start) < 0.1; ++calls) run();
    const long batch = std::max(1L, static_cast<long>(2e-4 * static_cast<double>(calls) / since(start)));
    std::vector<double> ms, gflops;
    start = clock::now();
    auto taken = start;
    while (ms.size() < 20 || since(start) < 0.3) {
      const auto t = clock::now();
      for (long i = 0; i < batch; ++i) run();
      ms.push_back(since(t) * 1e3 / static_cast<double>(batch));
      if (gflops.empty() || since(taken) > 0.01) {
        gflops.push_back(fma_gflops_now(threads_));
        taken = clock::now();
      }
      if (since(start) > 12 && ms.size() > 4) break;
    }
    const double middle = median(ms);
    return {ms.front(), middle, median(gflops)};
  }

  void report(const char* phase, const timing& t) const {
    std::printf(
        "{\"workload\":\"%s\",\"peer\":\"tapeless\",\"phase\":\"%s\",\"threads\":%d,\"min_ms\":%.7g,\"median_ms\":%.7g,\"fma_gflops\":%.4g}\n",
        workload_, phase, threads_, t.min_ms, t.median_ms, t.fma_gflops);
    std::fflush(stdout);
  }

  // max |a - b| / max |b|, the largest over the leaves
  void check(const char* phase, const leaves& got, const leaves& expected, double limit) {
    double worst = got.size() == expected.size() ? 0 : HUGE_VAL;
    for (std::size_t k = 0; k < std::min(got.size(), expected.size()); ++k) {
      double error = got[k].size() == expected[k].size() ? 0 : HUGE_VAL, size = 0;
      for (std::size_t i = 0; i < std::min(got[k].size(), expected[k].size()); ++i) {
        const double e = std::abs(got[k][i] - expected[k][i]);
        error = e <= error ? error : std::isnan(e) ? HUGE_VAL : e;
        size = std::max(size, std::abs(expected[k][i]));
      }
      worst = std::max(worst, size > 0 ? error / size : error);
    }
    std::printf("{\"check\":\"%s\",\"phase\":\"%s\",\"max_rel_err\":%.3g}\n", workload_, phase,
                std::isfinite(worst) ? worst : 1e300);
    std::fflush(stdout);
    if (worst <= limit) return;
    std::fprintf(stderr, "bench_workloads: %s %s: error %.3g, tolerance %.3g\n", workload_, phase, worst,
                 limit);
    failed_ = true;
  }

  purpose of_;
  bool failed_ = false;
  int threads_;
  const char* workload_ = "";
};

} // namespace bench
