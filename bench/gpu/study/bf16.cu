// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// relu(a x + b) m over 2^26 elements as a fused group's kernel: fp32 and bf16 in memory, 1 or 16 bytes' worth a lane.
#include "common.hpp"
#include "emu2.hpp"
#include <cuda_bf16.h>
#include <cstring>
template <class T> __device__ inline float wide(T x) { return static_cast<float>(x); }
template <class T, int V> __global__ void __launch_bounds__(256) loop(const T* x, const T* m, T* y, u32 n) {
  struct alignas(sizeof(T) * V) vec { T e[V]; };
  for (u32 i = blockIdx.x * 256 + threadIdx.x; i < n / V; i += gridDim.x * 256) {
    const vec a = reinterpret_cast<const vec*>(x)[i], b = reinterpret_cast<const vec*>(m)[i];
    vec r;
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const float z = 1.5f * wide(a.e[k]) + 0.25f;
      r.e[k] = static_cast<T>((z <= 0 ? 0 : z) * wide(b.e[k]));
    }
    reinterpret_cast<vec*>(y)[i] = r;
  }
}
template <class T> __global__ void narrow(const float* x, T* y, u32 n) {
  for (u32 i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) y[i] = static_cast<T>(x[i]);
}
static cudaStream_t stream;
static double copy_gbs = 1;
template <class T, int V> void one(const char* name, const T* x, const T* m, T* y, u32 n) {
  for (const bool all : {false, true}) {
    const unsigned grid = all ? (n / V + 255) / 256 : 1056;
    const auto f = [&](cudaStream_t s) { loop<T, V><<<grid, 256, 0, s>>>(x, m, y, n); };
    f(stream);
    GPU_OK(cudaGetLastError());
    GPU_OK(cudaDeviceSynchronize());
    constexpr u32 some = 4096;
    std::vector<T> a(some), b(some), c(some);
    double worst = 0;
    for (const u32 at : {0u, n - some}) {
      GPU_OK(cudaMemcpy(a.data(), x + at, some * sizeof(T), cudaMemcpyDeviceToHost));
      GPU_OK(cudaMemcpy(b.data(), m + at, some * sizeof(T), cudaMemcpyDeviceToHost));
      GPU_OK(cudaMemcpy(c.data(), y + at, some * sizeof(T), cudaMemcpyDeviceToHost));
      for (u32 i = 0; i < some; ++i) {
        const double z = 1.5 * static_cast<double>(static_cast<float>(a[i])) + 0.25;
        worst = std::max(worst, std::fabs((z <= 0 ? 0 : z) * static_cast<double>(static_cast<float>(b[i])) - static_cast<double>(static_cast<float>(c[i]))));
      }
    }
    const double us = timed(stream, f, 15, 3).median_us;
    line("bf16").put("loop", name).put("way", std::to_string(sizeof(T) * V) + " B a lane, " + std::to_string(grid) + " blocks").put("right", worst < (sizeof(T) == 4 ? 1e-6 : 0.02)).put("error", worst).put("us", us).put("percent_of_copy", 3e-3 * sizeof(T) * n / us / copy_gbs * 100);
  }
}
int main() {
  need_device("bf16");
  GPU_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const u32 n = 1u << 26;
  float *x = device<float>(n), *m = device<float>(n), *y = device<float>(n);
  auto *bx = device<__nv_bfloat16>(n), *bm = device<__nv_bfloat16>(n), *by = device<__nv_bfloat16>(n);
  fill_units<<<1056, 256, 0, stream>>>(x, n, 1, 1.0f);
  fill_units<<<1056, 256, 0, stream>>>(m, n, 2, 1.0f);
  narrow<<<1056, 256, 0, stream>>>(x, bx, n);
  narrow<<<1056, 256, 0, stream>>>(m, bm, n);
  const times c = timed(stream, [&](cudaStream_t s) { GPU_OK(cudaMemcpyAsync(y, x, n * 4ull, cudaMemcpyDeviceToDevice, s)); }, 10, 2);
  copy_gbs = 8e-3 * n / c.median_us;
  one<float, 1>("fp32", x, m, y, n);
  one<float, 4>("fp32", x, m, y, n);
  one<__nv_bfloat16, 1>("bf16", bx, bm, by, n);
  one<__nv_bfloat16, 2>("bf16", bx, bm, by, n);
  one<__nv_bfloat16, 8>("bf16", bx, bm, by, n);
  line("stage ends");
}
