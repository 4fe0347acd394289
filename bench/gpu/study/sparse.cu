// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// A x and A^T r of a sparse matrix of many entries: copy ceiling, cuSPARSE, columns cut into slices.
#include "common.hpp"
#include "emu.hpp"
#include <cstdint>
#include <cstring>
#ifndef EMULATED
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cusparse.h>
#define SP_OK(x)                                                                                                       \
  do {                                                                                                                 \
    const cusparseStatus_t e_ = (x);                                                                                   \
    if (e_ != CUSPARSE_STATUS_SUCCESS) {                                                                               \
      line("error").put("where", __FILE__ ":" + std::to_string(__LINE__)).put("call", #x).put("error", cusparseGetErrorString(e_)); \
      return;                                                                                                          \
    }                                                                                                                  \
  } while (0)
#endif

using u64 = unsigned long long;
__host__ __device__ inline u64 hashed(u64 x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}
__host__ __device__ inline float unit(u64 h) { return static_cast<float>(static_cast<int>(h >> 40) - (1 << 23)) / (1 << 23); }

// a block a row; per_row <= 256
__global__ void make_rows(std::int32_t* col, float* val, int per_row, int n) {
  SHARED unsigned key[256];
  const unsigned t = threadIdx.x;
  const u64 at = static_cast<u64>(blockIdx.x) * static_cast<u64>(per_row) + t;
  key[t] = static_cast<int>(t) < per_row ? static_cast<unsigned>(hashed(at) % static_cast<u64>(n)) : 0xffffffffu;
  __syncthreads();
  for (unsigned k = 2; k <= 256; k *= 2)
    for (unsigned j = k / 2; j > 0; j /= 2) {
      const unsigned o = t ^ j;
      if (o > t) {
        const unsigned a = key[t], b = key[o];
        if ((a > b) == ((t & k) == 0)) key[t] = b, key[o] = a;
      }
      __syncthreads();
    }
  if (static_cast<int>(t) < per_row) {
    col[at] = static_cast<std::int32_t>(key[t]);
    val[at] = unit(hashed(at ^ 0x5555000000000000ull));
  }
}
__global__ void fill_units(float* x, u64 n, u64 seed) {
  for (u64 i = blockIdx.x * static_cast<u64>(blockDim.x) + threadIdx.x; i < n; i += static_cast<u64>(gridDim.x) * blockDim.x) x[i] = unit(hashed(i ^ seed));
}
__global__ void fill_rows(std::int32_t* rp, int m, int per_row) {
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i <= m; i += static_cast<int>(gridDim.x * blockDim.x)) rp[i] = i * per_row;
}
// double references
__global__ void reference_rows(const std::int32_t* rp, const std::int32_t* col, const float* val, const float* x, double* y, int m) {
  const int w = static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / 32), lane = static_cast<int>(threadIdx.x % 32);
  if (w >= m) return;
  double s = 0;
  for (int e = rp[w] + lane; e < rp[w + 1]; e += 32) s += static_cast<double>(val[e]) * static_cast<double>(x[col[e]]);
  for (unsigned d = 16; d > 0; d /= 2) s += __shfl_xor_sync(0xffffffffu, s, d);
  if (lane == 0) y[w] = s;
}
__global__ void reference_columns(const std::int32_t* rp, const std::int32_t* col, const float* val, const float* r, double* g, int m) {
  const int w = static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / 32), lane = static_cast<int>(threadIdx.x % 32);
  if (w >= m) return;
  for (int e = rp[w] + lane; e < rp[w + 1]; e += 32) atomicAdd(&g[col[e]], static_cast<double>(val[e]) * static_cast<double>(r[w]));
}
// One pass: z = A x by rows, r = 2 (z - t) / m, gradient by atomics. Not deterministic.
template <int N> __global__ void __launch_bounds__(256) one_pass(const std::int32_t* rp, const std::int32_t* col, const float* val, const float* x, const float* t, float* z, float* g, int m) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int w = static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / 32); w < m; w += static_cast<int>(gridDim.x * blockDim.x / 32)) {
    const int b = rp[w], e = rp[w + 1];
    float v[N];
    int c[N];
    float s = 0;
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const int i = b + lane + 32 * k;
      const bool in = i < e;
      v[k] = in ? __ldcs(val + i) : 0.0f;
      c[k] = in ? __ldcs(col + i) : 0;
    }
