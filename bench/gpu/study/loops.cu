// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// relu(a x + b) m over 2^26 floats, and its sums by row and by column: 4 or 16 bytes a lane; blocks as a sketch of the back end chooses them, or more.
#include "common.hpp"
#include "emu.hpp"
#include <cstdint>
#include <cstring>

using u32 = std::uint32_t;
template <int V> struct vec;
template <> struct vec<1> { using type = float; };
template <> struct vec<4> { using type = float4; };
__device__ inline float code(float x, float m) {
  const float z = 1.5f * x + 0.25f;
  return (z <= 0 ? 0 : z) * m;
}
__device__ inline float4 code(float4 x, float4 m) {
  float4 r;
  r.x = code(x.x, m.x), r.y = code(x.y, m.y), r.z = code(x.z, m.z), r.w = code(x.w, m.w);
  return r;
}
__device__ inline float total(float v) { return v; }
__device__ inline float total(float4 v) { return v.x + v.y + (v.z + v.w); }
__device__ inline void add(float& a, float b) { a += b; }
__device__ inline void add(float4& a, float4 b) { a.x += b.x, a.y += b.y, a.z += b.z, a.w += b.w; }

template <int V, int U> __global__ void __launch_bounds__(256) dense(const float* x, const float* m, float* y, u32 n) {
  using T = typename vec<V>::type;
  const u32 step = gridDim.x * blockDim.x;
  for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < n / V; i += step * U) {
    T a[U], b[U];
#pragma unroll
    for (int u = 0; u < U; ++u)
      if (i + u * step < n / V) a[u] = reinterpret_cast<const T*>(x)[i + u * step], b[u] = reinterpret_cast<const T*>(m)[i + u * step];
#pragma unroll
    for (int u = 0; u < U; ++u)
      if (i + u * step < n / V) reinterpret_cast<T*>(y)[i + u * step] = code(a[u], b[u]);
  }
}
// 32 lanes a row
template <int V, int U> __global__ void __launch_bounds__(256) row_sums(const float* x, const float* m, float* y, u32 rows, u32 columns) {
  using T = typename vec<V>::type;
  const u32 warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32, warps = gridDim.x * blockDim.x / 32;
  for (u32 r = warp; r < rows; r += warps) {
    const T* const p = reinterpret_cast<const T*>(x + static_cast<std::size_t>(r) * columns);
    const T* const q = reinterpret_cast<const T*>(m + static_cast<std::size_t>(r) * columns);
    float s = 0;
    for (u32 i = lane; i < columns / V; i += 32 * U) {
#pragma unroll
      for (int u = 0; u < U; ++u)
        if (i + 32u * u < columns / V) s += total(code(p[i + 32 * u], q[i + 32 * u]));
    }
    for (unsigned d = 16; d > 0; d /= 2) s += __shfl_down_sync(0xffffffffu, s, d);
    if (lane == 0) y[r] = s;
  }
}
// a thread has V columns of a range of rows
template <int V, int U> __global__ void __launch_bounds__(256) column_sums(const float* x, const float* m, float* partial, u32 rows, u32 columns, u32 splits) {
  using T = typename vec<V>::type;
  const u32 k = blockIdx.x * blockDim.x + threadIdx.x, items = columns / V, split = k / items, c = k % items;
  if (split >= splits) return;
  const u32 chunk = (rows + splits - 1) / splits, lo = split * chunk, hi = lo + chunk < rows ? lo + chunk : rows;
  T s{};
#pragma unroll U
  for (u32 r = lo; r < hi; ++r) add(s, code(reinterpret_cast<const T*>(x)[static_cast<std::size_t>(r) * items + c], reinterpret_cast<const T*>(m)[static_cast<std::size_t>(r) * items + c]));
  reinterpret_cast<T*>(partial)[static_cast<std::size_t>(split) * items + c] = s;
}
__global__ void __launch_bounds__(256) combine(const float* partial, float* y, u32 columns, u32 splits) {
  const u32 warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (warp >= columns) return;
  float s = 0;
  for (u32 k = lane; k < splits; k += 32) s += partial[static_cast<std::size_t>(k) * columns + warp];
  for (unsigned d = 16; d > 0; d /= 2) s += __shfl_down_sync(0xffffffffu, s, d);
  if (lane == 0) y[warp] = s;
}
// a block has 32 columns of all its rows: the threads beside it other rows
__global__ void fill(float* x, u32 n, u32 seed) {
  for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    u32 h = (i ^ seed) * 0x9E3779B1u;
    h = (h ^ (h >> 15)) * 0x85EBCA77u;
    h ^= h >> 13;
    x[i] = static_cast<float>(static_cast<int>(h >> 8) - (1 << 23)) / (1 << 23);
  }
}

