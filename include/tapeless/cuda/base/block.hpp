// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// What a kernel sees of the threads that run it. The headers of base/, fused/ and kernels/ are one text for two compilers:
// that of the device, and that of the host, where blocks and threads are loops. So tests and sanitizers see the kernels
// themselves. On the device they include nothing of std but <cstdint>. A kernel is an object: its members are the arguments,
// block runs it.
//   kernel(block)
//   block.each(n, f)                             f(i) for i in [0, n), each by one thread of the grid
//   block.groups<G, R>(n, each, combine, end)    for i in [0, n), each by a group of G threads, neighbours in a warp:
//                                                r = each(i, lane) of all lanes, combined as a tree; end(i, r) by one lane
//   block.chains<G, R>(n, steps, each, combine, end)
//                                                for one step after another: the same of each(i, step, lane) and
//                                                end(i, step, r); a step sees what earlier steps of its i have written
//   block.add(p, n)                              *p += n, of integers: in any order the same
// The order of a combination depends on G alone: sums have the same bits on each device, and on the host but for functions
// and contraction.
#pragma once
#include <cstdint>

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define TAPELESS_KERNEL __host__ __device__ __forceinline__
#define TAPELESS_CALLED_BY_KERNELS \
  inline __host__ __device__ __noinline__ // keeps the registers of a kernel few
#define TAPELESS_UNROLL _Pragma("unroll")
#else
#define TAPELESS_KERNEL [[gnu::always_inline]] inline
#define TAPELESS_CALLED_BY_KERNELS inline
#define TAPELESS_UNROLL _Pragma("GCC unroll 8")
#endif

namespace tapeless::cuda {

using index_t = std::int64_t;
using count_t = std::uint32_t; // of what the threads of a launch go through: at most most_counted

inline constexpr count_t block_threads = 256, most_counted = 0xf0000000u;

// Which rows of a counted axis are there: `each` for each one that was counted. count: nullptr if all are.
struct counted_rows {
  const index_t* count;
  count_t each;
  TAPELESS_KERNEL bool has(count_t row) const { return count == nullptr || row < each * *count; }
};

// Blocks and threads as loops. A device has no order of threads: tests take several.
enum class thread_order { ascending, descending, odd_first };
struct host_block {
  count_t index = 0, blocks = 1;
  thread_order order = thread_order::ascending;

  template <class F> void each(count_t n, F&& f) const {
    for (std::uint64_t first = std::uint64_t{index} * block_threads; first < n;
         first += std::uint64_t{blocks} * block_threads)
      in_order(n - first < block_threads ? n - first : block_threads,
               [&](std::uint64_t i) { f(static_cast<count_t>(first + i)); });
  }
  template <int G, class R, class Each, class Combine, class End>
  void groups(count_t n, Each&& each, Combine&& combine, End&& end) const {
    static_assert(G <= 32 && (G & (G - 1)) == 0);
    constexpr std::uint64_t per = block_threads / G;
    for (std::uint64_t first = index * per; first < n; first += blocks * per)
      in_order(n - first < per ? n - first : per, [&](std::uint64_t group) {
        const auto i = static_cast<count_t>(first + group);
        R r[G];
        in_order(G, [&](std::uint64_t lane) { r[lane] = each(i, static_cast<count_t>(lane)); });
        for (int d = G / 2; d > 0; d /= 2)
          for (int l = 0; l < d; ++l) combine(r[l], r[l + d]);
        end(i, r[0]);
      });
  }
  template <int G, class R, class Each, class Combine, class End>
  void chains(count_t n, count_t steps, Each&& each, Combine&& combine, End&& end) const {
    for (count_t step = 0; step < steps; ++step)
      groups<G, R>(
          n, [&](count_t i, count_t lane) { return each(i, step, lane); }, combine,
          [&](count_t i, const R& r) { end(i, step, r); });
  }
  void add(count_t* p, count_t n) const { *p += n; }

private:
  template <class F> void in_order(std::uint64_t n, F&& f) const {
    if (order == thread_order::ascending)
      for (std::uint64_t i = 0; i < n; ++i) f(i);
    else if (order == thread_order::descending)
      for (std::uint64_t i = n; i-- > 0;) f(i);
    else {
      for (std::uint64_t i = 1; i < n; i += 2) f(i);
      for (std::uint64_t i = 0; i < n; i += 2) f(i);
    }
  }
};

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
struct device_block {
  template <class F> __device__ __forceinline__ void each(count_t n, F&& f) const {
    // most_counted leaves room: i does not wrap
    for (count_t i = blockIdx.x * block_threads + threadIdx.x; i < n; i += gridDim.x * block_threads) f(i);
  }
  // R is an array x of numbers.
  template <class R> __device__ __forceinline__ static R from_lane(const R& r, int d) {
    R y;
    constexpr int n = sizeof(r.x) / sizeof(r.x[0]);
    TAPELESS_UNROLL
    for (int k = 0; k < n; ++k) y.x[k] = __shfl_down_sync(0xffffffffu, r.x[k], d);
    return y;
  }
  template <int G, class R, class Each, class Combine, class End>
  __device__ __forceinline__ void groups(count_t n, Each&& each, Combine&& combine, End&& end) const {
    constexpr count_t per = block_threads / G;
    const count_t g = threadIdx.x / G, lane = threadIdx.x % G;
    for (count_t first = blockIdx.x * per; first < n; first += gridDim.x * per) {
      const bool mine = first + g < n;
      R r{};
      if (mine) r = each(first + g, lane);
      if constexpr (G > 1)
        for (int d = G / 2; d > 0; d /= 2) combine(r, from_lane(r, d));
      if (mine && lane == 0) end(first + g, r);
    }
  }
  template <int G, class R, class Each, class Combine, class End>
  __device__ __forceinline__ void chains(count_t n, count_t steps, Each&& each, Combine&& combine,
                                         End&& end) const {
    for (count_t step = 0; step < steps; ++step) {
      groups<G, R>(
          n, [&](count_t i, count_t lane) { return each(i, step, lane); }, combine,
          [&](count_t i, const R& r) { end(i, step, r); });
      __syncwarp();
    }
  }
  __device__ __forceinline__ void add(count_t* p, count_t n) const { atomicAdd(p, n); }
};
// __grid_constant__: members stay where the launch has put them, without a copy in local memory.
template <class Kernel> __global__ void __launch_bounds__(block_threads)
    run_kernel(const __grid_constant__ Kernel k) {
  k(device_block{});
}
#endif

} // namespace tapeless::cuda
