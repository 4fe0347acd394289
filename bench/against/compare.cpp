// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// compare OLD.so NEW.so SECONDS NAME...   times the phases of two versions of the library in one process, in turns, on
// one thread. Each version runs in a thread of its own that waits while the other one is timed: it holds its data and
// its bound programs. A line a phase: the medians in ms, and the median of the ratios.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <semaphore>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <dlfcn.h>

namespace {

using handler = void(const char* workload, const char* phase, void (*call)(const void*), const void* run);

struct version {
  void (*run_phases)(const char*, handler*) = nullptr;
  std::binary_semaphore go{0}, ready{0};
  std::string phase; // empty: there are no more
  void (*call)(const void*) = nullptr;
  const void* run = nullptr;

  double ms(long calls) const {
    using clock = std::chrono::steady_clock;
    const auto start = clock::now();
    for (long i = 0; i < calls; ++i) call(run);
    return std::chrono::duration<double, std::milli>(clock::now() - start).count() /
           static_cast<double>(calls);
  }
};
std::array<version, 2> versions;

template <int I> void take(const char*, const char* phase, void (*call)(const void*), const void* run) {
  version& v = versions[I];
  v.phase = phase;
  v.call = call;
  v.run = run;
  v.ready.release();
  v.go.acquire();
}
template <int I> void run_in_thread(const std::string& name) {
  versions[I].run_phases(name.c_str(), take<I>);
  versions[I].phase.clear();
  versions[I].ready.release();
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

// Batches of 2 ms in the order old, new, new, old, for some seconds and at least 10 times. The ratio of these times,
// (new + new) / (old + old), does not see that who comes second finds other caches.
void compare(const std::string& name, double seconds) {
  const version &before = versions[0], &after = versions[1];
  double once = 1e9;
  for (int i = 0; i < 3; ++i) {
    once = std::min(once, before.ms(1));
    after.ms(1);
  }
  const long calls = std::max(1L, static_cast<long>(2 / once));
  std::vector<double> old_ms, new_ms, ratios;
  const auto start = std::chrono::steady_clock::now();
  while (ratios.size() < 10 ||
         std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < seconds) {
    const double old_first = before.ms(calls), new_second = after.ms(calls);
    const double new_first = after.ms(calls), old_second = before.ms(calls);
    old_ms.push_back((old_first + old_second) / 2);
    new_ms.push_back((new_first + new_second) / 2);
    ratios.push_back(new_ms.back() / old_ms.back());
  }
  std::printf("%-20s %-22s %10.4f ms -> %10.4f ms   %.3f\n", name.c_str(), before.phase.c_str(),
              median(old_ms), median(new_ms), median(ratios));
  std::fflush(stdout);
}

std::vector<std::string> names;

} // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: compare OLD.so NEW.so SECONDS NAME...\n", stderr);
    return 2;
  }
  for (std::size_t i = 0; i < 2; ++i) {
    void* const opened = dlopen(argv[1 + i], RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      return 2;
    }
    versions[i].run_phases = reinterpret_cast<void (*)(const char*, handler*)>(dlsym(opened, "run_phases"));
    if (i == 0)
      reinterpret_cast<void (*)(void (*)(const char*))>(dlsym(opened, "each_name"))(
          [](const char* n) { names.emplace_back(n); });
  }
  for (int i = 4; i < argc; ++i)
    if (std::find(names.begin(), names.end(), argv[i]) == names.end()) {
      std::fprintf(stderr, "compare: unknown workload: %s\n", argv[i]);
      return 2;
    }
  for (const std::string& name : names) {
    if (argc > 4 && std::find(argv + 4, argv + argc, std::string_view(name)) == argv + argc) continue;
    std::thread threads[] = {std::thread(run_in_thread<0>, name), std::thread(run_in_thread<1>, name)};
    for (version& v : versions) v.ready.acquire();
    while (!versions[0].phase.empty() && !versions[1].phase.empty()) {
      compare(name, std::atof(argv[3]));
      for (version& v : versions) {
        v.go.release();
        v.ready.acquire();
      }
    }
    for (std::thread& t : threads) t.join();
  }
}