static double copy_gbs = 1;
static std::vector<float> hx, hm;
static u32 rows = 65536, columns = 1024;
static cudaStream_t stream;
template <class F> void report(const char* loop, const char* way, double bytes, const float* y, u32 outputs, F&& f) {
  GPU_OK(cudaMemsetAsync(const_cast<float*>(y), 0xff, outputs * 4ull, stream));
  f(stream);
  GPU_OK(cudaGetLastError());
  GPU_OK(cudaDeviceSynchronize());
  std::vector<float> h(outputs);
  GPU_OK(cudaMemcpy(h.data(), y, outputs * 4ull, cudaMemcpyDeviceToHost));
  double worst = 0; // a sample, in double
  const auto one = [&](u32 r, u32 c) {
    const std::size_t i = static_cast<std::size_t>(r) * columns + c;
    const double z = 1.5 * static_cast<double>(hx[i]) + 0.25;
    return (z <= 0 ? 0 : z) * static_cast<double>(hm[i]);
  };
  for (u32 k = 0; k < 200; ++k) {
    double e = 0, v = 0, scale = 1;
    const u32 i = static_cast<u32>(k * 2654435761u) % outputs;
    if (loop[0] == 'd') e = one(i / columns, i % columns);
    else if (loop[0] == 'r') {
      for (u32 c = 0; c < columns; ++c) e += one(i, c), scale += std::fabs(one(i, c));
    } else if (k < 12)
      for (u32 r = 0; r < rows; ++r) e += one(r, i), scale += std::fabs(one(r, i));
    else continue;
    v = static_cast<double>(h[i]);
    const double d = std::fabs(v - e) / scale;
    if (!(d <= worst)) worst = std::isnan(d) ? 1e9 : d;
  }
  const times t = timed(stream, f, 20, 3);
  const double gbs = bytes / t.median_us / 1e3;
  line("loop").put("loop", loop).put("way", way).put("right", worst < 1e-5).put("error", worst).put("min_us", t.min_us).put("median_us", t.median_us).put("gbs", gbs).put("percent_of_copy", 100 * gbs / copy_gbs);
}

int main() {
  need_device("loops");
  GPU_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
#ifdef EMULATED
  rows = 70, columns = 128;
  const int sms = 1;
#else
  const int sms = 132;
#endif
  const u32 n = rows * columns;
  float *x, *m, *y, *p;
  GPU_OK(cudaMalloc(reinterpret_cast<void**>(&x), n * 4ull));
  GPU_OK(cudaMalloc(reinterpret_cast<void**>(&m), n * 4ull));
  GPU_OK(cudaMalloc(reinterpret_cast<void**>(&y), n * 4ull));
  GPU_OK(cudaMalloc(reinterpret_cast<void**>(&p), 4096ull * columns * 4));
  LAUNCH(fill, sms, 256, 0, stream, x, n, 1u);
  LAUNCH(fill, sms, 256, 0, stream, m, n, 0x77777777u);
  GPU_OK(cudaDeviceSynchronize());
  hx.resize(n), hm.resize(n);
  GPU_OK(cudaMemcpy(hx.data(), x, n * 4ull, cudaMemcpyDeviceToHost));
  GPU_OK(cudaMemcpy(hm.data(), m, n * 4ull, cudaMemcpyDeviceToHost));
  const times c = timed(stream, [&](cudaStream_t s) { GPU_OK(cudaMemcpyAsync(y, x, n * 4ull, cudaMemcpyDeviceToDevice, s)); }, 20, 3);
  copy_gbs = 8.0 * n / c.median_us / 1e3;
  line("ceiling").put("copy_gbs_read_and_written", copy_gbs).put("bytes", n * 4ull);
  const double b3 = 12.0 * n, b2 = 8.0 * n;
  const u32 group = static_cast<u32>(sms) * 8;
#define DENSE(V, U, grid, name) report("dense", name, b3, y, n, [&](cudaStream_t s) { LAUNCH((dense<V, U>), grid, 256, 0, s, x, m, y, n); })
  DENSE(1, 1, group, "4 B, 1056 blocks (the design study)");
  DENSE(1, 4, group, "4 B x 4 in flight, 1056 blocks");
  DENSE(4, 1, group, "16 B, 1056 blocks");
  DENSE(4, 2, group, "16 B x 2, 1056 blocks");
  DENSE(4, 4, group, "16 B x 4, 1056 blocks");
  DENSE(1, 1, (n + 255) / 256, "4 B, a thread an element");
  DENSE(4, 1, (n / 4 + 255) / 256, "16 B, a thread 4 elements");
  DENSE(4, 2, (n / 8 + 255) / 256, "16 B x 2, a thread 8 elements");
  DENSE(4, 4, (n / 16 + 255) / 256, "16 B x 4, a thread 16 elements");
#define ROWS(V, U, grid, name) report("row sums", name, b2, y, rows, [&](cudaStream_t s) { LAUNCH((row_sums<V, U>), grid, 256, 0, s, x, m, y, rows, columns); })
  ROWS(1, 1, group, "4 B, 1056 blocks (the design study)");
  ROWS(1, 4, group, "4 B x 4, 1056 blocks");
  ROWS(4, 1, group, "16 B, 1056 blocks");
  ROWS(4, 4, group, "16 B x 4, 1056 blocks");
  ROWS(4, 8, group, "16 B x 8, 1056 blocks");
  ROWS(4, 4, rows / 8, "16 B x 4, a warp a row");
#define COLUMNS(V, U, splits, name)                                                                                    \
  report("column sums", name, b2, y, columns, [&](cudaStream_t s) {                                                    \
    LAUNCH((column_sums<V, U>), (columns / V * (splits) + 255) / 256, 256, 0, s, x, m, p, rows, columns, splits);      \
    LAUNCH(combine, (columns + 7) / 8, 256, 0, s, p, y, columns, splits);                                              \
  })
  const u32 splits = 262144 / columns > rows ? 8 : 262144 / columns;
  COLUMNS(1, 1, splits, "4 B, 256 splits (the design study)");
  COLUMNS(1, 4, splits, "4 B x 4, 256 splits");
  COLUMNS(4, 1, splits, "16 B, 256 splits");
  COLUMNS(4, 4, splits, "16 B x 4, 256 splits");
  COLUMNS(4, 4, splits * 4, "16 B x 4, 1024 splits");
  COLUMNS(4, 8, splits * 4, "16 B x 8, 1024 splits");
  line("stage ends");
}