#pragma unroll
    for (int k = 0; k < N; ++k) s += v[k] * x[c[k]];
    for (unsigned d = 16; d > 0; d /= 2) s += __shfl_xor_sync(0xffffffffu, s, d);
    const float r = 2 * (s - t[w]) / static_cast<float>(m);
    if (lane == 0) z[w] = s;
#pragma unroll
    for (int k = 0; k < N; ++k)
      if (b + lane + 32 * k < e) atomicAdd(&g[c[k]], v[k] * r);
  }
}
__global__ void residual(const float* z, const float* t, float* r, int m) {
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < m; i += static_cast<int>(gridDim.x * blockDim.x)) r[i] = 2 * (z[i] - t[i]) / static_cast<float>(m);
}
// reads only
__global__ void __launch_bounds__(1024) read_only(const float4* x, float* y, u64 n) {
  float s = 0;
  const u64 step = static_cast<u64>(gridDim.x) * blockDim.x;
  u64 i = blockIdx.x * static_cast<u64>(blockDim.x) + threadIdx.x;
  for (; i + 3 * step < n; i += 4 * step) {
    const float4 a = __ldcs(x + i), b = __ldcs(x + i + step), c = __ldcs(x + i + 2 * step), d = __ldcs(x + i + 3 * step);
    s += a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w + c.x + c.y + c.z + c.w + d.x + d.y + d.z + d.w;
  }
  for (; i < n; i += step) s += x[i].x;
  if (s == 12345.678f) *y = s;
}

// ---- slices of columns: entries of (slice, row), slice by slice, each padded to whole vectors
__host__ __device__ inline int lower(const std::int32_t* col, int b, int e, int c) {
  while (b < e) {
    const int h = b + (e - b) / 2;
    if (col[h] < c) b = h + 1;
    else e = h;
  }
  return b;
}
__global__ void slice_counts(const std::int32_t* rp, const std::int32_t* col, std::int32_t* count, int m, int slices, int width, int pad) {
  const int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (row >= m) return;
  int b = rp[row];
  for (int s = 0; s < slices; ++s) {
    const int e = lower(col, b, rp[row + 1], (s + 1) * width);
    count[static_cast<u64>(s) * static_cast<u64>(m) + static_cast<u64>(row)] = (e - b + pad - 1) / pad * pad;
    b = e;
  }
}
__global__ void slice_fill(const std::int32_t* rp, const std::int32_t* col, const float* val, const std::int32_t* base, float* v, std::uint16_t* c, int m, int slices, int width) {
  const int row = static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / 32), lane = static_cast<int>(threadIdx.x % 32);
  if (row >= m) return;
  int b = rp[row];
  for (int s = 0; s < slices; ++s) {
    const int e = lower(col, b, rp[row + 1], (s + 1) * width);
    const int at = base[static_cast<u64>(s) * static_cast<u64>(m) + static_cast<u64>(row)];
    for (int i = b + lane; i < e; i += 32) {
      v[at + i - b] = val[i];
      c[at + i - b] = static_cast<std::uint16_t>(col[i] - s * width);
    }
    b = e;
  }
}
struct sliced {
  const std::int32_t* base; // of (slice, row): base[slice * rows + row], and behind the last
  const float* values;
  const std::uint16_t* columns;
  const float* x;
  float* partial; // [slice][row]
  int rows, columns_all, slices, width;
};
template <int V> struct vec;
template <> struct vec<1> { using f = float; using c = std::uint16_t; };
template <> struct vec<2> { using f = float2; using c = ushort2; };
template <> struct vec<4> { using f = float4; using c = ushort4; };
__device__ inline float dot(float v, unsigned short c, const float* x) { return v * x[c]; }
__device__ inline float dot(float2 v, ushort2 c, const float* x) { return v.x * x[c.x] + v.y * x[c.y]; }
__device__ inline float dot(float4 v, ushort4 c, const float* x) { return v.x * x[c.x] + v.y * x[c.y] + v.z * x[c.z] + v.w * x[c.w]; }

