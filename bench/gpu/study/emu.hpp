// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Kernels as device code, or (EMULATED) as host threads, a block at a time.
#pragma once
#ifndef EMULATED
#define LAUNCH(kernel, grid, block, bytes, stream, ...) kernel<<<grid, block, bytes, stream>>>(__VA_ARGS__)
#define SHARED __shared__
#define DYNAMIC_SHARED(T, name)                             \
  extern __shared__ __align__(16) unsigned char dynamic_[]; \
  T* const name = reinterpret_cast<T*>(dynamic_)
#else
#include <atomic>
#include <cstring>
#include <functional>
#include <ucontext.h>
#include <vector>
#include <cuda_runtime.h>
#undef __global__
#undef __device__
#undef __host__
#undef __launch_bounds__
#undef __restrict__
#undef __forceinline__
#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)
#define __restrict__
#define __forceinline__ inline
#define SHARED static
namespace emu {
inline dim3 tid, bid, bdim, gdim;
struct barrier {
  unsigned expected = 0, arrived = 0;
  unsigned long long turn = 0;
};
struct fiber {
  ucontext_t c;
  bool done = false;
};
inline std::vector<fiber> fibers;
inline std::vector<char> stacks;
inline ucontext_t scheduler;
inline barrier all;
inline std::vector<barrier> warp;
inline unsigned long long slot[1024];
alignas(256) inline unsigned char dynamic[256 << 10];
inline void wait(barrier& b) {
  const auto t = b.turn;
  if (++b.arrived == b.expected) b.arrived = 0, ++b.turn;
  else
    while (b.turn == t) swapcontext(&fibers[tid.x].c, &scheduler);
}
inline void drop(barrier& b) {
  if (--b.expected == b.arrived && b.arrived > 0) b.arrived = 0, ++b.turn;
}
inline std::function<void()> body;
inline void entry() {
  body();
  drop(all);
  drop(warp[tid.x / 32]);
  fibers[tid.x].done = true;
  swapcontext(&fibers[tid.x].c, &scheduler);
}
template <class F> void launch(dim3 g, dim3 b, F f) {
  constexpr std::size_t stack = 32 << 10;
  gdim = g, bdim = b, body = f;
  stacks.resize(1024 * stack);
  for (unsigned k = 0; k < g.x; ++k) {
    std::memset(dynamic, 0xff, sizeof dynamic);
    bid = dim3(k);
    all = {b.x, 0, 0};
    warp.clear();
    for (unsigned w = 0; w < b.x; w += 32) warp.push_back({b.x - w < 32 ? b.x - w : 32, 0, 0});
    fibers.assign(b.x, {});
    for (unsigned i = 0; i < b.x; ++i) {
      getcontext(&fibers[i].c);
      fibers[i].c.uc_stack.ss_sp = stacks.data() + i * stack;
      fibers[i].c.uc_stack.ss_size = stack;
      fibers[i].c.uc_link = nullptr;
      makecontext(&fibers[i].c, entry, 0);
    }
    for (unsigned left = b.x; left > 0;) {
      left = 0;
      for (unsigned i = 0; i < b.x; ++i)
        if (!fibers[i].done) {
          tid = dim3(i);
          swapcontext(&scheduler, &fibers[i].c);
          left += !fibers[i].done;
        }
    }
  }
}
template <class T> T from(T v, unsigned lane) {
  auto& b = warp[tid.x / 32];
  std::memcpy(&slot[tid.x], &v, sizeof v);
  wait(b);
  T r;
  std::memcpy(&r, &slot[tid.x / 32 * 32 + lane], sizeof r);
  wait(b);
  return r;
}
} // namespace emu
#define threadIdx emu::tid
#define blockIdx emu::bid
#define blockDim emu::bdim
#define gridDim emu::gdim
#define __syncthreads() emu::wait(emu::all)
template <class T> T __shfl_down_sync(unsigned, T v, unsigned d) {
  const unsigned l = emu::tid.x % 32;
  return emu::from(v, l + d < 32 ? l + d : l);
}
template <class T> T __shfl_xor_sync(unsigned, T v, unsigned d) { return emu::from(v, emu::tid.x % 32 ^ d); }
template <class T> T __ldcs(const T* p) { return *p; }
template <class T> T __ldg(const T* p) { return *p; }
template <class T> T atomicAdd(T* p, T v) { return std::atomic_ref<T>(*p).fetch_add(v); }
inline void cudaGridDependencySynchronize() {}
inline void cudaTriggerProgrammaticLaunchCompletion() {}
#define LAUNCH(kernel, grid, block, bytes, stream, ...) \
  emu::launch(dim3(grid), dim3(block), [&] { kernel(__VA_ARGS__); })
#define DYNAMIC_SHARED(T, name) T* const name = reinterpret_cast<T*>(emu::dynamic)
#endif
