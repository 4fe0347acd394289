#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Kernels that do the same work, timed in turns so that all of them meet the same weather.

#include <tapeless/cpu/base/thread_team.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <new>
#include <string>
#include <vector>

namespace bench {

using team_type = tapeless::cpu::thread_team;

struct contestant {
  std::string name;
  std::function<void()> run;
  double ms = 1e9; // the fastest call
};

inline void time(std::vector<contestant>& all) {
  using clock = std::chrono::steady_clock;
  const auto since = [](clock::time_point t) {
    return std::chrono::duration<double>(clock::now() - t).count();
  };
  for (int round = 0; round < 9; ++round)
    for (contestant& c : all) {
      const int calls = std::clamp(static_cast<int>(0.1 / c.ms), 1, 10000);
      const auto start = clock::now();
      do {
        const auto t = clock::now();
        for (int k = 0; k < calls; ++k) c.run();
        if (round > 0) c.ms = std::min(c.ms, since(t) / calls * 1e3);
        else c.ms = since(t) / calls * 1e3;
      } while (since(start) < 0.012);
    }
}

// From a cache line on, as the arena of a program and memory that the library owns.
template <class T> struct line_allocator {
  using value_type = T;
  static constexpr std::align_val_t line{64};
  line_allocator() = default;
  template <class U> line_allocator(const line_allocator<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), line)); }
  void deallocate(T* p, std::size_t) { ::operator delete(p, line); }
  template <class U> bool operator==(const line_allocator<U>&) const { return true; }
};
template <class T> using aligned_vector = std::vector<T, line_allocator<T>>;

// Uniform in [-1, 1).
template <class T> aligned_vector<T> random_values(std::int64_t n, unsigned seed) {
  aligned_vector<T> v(static_cast<std::size_t>(n));
  for (T& x : v) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<T>(static_cast<float>(seed >> 8) * 0x1p-23f - 1.0f);
  }
  return v;
}

} // namespace bench