// G lanes a row, V entries a load, U rows of a group at once
template <int G, int V, int U> __global__ void __launch_bounds__(1024, 1) sliced_rows(const sliced a) {
  DYNAMIC_SHARED(float, xs);
  const u64 all = static_cast<u64>(a.rows) * static_cast<u64>(a.slices);
  u64 at = all * blockIdx.x / gridDim.x;
  const u64 to = all * (blockIdx.x + 1) / gridDim.x;
  constexpr unsigned per = 32 / G;
  const unsigned warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = threadIdx.x % G, group = threadIdx.x % 32 / G;
  using F = typename vec<V>::f;
  using C = typename vec<V>::c;
  while (at < to) {
    const unsigned s = static_cast<unsigned>(at / static_cast<u64>(a.rows));
    u64 end = static_cast<u64>(s + 1) * static_cast<u64>(a.rows);
    if (to < end) end = to;
    const int first = static_cast<int>(s) * a.width, many = a.columns_all - first < a.width ? a.columns_all - first : a.width;
    for (int i = static_cast<int>(threadIdx.x) * 4; i < many; i += static_cast<int>(blockDim.x) * 4) {
      if (i + 4 <= many) *reinterpret_cast<float4*>(xs + i) = *reinterpret_cast<const float4*>(a.x + first + i);
      else
        for (int k = i; k < many; ++k) xs[k] = a.x[first + k];
    }
    __syncthreads();
    for (u64 w = at + static_cast<u64>(warp) * per * U; w < end; w += static_cast<u64>(warps) * per * U) {
      int b[U], e[U];
      float sum[U];
      F v[U];
      C c[U];
#pragma unroll
      for (int u = 0; u < U; ++u) {
        const u64 row = w + static_cast<u64>(u) * per + group;
        const bool in = row < end;
        b[u] = in ? __ldg(a.base + row) + static_cast<int>(lane) * V : 0;
        e[u] = in ? __ldg(a.base + row + 1) : 0;
        sum[u] = 0;
      }
#pragma unroll
      for (int u = 0; u < U; ++u)
        if (b[u] < e[u]) {
          v[u] = __ldcs(reinterpret_cast<const F*>(a.values + b[u]));
          c[u] = __ldcs(reinterpret_cast<const C*>(a.columns + b[u]));
        }
#pragma unroll
      for (int u = 0; u < U; ++u) {
        if (b[u] < e[u]) sum[u] = dot(v[u], c[u], xs);
        for (int i = b[u] + G * V; i < e[u]; i += G * V)
          sum[u] += dot(__ldcs(reinterpret_cast<const F*>(a.values + i)), __ldcs(reinterpret_cast<const C*>(a.columns + i)), xs);
      }
#pragma unroll
      for (int u = 0; u < U; ++u) {
#pragma unroll
        for (unsigned d = G / 2; d > 0; d /= 2) sum[u] += __shfl_xor_sync(0xffffffffu, sum[u], d);
        const u64 row = w + static_cast<u64>(u) * per + group;
        if (lane == 0 && row < end) a.partial[row] = sum[u];
      }
    }
    __syncthreads();
    at = end;
  }
}
__global__ void add_slices(const float* partial, float* y, int rows, int slices) {
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < rows; i += static_cast<int>(gridDim.x * blockDim.x)) {
    float s = 0;
    for (int k = 0; k < slices; ++k) s += partial[static_cast<u64>(k) * static_cast<u64>(rows) + static_cast<u64>(i)];
    y[i] = s;
  }
}

static double copy_gbs = 0;
static cudaStream_t stream;
static int quick = 0, sms = 132;
template <class T> T* device(u64 n) {
  void* p = nullptr;
  GPU_OK(cudaMalloc(&p, n * sizeof(T) + 256));
  return static_cast<T*>(p);
}
static int grid_of(u64 n, unsigned threads = 256) { return static_cast<int>((n + threads - 1) / threads); }

