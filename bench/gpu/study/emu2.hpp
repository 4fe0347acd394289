// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Copies to shared memory that wait, launches with programmatic edges; emulated, too: copies happen at the wait.
#pragma once
#include "emu.hpp"
#include <cstdint>
using u64 = unsigned long long;
using u32 = std::uint32_t;
__device__ inline void wait_for_last() {
#ifndef EMULATED
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
#endif
}
#ifndef EMULATED
__device__ inline void async16(float* d, const float* s, bool in) {
  const u32 a = static_cast<u32>(__cvta_generic_to_shared(d));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(a), "l"(s), "r"(in ? 16 : 0) : "memory");
}
__device__ inline void async4(float* d, const float* s, bool in) {
  const u32 a = static_cast<u32>(__cvta_generic_to_shared(d));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(a), "l"(s), "r"(in ? 4 : 0) : "memory");
}
__device__ inline void async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> __device__ inline void async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}
template <class... P, class... A> void launched(bool pdl, void (*k)(P...), int grid, int block, int shared,
                                                cudaStream_t s, A... a) {
  if (shared > 48 << 10) GPU_OK(cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  cudaLaunchConfig_t c{};
  c.gridDim = dim3(static_cast<unsigned>(grid));
  c.blockDim = dim3(static_cast<unsigned>(block));
  c.dynamicSmemBytes = static_cast<std::size_t>(shared);
  c.stream = s;
  cudaLaunchAttribute at[1];
  at[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  at[0].val.programmaticStreamSerializationAllowed = 1;
  c.attrs = at;
  c.numAttrs = pdl ? 1 : 0;
  GPU_OK(cudaLaunchKernelEx(&c, k, static_cast<P>(a)...));
}
#else
#include <deque>
namespace emu {
struct copy {
  float* d;
  const float* s;
  int n;
  bool in;
};
struct copies {
  unsigned block = ~0u;
  std::deque<std::vector<copy>> done;
  std::vector<copy> open;
};
inline copies of_thread[1024];
inline long block_number = 0;
inline copies& mine() { return of_thread[tid.x]; }
inline int shared_bytes = 0;
inline void copy_in(float* d, const float* s, int n, bool in) {
  const auto p = reinterpret_cast<unsigned char*>(d);
  if (p < dynamic || p + 4 * n > dynamic + shared_bytes ||
      reinterpret_cast<std::uintptr_t>(d) % static_cast<unsigned>(4 * n) != 0 ||
      (in && reinterpret_cast<std::uintptr_t>(s) % static_cast<unsigned>(4 * n) != 0)) {
    std::printf("async copy: bad address, thread %u block %u, %ld of %d, n %d in %d\n", tid.x, bid.x,
                static_cast<long>(p - dynamic), shared_bytes, n, in);
    std::abort();
  }
  mine().open.push_back({d, s, n, in});
}
template <class K, class... A> void launched_(K k, int grid, int block, int shared, A... a) {
  shared_bytes = shared;
  for (auto& t : of_thread) t = {};
  launch(dim3(static_cast<unsigned>(grid)), dim3(static_cast<unsigned>(block)), [=] { k(a...); });
  for (auto& t : of_thread)
    for (auto& g : t.done)
      if (!g.empty()) std::printf("async copy: not waited for\n"), std::abort();
}
} // namespace emu
inline void async16(float* d, const float* s, bool in) { emu::copy_in(d, s, 4, in); }
inline void async4(float* d, const float* s, bool in) { emu::copy_in(d, s, 1, in); }
inline void async_commit() {
  emu::mine().done.push_back(std::move(emu::mine().open)), emu::mine().open.clear();
}
template <int N> void async_wait() {
  auto& m = emu::mine();
  for (; m.done.size() > N; m.done.pop_front())
    for (const auto& c : m.done.front())
      for (int i = 0; i < c.n; ++i) c.d[i] = c.in ? c.s[i] : 0.0f;
}
template <class T> T __shfl_up_sync(unsigned, T v, unsigned d) {
  const unsigned l = emu::tid.x % 32;
  return emu::from(v, l >= d ? l - d : l);
}
template <class T> T __shfl_sync(unsigned, T v, unsigned l) { return emu::from(v, l % 32); }
inline unsigned __ballot_sync(unsigned, bool v) {
  unsigned r = 0;
  const unsigned lane = emu::tid.x % 32;
  for (unsigned k = 0; k < 32; ++k)
    r |= static_cast<unsigned>(emu::from(v, (lane + k) % 32)) << ((lane + k) % 32);
  return r;
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline void __syncwarp() { emu::wait(emu::warp[emu::tid.x / 32]); }
inline unsigned __float_as_uint(float f) {
  unsigned u;
  std::memcpy(&u, &f, 4);
  return u;
}
template <class... P, class... A> void launched(bool, void (*k)(P...), int grid, int block, int shared,
                                                cudaStream_t, A... a) {
  emu::launched_(k, grid, block, shared, static_cast<P>(a)...);
}
#endif
template <class T> T* device(u64 n) {
  void* p = nullptr;
  GPU_OK(cudaMalloc(&p, n * sizeof(T) + 256));
  return static_cast<T*>(p);
}
__host__ __device__ inline float unit(u64 x) {
  x = (x + 0x9E3779B97F4A7C15ull) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  x ^= x >> 31;
  return static_cast<float>(static_cast<int>(x >> 40) - (1 << 23)) / (1 << 23);
}
__global__ void fill_units(float* x, u64 n, u64 seed, float scale) {
  for (u64 i = blockIdx.x * static_cast<u64>(blockDim.x) + threadIdx.x; i < n;
       i += static_cast<u64>(gridDim.x) * blockDim.x)
    x[i] = unit(i ^ (seed << 40)) * scale;
}
// sums of partial results, in order: 32 outputs a block, 8 lanes of splits
struct sum_job {
  const float* partial;
  float* y;
  int n, splits;
};
struct sum_jobs {
  sum_job job[8];
  int first[9];
};
__global__ void __launch_bounds__(256) sums(const sum_jobs a) {
  SHARED float of[256];
  wait_for_last();
  int k = 0;
  while (static_cast<int>(blockIdx.x) >= a.first[k + 1]) ++k;
  const sum_job j = a.job[k];
  const int lane = static_cast<int>(threadIdx.x) % 32, row = static_cast<int>(threadIdx.x) / 32,
            i = (static_cast<int>(blockIdx.x) - a.first[k]) * 32 + lane;
  float s = 0;
  if (i < j.n) {
#pragma unroll 8
    for (int p = row; p < j.splits; p += 8)
      s += j.partial[static_cast<u64>(p) * static_cast<u64>(j.n) + static_cast<u64>(i)];
  }
  of[threadIdx.x] = s;
  __syncthreads();
  if (row == 0 && i < j.n) {
#pragma unroll
    for (int r = 1; r < 8; ++r) s += of[r * 32 + lane];
    j.y[i] = s;
  }
}
inline void sum(cudaStream_t s, bool pdl, const std::vector<sum_job>& jobs) {
  sum_jobs a{};
  int at = 0;
  for (std::size_t k = 0; k < jobs.size(); ++k)
    a.job[k] = jobs[k], a.first[k] = at, at += (jobs[k].n + 31) / 32;
  for (std::size_t k = jobs.size(); k < 9; ++k) a.first[k] = at;
  launched(pdl, sums, at, 256, 0, s, a);
}
// a: device floats, b: device doubles. The relative error in the 2-norm
inline double norm_error(const float* a, const double* b, u64 n) {
  std::vector<float> x(n);
  std::vector<double> y(n);
  GPU_OK(cudaDeviceSynchronize());
  GPU_OK(cudaMemcpy(x.data(), a, n * 4, cudaMemcpyDeviceToHost));
  GPU_OK(cudaMemcpy(y.data(), b, n * 8, cudaMemcpyDeviceToHost));
  double d = 0, s = 0;
  for (u64 i = 0; i < n; ++i) {
    const double e = static_cast<double>(x[i]) - y[i];
    d += std::isnan(e) ? 1e30 : e * e;
    s += y[i] * y[i];
  }
  return std::sqrt(d / (s > 0 ? s : 1));
}
// us of one f: a graph of `reps` of it, and of a single one
struct graph_times {
  double in_chain = 0, each = 0, each_min = 0;
};
template <class F> graph_times graphed(cudaStream_t s, F&& f, int reps = 10, int repeats = 15) {
#ifdef EMULATED
  (void)s, (void)f, (void)reps, (void)repeats;
  return {};
#else
  graph_times r;
  const auto time = [&](int n, int many) {
    const cudaGraphExec_t g = captured(s, [&](cudaStream_t t) {
      for (int i = 0; i < n; ++i) f(t);
    });
    const times t = timed(s, [&](cudaStream_t t2) { GPU_OK(cudaGraphLaunch(g, t2)); }, many, 2);
    GPU_OK(cudaGraphExecDestroy(g));
    return t;
  };
  r.in_chain = time(reps, repeats).median_us / reps;
  const times one = time(1, 2 * repeats);
  r.each = one.median_us, r.each_min = one.min_us;
  return r;
#endif
}
