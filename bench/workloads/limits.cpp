// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include "limits.hpp"

#include <tapeless/cpu/base/simd.hpp>
#include <tapeless/cpu/base/thread_team.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>

namespace bench {
namespace {

namespace cpu = tapeless::cpu;
using lanes = cpu::simd<float>;
constexpr int width = cpu::width<float>;

using team = cpu::thread_team;

// Seconds of the fastest of `runs` calls.
template <class F> double fastest(int runs, F f) {
  using clock = std::chrono::steady_clock;
  double best = 1e9;
  for (int i = 0; i < runs; ++i) {
    const auto start = clock::now();
    f();
    best = std::min(best, std::chrono::duration<double>(clock::now() - start).count());
  }
  return best;
}

// Two pipes with four cycles of latency need eight chains; twelve and the two factors fit 16 registers.
constexpr int chains = 12;

[[gnu::noinline]] float multiply_add(long rounds, float factor) {
  lanes sum[chains];
  // different starts: equal chains would be computed once
  cpu::unroll<chains>([&](auto i) { sum[i] = lanes(factor + static_cast<float>(i)); });
  const lanes a(factor), b(1 - factor);
  for (long k = 0; k < rounds; ++k) cpu::unroll<chains>([&](auto i) { sum[i] = cpu::fma(sum[i], a, b); });
  cpu::unroll<chains - 1>([&](auto i) { sum[0] = sum[0] + sum[i + 1]; });
  return cpu::hsum(sum[0]);
}

double fma_gflops(int threads, long rounds, int runs) {
  const team members(threads);
  const int size = members.size();
  volatile float factor = 0.5f; // unknown to the compiler
  volatile float sink = 0;
  const double seconds = fastest(runs, [&] {
    members.run(size, [&](cpu::index_t, int member) {
      const float result = multiply_add(rounds, factor);
      if (member == 0) sink = result;
    });
  });
  return size * (2.0 * chains * width) * static_cast<double>(rounds) / seconds * 1e-9;
}

} // namespace

double fma_gflops(int threads) { return fma_gflops(threads, 20'000'000, 5); }
double fma_gflops_now(int threads) { return fma_gflops(threads, 20'000, 2); }

double stream_gigabytes(int threads) {
  constexpr cpu::index_t count = 64'000'000;
  constexpr std::align_val_t line{64};
  const auto release = [line](float* p) { ::operator delete(p, line); };
  const auto allocate = [&] {
    void* const p = ::operator new(static_cast<std::size_t>(count) * sizeof(float), line);
    return std::unique_ptr<float, decltype(release)>(static_cast<float*>(p), release);
  };
  const auto a = allocate(), b = allocate(), c = allocate();
  const team members(threads);
  const int size = members.size();
  const auto each_part = [&](auto&& f) {
    members.run(size, [&](cpu::index_t part, int) {
      const auto cut = [&](cpu::index_t i) { return count * i / size / width * width; };
      f(cut(part), cut(part + 1));
    });
  };
  each_part([&](cpu::index_t begin, cpu::index_t end) { // pages belong to the thread that first writes them
    std::fill(a.get() + begin, a.get() + end, 0.0f);
    std::fill(b.get() + begin, b.get() + end, 1.0f);
    std::fill(c.get() + begin, c.get() + end, 2.0f);
  });
  const lanes three(3.0f);
  const double seconds = fastest(7, [&] {
    each_part([&](cpu::index_t begin, cpu::index_t end) {
      for (cpu::index_t i = begin; i < end; i += width)
        cpu::store(a.get() + i,
                   cpu::fma(three, cpu::load<lanes>(c.get() + i), cpu::load<lanes>(b.get() + i)));
    });
  });
  return 12.0 * static_cast<double>(count) / seconds * 1e-9;
}

} // namespace bench