struct problem {
  int m, n;
  u64 nnz;
  std::int32_t *rp, *col;
  float *val, *x, *y;
  std::vector<double> expected;
};
static double error_of(const float* y, const std::vector<double>& expected) {
  std::vector<float> h(expected.size());
  GPU_OK(cudaDeviceSynchronize());
  GPU_OK(cudaMemcpy(h.data(), y, h.size() * 4, cudaMemcpyDeviceToHost));
  double d = 0, s = 0;
  for (std::size_t i = 0; i < h.size(); ++i) {
    const double e = static_cast<double>(h[i]) - expected[i];
    d += e * e;
    s += expected[i] * expected[i];
  }
  return std::sqrt(d / (s > 0 ? s : 1));
}
// Times f, which writes p.y, against the reference, and asks if two runs are the same.
template <class F> void report(const problem& p, const char* product, const char* way, F&& f, double bytes_an_entry = 8, double workspace = 0) {
  GPU_OK(cudaMemsetAsync(p.y, 0xff, p.expected.size() * 4, stream));
  f(stream);
  const double error = error_of(p.y, p.expected);
  std::vector<float> a(p.expected.size()), b(a.size());
  GPU_OK(cudaMemcpy(a.data(), p.y, a.size() * 4, cudaMemcpyDeviceToHost));
  bool same = true;
  for (int k = 0; k < 2; ++k) {
    f(stream);
    GPU_OK(cudaDeviceSynchronize());
    GPU_OK(cudaMemcpy(b.data(), p.y, a.size() * 4, cudaMemcpyDeviceToHost));
    same = same && std::memcmp(a.data(), b.data(), a.size() * 4) == 0;
  }
  const times t = timed(stream, f, quick ? 1 : 12, quick ? 0 : 2);
  const double n = static_cast<double>(p.nnz);
  line("sparse").put("product", product).put("way", way).put("right", error < 1e-5).put("error", error).put("same_twice", same).put("min_ms", t.min_us / 1e3).put("median_ms", t.median_us / 1e3)
      .put("gbs_at_8B", 8 * n / t.median_us / 1e3).put("percent_of_copy_at_8B", 8 * n / t.median_us / 10 / copy_gbs).put("bytes_an_entry", bytes_an_entry)
      .put("gbs_moved", bytes_an_entry * n / t.median_us / 1e3).put("percent_of_copy_moved", bytes_an_entry * n / t.median_us / 10 / copy_gbs).put("workspace_mb", workspace / 1e6);
}

#ifdef EMULATED
static void scan(std::int32_t* count, std::int32_t* base, u64 n) {
  base[0] = 0;
  for (u64 i = 0; i < n; ++i) base[i + 1] = base[i] + count[i];
}
static int maximum_width = 300;
#else
static void scan(std::int32_t* count, std::int32_t* base, u64 n) { // count has n + 1, the last 0
  std::size_t bytes = 0;
  GPU_OK(cub::DeviceScan::ExclusiveSum(nullptr, bytes, count, base, n + 1, stream));
  void* w = device<char>(bytes);
  GPU_OK(cub::DeviceScan::ExclusiveSum(w, bytes, count, base, n + 1, stream));
  GPU_OK(cudaStreamSynchronize(stream));
  GPU_OK(cudaFree(w));
}
static int maximum_width = 57344;
#endif
template <int G, int V, int U> void run_sliced(const problem& p, const char* product, const sliced& a, double bytes, const char* pad) {
  const int shared = a.width * 4;
#ifndef EMULATED
  GPU_OK(cudaFuncSetAttribute(sliced_rows<G, V, U>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
#endif
  const std::string way = "sliced G" + std::to_string(G) + " V" + std::to_string(V) + " U" + std::to_string(U) + " pad" + pad;
  report(p, product, way.c_str(), [&](cudaStream_t s) {
    LAUNCH((sliced_rows<G, V, U>), sms, 1024, shared, s, a);
    LAUNCH(add_slices, sms * 8 < grid_of(static_cast<u64>(p.m)) ? sms * 8 : grid_of(static_cast<u64>(p.m)), 256, 0, s, a.partial, p.y, p.m, a.slices);
  }, bytes);
}
static void slices(const problem& p, const char* product) {
  for (const int pad : {4, 2}) {
    sliced a{};
    a.rows = p.m, a.columns_all = p.n;
    a.slices = (p.n + maximum_width - 1) / maximum_width;
    a.width = ((p.n + a.slices - 1) / a.slices + 3) / 4 * 4;
    const u64 all = static_cast<u64>(p.m) * static_cast<u64>(a.slices);
    std::int32_t *count = device<std::int32_t>(all + 1), *base = device<std::int32_t>(all + 1);
    GPU_OK(cudaMemsetAsync(count, 0, (all + 1) * 4, stream));
    const double t0 = now();
    LAUNCH(slice_counts, grid_of(static_cast<u64>(p.m)), 256, 0, stream, p.rp, p.col, count, p.m, a.slices, a.width, pad);
    scan(count, base, all);
    std::int32_t entries = 0;
    GPU_OK(cudaMemcpy(&entries, base + all, 4, cudaMemcpyDeviceToHost));
    const u64 n = static_cast<u64>(entries);
    float* v = device<float>(n);
    auto* c = device<std::uint16_t>(n);
    GPU_OK(cudaMemsetAsync(v, 0, n * 4, stream));
    GPU_OK(cudaMemsetAsync(c, 0, n * 2, stream));
    LAUNCH(slice_fill, grid_of(static_cast<u64>(p.m) * 32), 256, 0, stream, p.rp, p.col, p.val, base, v, c, p.m, a.slices, a.width);
    GPU_OK(cudaDeviceSynchronize());
    const double t1 = now();
    a.base = base, a.values = v, a.columns = c, a.x = p.x, a.partial = device<float>(all);
    const double bytes = (6.0 * static_cast<double>(n) + 12.0 * static_cast<double>(all)) / static_cast<double>(p.nnz);
    line("sparse slices").put("product", product).put("slices", a.slices).put("width", a.width).put("pad", pad).put("entries_stored_over_nnz", static_cast<double>(n) / static_cast<double>(p.nnz)).put("build_ms", (t1 - t0) * 1e3);
    if (pad == 4) {
      run_sliced<16, 4, 4>(p, product, a, bytes, "4");
      if (!quick || quick == 2) {
        run_sliced<16, 4, 2>(p, product, a, bytes, "4");
        run_sliced<16, 4, 3>(p, product, a, bytes, "4");
        run_sliced<8, 4, 2>(p, product, a, bytes, "4");
        run_sliced<8, 4, 4>(p, product, a, bytes, "4");
        run_sliced<32, 1, 4>(p, product, a, bytes, "4");
      }
    } else {
      run_sliced<32, 2, 4>(p, product, a, bytes, "2");
      if (!quick || quick == 2) {
        run_sliced<32, 2, 6>(p, product, a, bytes, "2");
        run_sliced<16, 2, 4>(p, product, a, bytes, "2");
      }
    }
    for (void* q : {static_cast<void*>(count), static_cast<void*>(base), static_cast<void*>(v), static_cast<void*>(c), static_cast<void*>(a.partial)}) GPU_OK(cudaFree(q));
  }
}

#ifndef EMULATED
static void cusparse(cusparseHandle_t h, const problem& p, const char* product, cusparseSpMVAlg_t alg, const char* way, cusparseOperation_t op = CUSPARSE_OPERATION_NON_TRANSPOSE) {
  cusparseSpMatDescr_t A;
  cusparseDnVecDescr_t x, y;
  const bool t = op != CUSPARSE_OPERATION_NON_TRANSPOSE; // p is then of A^T's extents: m its outputs, n its inputs
  SP_OK(cusparseCreateCsr(&A, t ? p.n : p.m, t ? p.m : p.n, static_cast<std::int64_t>(p.nnz), p.rp, p.col, p.val, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
  SP_OK(cusparseCreateDnVec(&x, p.n, p.x, CUDA_R_32F));
  SP_OK(cusparseCreateDnVec(&y, p.m, p.y, CUDA_R_32F));
  const float one = 1, zero = 0;
  std::size_t bytes = 0;
  SP_OK(cusparseSpMV_bufferSize(h, op, &one, A, x, &zero, y, CUDA_R_32F, alg, &bytes));
  char* w = device<char>(bytes);
  GPU_OK(cudaDeviceSynchronize());
  const double t0 = now();
  SP_OK(cusparseSpMV_preprocess(h, op, &one, A, x, &zero, y, CUDA_R_32F, alg, w));
  GPU_OK(cudaDeviceSynchronize());
  line("sparse preprocess").put("product", product).put("way", way).put("ms", (now() - t0) * 1e3);
  const cusparseStatus_t first = cusparseSpMV(h, op, &one, A, x, &zero, y, CUDA_R_32F, alg, w);
  SP_OK(first);
  report(p, product, way, [&](cudaStream_t) { cusparseSpMV(h, op, &one, A, x, &zero, y, CUDA_R_32F, alg, w); }, 8, static_cast<double>(bytes));
  cusparseDestroySpMat(A);
  cusparseDestroyDnVec(x);
  cusparseDestroyDnVec(y);
  GPU_OK(cudaFree(w));
}
#endif

static void all(int m, int n, int per_row) {
  const u64 nnz = static_cast<u64>(m) * static_cast<u64>(per_row);
  problem p{m, n, nnz, device<std::int32_t>(static_cast<u64>(m) + 1), device<std::int32_t>(nnz), device<float>(nnz), device<float>(static_cast<u64>(n)), device<float>(static_cast<u64>(m)), {}};
  float *r = device<float>(static_cast<u64>(m)), *g = device<float>(static_cast<u64>(n)), *t = device<float>(static_cast<u64>(m)), *z = device<float>(static_cast<u64>(m));
  LAUNCH(fill_rows, 64, 256, 0, stream, p.rp, m, per_row);
  LAUNCH(make_rows, m, 256, 0, stream, p.col, p.val, per_row, n);
  LAUNCH(fill_units, 64, 256, 0, stream, p.x, static_cast<u64>(n), 77ull << 50);
  LAUNCH(fill_units, 64, 256, 0, stream, r, static_cast<u64>(m), 78ull << 50);
  LAUNCH(fill_units, 64, 256, 0, stream, t, static_cast<u64>(m), 79ull << 50);
  GPU_OK(cudaGetLastError());
  GPU_OK(cudaDeviceSynchronize());
  { // ceilings
#ifndef EMULATED
    const u64 bytes = quick ? 1 << 20 : 1ull << 31;
    char *a = device<char>(bytes), *b = device<char>(bytes);
    LAUNCH(fill_units, sms * 8, 256, 0, stream, reinterpret_cast<float*>(a), bytes / 4, 5);
    const times c = timed(stream, [&](cudaStream_t s) { GPU_OK(cudaMemcpyAsync(b, a, bytes, cudaMemcpyDeviceToDevice, s)); }, 10, 2);
    const times o = timed(stream, [&](cudaStream_t s) { LAUNCH(read_only, sms * 2, 1024, 0, s, reinterpret_cast<const float4*>(a), reinterpret_cast<float*>(b), bytes / 16); }, 10, 2);
    copy_gbs = 2 * static_cast<double>(bytes) / c.median_us / 1e3;
    line("ceiling").put("copy_gbs_read_and_written", copy_gbs).put("read_only_gbs", static_cast<double>(bytes) / o.median_us / 1e3).put("bytes", bytes);
    GPU_OK(cudaFree(a));
    GPU_OK(cudaFree(b));
#endif
  }
  double* ref = device<double>(static_cast<u64>(std::max(m, n)));
  LAUNCH(reference_rows, grid_of(static_cast<u64>(m) * 32), 256, 0, stream, p.rp, p.col, p.val, p.x, ref, m);
  GPU_OK(cudaDeviceSynchronize());
  p.expected.resize(static_cast<std::size_t>(m));
  GPU_OK(cudaMemcpy(p.expected.data(), ref, p.expected.size() * 8, cudaMemcpyDeviceToHost));
  { // a few rows, on the host, from the generator
    double worst = 0;
    for (int k = 0; k < 50; ++k) {
      const u64 i = hashed(static_cast<u64>(k)) % static_cast<u64>(m);
      double s = 0;
      std::vector<u64> c;
      for (int e = 0; e < per_row; ++e) c.push_back(hashed(i * static_cast<u64>(per_row) + static_cast<u64>(e)) % static_cast<u64>(n));
      std::sort(c.begin(), c.end());
      for (int e = 0; e < per_row; ++e)
        s += static_cast<double>(unit(hashed((i * static_cast<u64>(per_row) + static_cast<u64>(e)) ^ 0x5555000000000000ull))) * static_cast<double>(unit(hashed(c[static_cast<std::size_t>(e)] ^ (77ull << 50))));
      worst = std::max(worst, std::fabs(s - p.expected[i]));
    }
    line("sparse reference").put("rows_against_the_host", 50).put("right", worst < 1e-9).put("largest_difference", worst);
  }
  problem q{n, m, nnz, p.rp, p.col, p.val, r, g, {}}; // A^T r, of the arrays of A
  GPU_OK(cudaMemsetAsync(ref, 0, static_cast<u64>(n) * 8, stream));
  LAUNCH(reference_columns, grid_of(static_cast<u64>(m) * 32), 256, 0, stream, p.rp, p.col, p.val, r, ref, m);
  GPU_OK(cudaDeviceSynchronize());
  q.expected.resize(static_cast<std::size_t>(n));
  GPU_OK(cudaMemcpy(q.expected.data(), ref, q.expected.size() * 8, cudaMemcpyDeviceToHost));

  slices(p, "A x");
  problem tq = q; // the transposed copy
  tq.rp = device<std::int32_t>(static_cast<u64>(n) + 1), tq.col = device<std::int32_t>(nnz), tq.val = device<float>(nnz);
#ifdef EMULATED
  std::vector<std::vector<std::pair<int, float>>> by(static_cast<std::size_t>(n));
  for (int i = 0; i < m; ++i)
    for (int e = p.rp[i]; e < p.rp[i + 1]; ++e) by[static_cast<std::size_t>(p.col[e])].push_back({i, p.val[e]});
  int at = 0;
  for (int j = 0; j < n; ++j) {
    tq.rp[j] = at;
    for (auto& [i, v] : by[static_cast<std::size_t>(j)]) tq.col[at] = i, tq.val[at++] = v;
  }
  tq.rp[n] = at;
  slices(tq, "A^T r (copy)");
#else
  const auto transposed = [&](cusparseHandle_t h) -> void {
    std::size_t bytes = 0;
    SP_OK(cusparseCsr2cscEx2_bufferSize(h, m, n, static_cast<int>(nnz), p.val, p.rp, p.col, tq.val, tq.rp, tq.col, CUDA_R_32F, CUSPARSE_ACTION_NUMERIC, CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_CSR2CSC_ALG1, &bytes));
    char* w = device<char>(bytes);
    double ms[2];
    for (double& v : ms) {
      GPU_OK(cudaDeviceSynchronize());
      const double t0 = now();
      SP_OK(cusparseCsr2cscEx2(h, m, n, static_cast<int>(nnz), p.val, p.rp, p.col, tq.val, tq.rp, tq.col, CUDA_R_32F, CUSPARSE_ACTION_NUMERIC, CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_CSR2CSC_ALG1, w));
      GPU_OK(cudaDeviceSynchronize());
      v = (now() - t0) * 1e3;
    }
    line("sparse transpose").put("way", "cusparseCsr2cscEx2").put("first_ms", ms[0]).put("second_ms", ms[1]).put("workspace_mb", static_cast<double>(bytes) / 1e6);
    GPU_OK(cudaFree(w));
  };
  cusparseHandle_t h;
  if (const cusparseStatus_t e = cusparseCreate(&h); e != CUSPARSE_STATUS_SUCCESS) {
    line("error").put("call", "cusparseCreate").put("error", cusparseGetErrorString(e));
    return;
  }
  cusparseSetStream(h, stream);
  transposed(h);
  slices(tq, "A^T r (copy)");
  if (quick) return;
  cusparse(h, p, "A x", CUSPARSE_SPMV_CSR_ALG1, "cusparse ALG1");
  cusparse(h, p, "A x", CUSPARSE_SPMV_CSR_ALG2, "cusparse ALG2");
  cusparse(h, tq, "A^T r (copy)", CUSPARSE_SPMV_CSR_ALG1, "cusparse ALG1");
  cusparse(h, tq, "A^T r (copy)", CUSPARSE_SPMV_CSR_ALG2, "cusparse ALG2");
  cusparse(h, q, "A^T r (opA)", CUSPARSE_SPMV_CSR_ALG1, "cusparse ALG1 transpose", CUSPARSE_OPERATION_TRANSPOSE);
  cusparse(h, q, "A^T r (opA)", CUSPARSE_SPMV_CSR_ALG2, "cusparse ALG2 transpose", CUSPARSE_OPERATION_TRANSPOSE);
  { // radix sort of (column, position): the permutation of a transposition
    auto *k = device<std::uint32_t>(nnz), *i = device<std::uint32_t>(nnz), *j = device<std::uint32_t>(nnz);
    std::size_t bytes = 0;
    int bits = 0;
    while ((1 << bits) < n) ++bits;
    const auto sort = [&](void* w) { return cub::DeviceRadixSort::SortPairs(w, bytes, reinterpret_cast<const std::uint32_t*>(p.col), k, i, j, nnz, 0, bits, stream); };
    GPU_OK(sort(nullptr));
    void* w = device<char>(bytes);
    const times ts = timed(stream, [&](cudaStream_t) { GPU_OK(sort(w)); }, 3, 1);
    line("sparse transpose").put("way", "cub radix sort of (column, position)").put("bits", bits).put("min_ms", ts.min_us / 1e3).put("workspace_mb", static_cast<double>(bytes) / 1e6);
    for (void* f : {static_cast<void*>(k), static_cast<void*>(i), static_cast<void*>(j), w}) GPU_OK(cudaFree(f));
  }
#endif
  // The whole gradient of mean((A x - t)^2)
  {
    problem o = q;
    LAUNCH(reference_rows, grid_of(static_cast<u64>(m) * 32), 256, 0, stream, p.rp, p.col, p.val, p.x, ref, m);
    GPU_OK(cudaDeviceSynchronize());
    std::vector<float> ht(static_cast<std::size_t>(m)), hr(ht.size());
    GPU_OK(cudaMemcpy(ht.data(), t, ht.size() * 4, cudaMemcpyDeviceToHost));
    for (std::size_t i = 0; i < ht.size(); ++i) hr[i] = static_cast<float>(2 * (p.expected[i] - static_cast<double>(ht[i])) / m);
    GPU_OK(cudaMemcpy(r, hr.data(), hr.size() * 4, cudaMemcpyHostToDevice));
    GPU_OK(cudaDeviceSynchronize());
    GPU_OK(cudaMemsetAsync(ref, 0, static_cast<u64>(n) * 8, stream));
    LAUNCH(reference_columns, grid_of(static_cast<u64>(m) * 32), 256, 0, stream, p.rp, p.col, p.val, r, ref, m);
    GPU_OK(cudaDeviceSynchronize());
    GPU_OK(cudaMemcpy(o.expected.data(), ref, o.expected.size() * 8, cudaMemcpyDeviceToHost));
    report(o, "gradient", "one pass, atomics", [&](cudaStream_t s) {
      GPU_OK(cudaMemsetAsync(g, 0, static_cast<u64>(n) * 4, s));
      LAUNCH((one_pass<8>), quick ? 3 : sms * 8, 256, 0, s, p.rp, p.col, p.val, p.x, t, z, g, m);
    });
  }
  GPU_OK(cudaGetLastError());
}

int main(int argc, char** argv) {
  need_device("sparse");
  quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0 ? 1 : 0;
  GPU_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
#ifdef EMULATED
  quick = 2;
  sms = 3;
  all(700, 650, 60);
#else
  GPU_OK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  if (quick) {
    sms = 7;
    maximum_width = 1000;
    all(3000, 2500, 210);
  } else all(850000, 210000, 210);
#endif
  line("stage ends");
}
